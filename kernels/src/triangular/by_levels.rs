use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Aligned16, Arena, Global, GlobalMut};

use super::coefficient::Coefficient;
use super::triangle::{pieces_of, toward_diagonal, SortedTriangle};
use crate::factor::Factor;
use crate::unroll::unroll;
use crate::Offset;

/// Entries that a lane loads at once.
const AT_ONCE: usize = 4;

kernel! {
    /// Solves the units of consecutive steps, each after the one before: several steps by one block, or one by any number.
    pub struct SolveLevels<V: Coefficient, O: Offset> {
        /// The triangle.
        pub triangle: SortedTriangle<O>,
        /// The column indices of the matrix.
        pub column_indices: Global<u32, Aligned16>,
        /// The values of the matrix.
        pub values: Global<V>,
        /// The place of the first unit of each step, and the number of units.
        pub step_offsets: Global<u32>,
        /// The right-hand side, which may be where the solution is.
        pub b: GlobalMut<V>,
        /// Output: the solution. Its elements of earlier steps are read.
        pub x: GlobalMut<V>,
        /// Output: the sums of pieces. Those of earlier steps are read.
        pub piece_sums: GlobalMut<V>,
        /// Factor of the right-hand side.
        pub alpha: Factor<V>,
        /// The first step.
        pub first: u32,
        /// The first step after it that is left to a later launch.
        pub end: u32,
        /// Lanes of a unit: a power of two up to 32.
        pub lanes: u32,
    }
    shared: 0;
    body: SolveLevels::solve::<BLOCK>;
    entries: {
        triangular_solve_levels_{V}_{O} in triangular_{V}: V in [f32, f64], O in [u32, u64], 512 x 1;
        triangular_solve_levels_{V}_{O} in triangular_{V}:
            (V, R) in [(Complex<f32> as c32, 0), (Complex<f64> as c64, 1)], O in [u32, u64], 512 x 1 resident R;
    }
}

impl<V: Coefficient, O: Offset> SolveLevels<V, O> {
    #[device]
    fn solve<const BLOCK: usize>(self, _: Arena) {
        let log = self.lanes.trailing_zeros();
        let warp_units = (thread::WARP_SIZE >> log) as usize;
        let grid_units = thread::grid_size() as usize * (BLOCK >> log);
        let mut step = self.first;
        while step < self.end {
            let end = self.step_offsets.load(step as usize + 1) as usize;
            // The first unit of the warp, so that all its lanes go on together.
            let begin = self.step_offsets.load(step as usize) as usize;
            let mut start = begin + thread::global_warp::<BLOCK>() * warp_units;
            while start < end {
                self.solve_unit(start + (thread::lane() >> log) as usize, end);
                start += grid_units;
            }
            thread::barrier();
            step += 1;
        }
    }

    /// Solves the unit at `place`, unless it is `end` or after it, by a group of lanes.
    #[device]
    fn solve_unit(self, place: usize, end: usize) {
        let SortedTriangle { units, entries, first_pieces, rows, is_unit } = self.triangle;
        let lane = (thread::index() & (self.lanes - 1)) as usize;
        let (mut unit, mut begin, mut len) = (0, 0, 0);
        if place < end {
            unit = units.load(place);
            (begin, len) = entries.of(place);
        }
        let pieces = if unit < rows { pieces_of(len, self.lanes) } else { 0 };
        let sum = if pieces > 0 {
            let first = first_pieces.load(unit as usize) as usize;
            self.lane_sum(lane, pieces, |piece| self.piece_sums.load(first + piece))
        } else {
            self.entry_sum(lane, begin, len)
        };
        let sum = warp::reduce_groups(sum, self.lanes, |a, b| a + b);
        if lane > 0 || place >= end {
            return;
        }
        if unit >= rows {
            self.piece_sums.store((unit - rows) as usize, sum);
            return;
        }
        let rest = self.alpha.get() * self.b.load(unit as usize) - sum;
        let diagonal = entries.diagonal((begin, len));
        let element = if is_unit == 0 { rest.divided_by(self.values.load(diagonal)) } else { rest };
        self.x.store(unit as usize, element);
    }

    /// Returns the sum of every `lanes`-th of `len` terms, in their order.
    #[device]
    fn lane_sum(self, lane: usize, len: u32, term: impl Fn(usize) -> V) -> V {
        let mut sum = V::ZERO;
        let mut at = lane;
        while at < len as usize {
            sum += term(at);
            at += self.lanes as usize;
        }
        sum
    }

    /// Returns the sum of every `lanes`-th of `len` entries, towards the diagonal; several are loaded at once.
    #[device]
    fn entry_sum(self, lane: usize, begin: usize, len: u32) -> V {
        let mut sum = V::ZERO;
        let mut at = lane;
        let lanes = self.lanes as usize;
        let (own_columns, own_values) = (self.column_indices.skip(begin), self.values.skip(begin));
        let is_upper = self.triangle.entries.is_upper != 0;
        while at < len as usize {
            let (mut columns, mut factors, mut elements) =
                ([0; AT_ONCE], [V::ZERO; AT_ONCE], [V::ZERO; AT_ONCE]);
            unroll!(for item in 0..AT_ONCE {
                let is_there = at + item * lanes < len as usize;
                let place = toward_diagonal(len as usize, at + item * lanes, is_upper);
                columns[item] = own_columns.load_if(place, is_there);
                factors[item] = own_values.load_if(place, is_there);
            });
            unroll!(for item in 0..AT_ONCE {
                if at + item * lanes < len as usize {
                    elements[item] = self.x.load(columns[item] as usize);
                }
            });
            unroll!(for item in 0..AT_ONCE {
                if at + item * lanes < len as usize {
                    sum += factors[item] * elements[item];
                }
            });
            at += AT_ONCE * lanes;
        }
        sum
    }
}
