use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, parameters, warp, Aligned16, Arena, Global, GlobalMut};

use super::coefficient::Coefficient;
use super::triangle::{pieces_of, toward_diagonal, SortedTriangle};
use crate::block::waiting::{compute_rows, RowLane, Turn, WaitingRow, TURN_WORDS};
use crate::factor::Factor;
use crate::unroll::unroll;
use crate::Offset;

/// Entries of a row for which a lane waits at once.
const AT_ONCE: usize = 4;

parameters! {
    /// Right-hand sides and solutions of systems with one matrix.
    pub struct Systems<V: Coefficient> {
        /// The right-hand sides; they may be where the solutions are.
        pub b: GlobalMut<V>,
        /// Output: the solutions.
        pub x: GlobalMut<V>,
        /// Distance between elements of a right-hand side, and between right-hand sides.
        pub b_row_stride: u64,
        /// The distance between right-hand sides.
        pub b_column_stride: u64,
        /// Distance between elements of a solution.
        pub x_row_stride: u64,
        /// The distance between solutions.
        pub x_column_stride: u64,
        /// How many systems there are.
        pub columns: u32,
        /// Factor of the right-hand sides.
        pub alpha: Factor<V>,
    }
}

kernel! {
    /// Solves triangular systems in one launch: each ticket has as many units, in their order, as the block has groups of lanes, and
    /// `ITEMS` systems. Elements of solutions, and sums of pieces, are passed on as [words](Coefficient).
    pub struct SolveByTickets<V: Coefficient, O: Offset> {
        /// The triangle.
        pub triangle: SortedTriangle<O>,
        /// The column indices of the matrix.
        pub column_indices: Global<u32, Aligned16>,
        /// The values of the matrix.
        pub values: Global<V>,
        /// The systems.
        pub systems: Systems<V>,
        /// Two halves, of which each has the words of each unit and system, their number rounded up to a multiple of `ITEMS`. One is
        /// zero before the launch. The launch zeroes the other, which the launch after it uses.
        pub passed: GlobalMut<<V as Coefficient>::Part>,
        /// Tickets drawn by all launches with the same two halves and grid.
        pub drawn: GlobalMut<u64>,
        /// Lanes of a unit: a power of two up to 32.
        pub lanes: u32,
    }
    shared: TURN_WORDS * 4;
    body: SolveByTickets::solve::<BLOCK, ITEMS>;
    entries: {
        triangular_solve_by_tickets_{V}_{O} in triangular_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
        triangular_solve_systems_by_tickets_{V}_{O} in triangular_{V}: V in [f32, f64], O in [u32, u64], 128 x 4;
        triangular_solve_by_tickets_{V}_{O} in triangular_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1;
        triangular_solve_systems_by_tickets_{V}_{O} in triangular_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 2;
    }
}

impl<V: Coefficient, O: Offset> SolveByTickets<V, O> {
    #[device]
    fn solve<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let turn = Turn::draw(self.drawn, arena.take(TURN_WORDS));
        let groups = self.systems.columns.div_ceil(ITEMS as u32);
        let (of_units, group) = (turn.ticket / groups, turn.ticket % groups);
        let of = RowLane::of_ticket::<BLOCK>(of_units, self.lanes);
        let count = self.triangle.entries.count as usize;
        let is_unit = of.slot < count;
        // The words of a group of systems are together.
        let half = turn.run & 1;
        let mut part = UnitSum::<V, ITEMS> {
            columns: self.column_indices.skip(0),
            values: self.values,
            systems: self.systems,
            passed: self.passed.skip((half * groups + group) as usize * count * ITEMS * V::PARTS),
            next: self.passed.skip(((1 - half) * groups + group) as usize * count * ITEMS * V::PARTS),
            first: group * ITEMS as u32,
            of,
            kind: Kind::Piece,
            is_upper: self.triangle.entries.is_upper != 0,
            unit: 0,
            len: 0,
            first_piece: 0,
            at: of.lane,
            pivot: V::ZERO.divisor(),
            right: [V::ZERO; ITEMS],
            needed: [0; AT_ONCE],
            factors: [V::ZERO; AT_ONCE],
            seen: [[V::ZERO; ITEMS]; AT_ONCE],
            sums: [V::ZERO; ITEMS],
        };
        if is_unit {
            self.begin(&mut part);
        }
        compute_rows(part, of, is_unit);
    }

    /// Loads what a lane needs of its unit before others are there.
    #[device]
    fn begin<const ITEMS: usize>(self, part: &mut UnitSum<V, ITEMS>) {
        let SortedTriangle { units, entries, first_pieces, rows, is_unit } = self.triangle;
        part.unit = units.load(part.of.slot) as usize;
        let (begin, len) = entries.of(part.of.slot);
        part.len = len;
        part.columns = self.column_indices.skip(begin);
        part.values = self.values.skip(begin);
        let is_row = part.unit < rows as usize;
        if is_row {
            part.kind = if is_unit == 0 { Kind::Row } else { Kind::UnitRow };
            let pieces = pieces_of(len, self.lanes);
            if pieces > 0 {
                part.first_piece = rows + first_pieces.load(part.unit);
                part.len = pieces;
            }
        }
        part.load();
        if is_row && part.of.lane == 0 {
            part.load_right();
            if is_unit == 0 {
                part.pivot = self.values.load(entries.diagonal((begin, len))).divisor();
            }
        }
    }
}

/// Use of a unit's sum.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// It is passed on.
    Piece,
    /// It is subtracted from the right-hand side.
    UnitRow,
    /// It is subtracted from the right-hand side, and the rest divided by the diagonal.
    Row,
}

/// A lane's part of a unit, of which it sums every `lanes`-th entry, for the systems starting at `first`.
struct UnitSum<V: Coefficient, const ITEMS: usize> {
    /// The unit's entries.
    columns: Global<u32>,
    values: Global<V>,
    systems: Systems<V>,
    /// Words of this group of systems.
    passed: GlobalMut<V::Part>,
    /// Words of the next launch.
    next: GlobalMut<V::Part>,
    first: u32,
    of: RowLane,
    kind: Kind,
    is_upper: bool,
    unit: usize,
    /// Number of its entries or, if it is a row that is cut, of its pieces.
    len: u32,
    /// The first of these pieces as a unit, or zero.
    first_piece: u32,
    /// The first of the entries at hand.
    at: u32,
    /// The diagonal, and the right-hand sides, in the first lane.
    pivot: V::Divisor,
    right: [V; ITEMS],
    /// The entries at hand, and the words that were seen for them.
    needed: [u32; AT_ONCE],
    factors: [V; AT_ONCE],
    seen: [[V; ITEMS]; AT_ONCE],
    sums: [V; ITEMS],
}

impl<V: Coefficient, const ITEMS: usize> UnitSum<V, ITEMS> {
    /// Returns whether the unit has an entry so far after the first at hand.
    #[device]
    fn has(&self, item: usize) -> bool {
        self.at as usize + item * (self.of.lanes as usize) < self.len as usize
    }

    /// Loads the next entries.
    #[device]
    fn load(&mut self) {
        unroll!(for item in 0..AT_ONCE {
            let at = self.at as usize + item * self.of.lanes as usize;
            self.needed[item] = self.first_piece + at as u32;
            if self.first_piece == 0 {
                let place = toward_diagonal(self.len as usize, at, self.is_upper);
                self.needed[item] = self.columns.load_if(place, self.has(item));
                self.factors[item] = self.values.load_if(place, self.has(item));
            }
            self.seen[item] = [V::ZERO; ITEMS];
        });
    }

    /// Loads the row's elements of the right-hand sides.
    #[device]
    fn load_right(&mut self) {
        let Systems { b, b_row_stride, b_column_stride, columns, alpha, .. } = self.systems;
        unroll!(for system in 0..ITEMS {
            let column = self.first as usize + system;
            if column < columns as usize {
                let place = self.unit * b_row_stride as usize + column * b_column_stride as usize;
                self.right[system] = alpha.get() * b.load(place);
            }
        });
    }

    /// Adds the entries at hand, towards the diagonal.
    #[device]
    fn add(&mut self) {
        unroll!(for item in 0..AT_ONCE {
            if self.has(item) {
                unroll!(for system in 0..ITEMS {
                    let element = self.seen[item][system].of_words();
                    let term = if self.first_piece == 0 { self.factors[item] * element } else { element };
                    self.sums[system] += term;
                });
            }
        });
    }

    /// Passes the unit's elements on, and stores those of a row.
    #[device]
    fn store(&self, sums: [V; ITEMS]) {
        let Systems { x, x_row_stride, x_column_stride, columns, .. } = self.systems;
        unroll!(for system in 0..ITEMS {
            let rest = self.right[system] - sums[system];
            let element = match self.kind {
                Kind::Piece => sums[system],
                Kind::UnitRow => rest,
                Kind::Row => rest.divided_soon(self.pivot),
            };
            element.pass_on(self.passed, self.next, self.unit * ITEMS + system);
            let column = self.first as usize + system;
            if self.kind != Kind::Piece && column < columns as usize {
                x.store(self.unit * x_row_stride as usize + column * x_column_stride as usize, element);
            }
        });
    }
}

impl<V: Coefficient, const ITEMS: usize> WaitingRow for UnitSum<V, ITEMS> {
    #[device]
    fn advance(&mut self) {
        if self.at >= self.len {
            return;
        }
        unroll!(for item in 0..AT_ONCE {
            unroll!(for system in 0..ITEMS {
                let place = self.needed[item] as usize * ITEMS + system;
                self.seen[item][system] = self.seen[item][system].look_if(self.passed, place, self.has(item));
            });
        });
        let mut are_there = true;
        unroll!(for item in 0..AT_ONCE {
            unroll!(for system in 0..ITEMS {
                are_there &= !(self.has(item) && self.seen[item][system].is_none());
            });
        });
        if are_there {
            self.add();
            self.at += AT_ONCE as u32 * self.of.lanes;
            self.load();
        }
    }

    #[device]
    fn is_waiting(&self) -> bool {
        self.at < self.len
    }

    #[device]
    fn finish(&mut self, is_complete: bool) {
        let mut sums = [V::ZERO; ITEMS];
        unroll!(for system in 0..ITEMS {
            sums[system] = warp::reduce_groups(self.sums[system], self.of.lanes, |a, b| a + b);
        });
        if is_complete && self.of.lane == 0 {
            self.store(sums);
        }
    }
}
