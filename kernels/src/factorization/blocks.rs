//! Inverses of small dense blocks.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Element, GlobalMut, Shared};

use crate::bsr::shape::MAX_BLOCK_SIZE;
use crate::elementary::Elementary;

kernel! {
    /// Replaces blocks by their inverses, by elimination in place with pivots of the largest magnitude in their column. A block has a
    /// lane for each column, and more up to a power of two.
    pub struct InvertBlocks<V: Elementary> {
        /// The blocks, each row by row.
        pub blocks: GlobalMut<V>,
        /// How many there are.
        pub count: u32,
        /// Rows of a block.
        pub size: u32,
        /// Rows of all blocks. Rows of the last block after them are those of the identity.
        pub rows: u32,
        /// Output, zero before: the complement of the first row without a pivot, or zero if there is none.
        pub found: GlobalMut<u64>,
    }
    shared: BLOCK * MAX_BLOCK_SIZE * V::SIZE;
    body: InvertBlocks::invert::<BLOCK>;
    entry: factorization_invert_blocks_{V} in factorization_blocks: V in [f32, f64], 128 x 1;
}

impl<V: Elementary> InvertBlocks<V> {
    #[device]
    fn invert<const BLOCK: usize>(self, mut arena: Arena) {
        let size = self.size as usize;
        let log = self.size.next_power_of_two().trailing_zeros();
        let lanes = 1 << log;
        let lane = thread::lane() as usize & (lanes - 1);
        let of_warp = (thread::WARP_SIZE >> log) as usize;
        let block = thread::global_warp::<BLOCK>() * of_warp + (thread::lane() >> log) as usize;
        let shared = arena.take(BLOCK * MAX_BLOCK_SIZE);
        let values = shared.skip((thread::index() >> log) as usize * lanes * lanes);
        let is_column = block < self.count as usize && lane < size;
        let own = Columns { values, size, lanes, lane, is_column };
        // Rows of this block.
        let rows = (self.rows as usize).saturating_sub(block * size).min(size);
        let mut row = 0;
        while row < size && is_column {
            let is_inside = row < rows && lane < rows;
            let mut value = if row == lane { V::UNIT } else { V::ZERO };
            if is_inside {
                value = self.blocks.load((block * size + row) * size + lane);
            }
            own.store(row, lane, value);
            row += 1;
        }
        warp::sync(warp::FULL);
        let mut exchanged = 0;
        let mut step = 0;
        while step < size {
            let pivot_row = own.eliminate(step);
            if is_column && lane == step {
                exchanged = pivot_row;
                if own.lacks_pivot(step) {
                    let row = (block * size + step) as u64;
                    self.found.fetch_max(0, !row, Ordering::Relaxed, Scope::Device);
                }
            }
            own.replace_column(step);
            step += 1;
        }
        own.exchange_columns(exchanged);
        let mut row = 0;
        while row < size && is_column {
            let is_inside = row < rows && lane < rows;
            let value = if is_inside { own.load(row, lane) } else { V::ZERO };
            self.blocks.store((block * size + row) * size + lane, value);
            row += 1;
        }
    }
}

/// A block in shared memory, of which each lane has a column.
#[derive(Clone, Copy)]
struct Columns<V: Elementary> {
    values: Shared<V>,
    size: usize,
    /// Lanes of the block, and distance between its rows.
    lanes: usize,
    lane: usize,
    /// False for lanes without a column.
    is_column: bool,
}

impl<V: Elementary> Columns<V> {
    #[device(track_caller)]
    fn load(self, row: usize, column: usize) -> V {
        self.values.load(row * self.lanes + column)
    }

    #[device(track_caller)]
    fn store(self, row: usize, column: usize, value: V) {
        self.values.store(row * self.lanes + column, value);
    }

    /// Returns the row of the largest magnitude in a column, from the diagonal on; of several the first.
    #[device]
    fn pivot_row(self, step: usize) -> usize {
        let (mut pivot_row, mut largest) = (step, self.load(step, step).magnitude());
        let mut row = step + 1;
        while row < self.size {
            let magnitude = self.load(row, step).magnitude();
            if magnitude > largest {
                (pivot_row, largest) = (row, magnitude);
            }
            row += 1;
        }
        pivot_row
    }

    /// Brings the pivot of a column to the diagonal, and subtracts multiples of its row from all others, in all columns but that one.
    /// Returns the pivot's row. All lanes of the warp call it.
    #[device]
    fn eliminate(self, step: usize) -> usize {
        let pivot_row = if self.is_column { self.pivot_row(step) } else { step };
        warp::sync(warp::FULL);
        if self.is_column && pivot_row != step {
            let (upper, lower) = (self.load(step, self.lane), self.load(pivot_row, self.lane));
            self.store(step, self.lane, lower);
            self.store(pivot_row, self.lane, upper);
        }
        warp::sync(warp::FULL);
        if self.is_column && self.lane != step {
            let factor = self.load(step, self.lane) / self.load(step, step);
            self.store(step, self.lane, factor);
            let mut row = 0;
            while row < self.size {
                if row != step {
                    let rest = self.load(row, self.lane) - self.load(row, step) * factor;
                    self.store(row, self.lane, rest);
                }
                row += 1;
            }
        }
        warp::sync(warp::FULL);
        pivot_row
    }

    /// Returns whether the pivot of a column is zero or NaN.
    #[device]
    fn lacks_pivot(self, step: usize) -> bool {
        let has_pivot = self.load(step, step).magnitude() > V::ZERO;
        !has_pivot
    }

    /// Replaces the eliminated column by that of the inverse. All lanes of the warp call it.
    #[device]
    fn replace_column(self, step: usize) {
        if self.is_column && self.lane == step {
            let pivot = self.load(step, step);
            let mut row = 0;
            while row < self.size {
                let value = if row == step { V::UNIT } else { V::ZERO - self.load(row, step) };
                self.store(row, step, value / pivot);
                row += 1;
            }
        }
        warp::sync(warp::FULL);
    }

    /// Exchanges columns as rows were, in the opposite order; each lane has the row of its column's pivot, and exchanges in a row. All
    /// lanes of the warp call it.
    #[device]
    fn exchange_columns(self, pivot_row: usize) {
        let first = thread::lane() & !(self.lanes as u32 - 1);
        let mut left = self.size;
        while left > 0 {
            left -= 1;
            let other = warp::shuffle(warp::FULL, pivot_row as u32, first + left as u32) as usize;
            if self.is_column && other != left {
                let (one, two) = (self.load(self.lane, left), self.load(self.lane, other));
                self.store(self.lane, left, two);
                self.store(self.lane, other, one);
            }
        }
        warp::sync(warp::FULL);
    }
}
