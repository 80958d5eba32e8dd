//! The product at the nonzeros of a tile.
//!
//! 1. A block copies the columns of its tile's nonzeros to shared memory, and finds their rows (`PathTile`).
//! 2. Its warps take runs of nonzeros in turn, so that all are near each other, and neighboring rows find the columns of B that they
//!    share in L1. A group of lanes has consecutive nonzeros of a run, a few of which it takes side by side: it loads a chunk of each
//!    column of B per lane. Of the rows of A it loads those that differ from the row before (`multiply_side_by_side`).
//! 3. The lanes add up their sums (`add_lanes`), and store them.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::{
    device, kernel, thread, warp, Arena, Arithmetic, Element, Global, GlobalMut, Shared, Stored,
};

use super::chunk::Chunk;
use super::lines::DenseLines;
use super::sums::{add_lanes, SIDE_BY_SIDE};
use crate::factor::Factor;
use crate::key::element_of;
use crate::spmm::{width, Elements, Packets};
use crate::spmv::PathTile;
use crate::unroll::unroll;
use crate::{GlobalPattern, Offset};

kernel! {
    /// c = α (AB) + β c for each nonzero c of a sparse matrix: one block per tile of row ends plus nonzeros. Its variants are
    /// the accesses to A and B: [`Packets`] where rows of A and columns of B are neighbors and begin at multiples of 16 bytes, and
    /// `inner` is a multiple of as many elements; [`Elements`] elsewhere.
    pub struct Sddmm<T: Stored, O: Offset> {
        /// The positions of the nonzeros.
        pub pattern: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Row ends and nonzeros of a tile, at most threads × items.
        pub tile_items: u32,
        /// Rows of A.
        pub a: DenseLines<T>,
        /// Columns of B.
        pub b: DenseLines<T>,
        /// Columns of A and rows of B, at most 2³¹.
        pub inner: u32,
        /// log2 of the lanes of a group, as [`Sddmm::lanes_log2`] gives them.
        pub lanes_log2: u32,
        /// The nonzeros; read only if β is not zero.
        pub values: GlobalMut<<T as Stored>::Compute>,
        /// α.
        pub alpha: Factor<<T as Stored>::Compute>,
        /// β.
        pub beta: Factor<<T as Stored>::Compute>,
    }
    shared: 2 * BLOCK * ITEMS * 4;
    body: Sddmm::multiply::<P, BLOCK, ITEMS>;
    entries: {
        sddmm_{P}_{T}_{O} in sddmm_{T}:
            (T, B, N, R) in [(f32, 256, 4, 4), (f64, 128, 8, 7), (f16, 128, 8, 7), (bf16, 128, 8, 7)],
            P = Packets as packets, O in [u32, u64], B x N resident R;
        sddmm_{P}_{T}_{O} in sddmm_{T}:
            T in [f32, f64, f16, bf16], P = Elements as elements, O in [u32, u64], 128 x 8 resident 3;
    }
}

/// Elements of a chunk of a line.
#[device]
pub const fn chunk_len<T: Stored>() -> usize {
    width::<T, Packets>()
}

/// No row: a matrix has at most 2³² − 1.
const NO_ROW: u32 = u32::MAX;

/// The most steps of a run. With `u32::MAX` each warp has one run, the nonzeros of its share of the tile.
const RUN_STEPS: u32 = 4;

/// Rows and columns of a tile's nonzeros.
#[derive(Clone, Copy)]
struct Positions {
    rows: Shared<u32>,
    columns: Shared<u32>,
}

/// A chunk of the row of A that a group multiplied last.
#[derive(Clone, Copy)]
struct HeldRow<L> {
    row: u32,
    chunk: L,
}

impl<T: Stored, O: Offset> Sddmm<T, O> {
    /// log2 of the lanes for inner products of `inner` terms: each has a chunk, or several if they are more than a warp has.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn lanes_log2(inner: u32) -> u32 {
        let chunks = inner.div_ceil(chunk_len::<T>() as u32).max(1);
        chunks.next_power_of_two().ilog2().clamp(super::sums::LEAST_LANES_LOG2, thread::WARP_SIZE.ilog2())
    }

    #[device]
    fn multiply<P: Chunk, const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let positions = Positions { rows: arena.take(BLOCK * ITEMS), columns: arena.take(BLOCK * ITEMS) };
        let tile =
            PathTile::new(thread::block() as usize, self.tile_items as usize, self.tile_rows, self.pattern);
        self.find_positions::<BLOCK, ITEMS>(tile, positions);
        thread::barrier();
        self.multiply_runs::<P, BLOCK>(tile, positions);
    }

    /// Writes the rows and columns of a tile's nonzeros. After the last come its column, and no row.
    #[device]
    fn find_positions<const BLOCK: usize, const ITEMS: usize>(self, tile: PathTile, positions: Positions) {
        let Positions { rows, columns } = positions;
        let own: [u32; ITEMS] = tile.load::<u32, BLOCK, ITEMS>(self.pattern.column_indices.natural());
        tile.spread::<u32, O, BLOCK>(self.pattern.row_offsets, rows, |row| row as u32);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            columns.store(place as usize, own[item]);
            if place >= tile.nonzeros {
                rows.store(place as usize, NO_ROW);
            }
        }
    }

    /// Multiplies the warp's runs of a tile, a few nonzeros of each group at a time.
    #[device]
    fn multiply_runs<P: Chunk, const BLOCK: usize>(self, tile: PathTile, positions: Positions) {
        let at_once = SIDE_BY_SIDE as u32;
        let groups = thread::WARP_SIZE >> self.lanes_log2;
        let group = thread::lane() >> self.lanes_log2;
        let warps = BLOCK as u32 / thread::WARP_SIZE;
        // All runs have the same steps, as nearly as they can.
        let steps = tile.nonzeros.div_ceil(warps * groups * at_once);
        let run_steps = steps.div_ceil(steps.div_ceil(RUN_STEPS).max(1));
        let mut held = HeldRow { row: NO_ROW, chunk: P::zeros::<T>() };
        let mut run = thread::warp() * groups * run_steps * at_once;
        while run < tile.nonzeros {
            let mut step = 0;
            while step < run_steps && run + step * at_once < tile.nonzeros {
                let own = run + (group * run_steps + step) * at_once;
                let sums = self.multiply_side_by_side::<P>(positions, own, tile.nonzeros, &mut held);
                // Add up the sums of the lanes, and store.
                let result = add_lanes(sums, self.lanes_log2);
                let place = own + result.nonzero;
                if result.is_first && place < tile.nonzeros {
                    self.store(tile.first_nonzero + place as usize, result.sum);
                }
                step += 1;
            }
            run += warps * groups * run_steps * at_once;
        }
    }

    /// Sums the lane's terms of the nonzeros starting at `first`, a multiple of [`SIDE_BY_SIDE`]. Those from `end` on are not stored. All
    /// chunks of B are loaded before the first is used.
    #[device]
    fn multiply_side_by_side<P: Chunk>(
        self,
        positions: Positions,
        first: u32,
        end: u32,
        held: &mut HeldRow<P::Loaded<T>>,
    ) -> [T::Compute; SIDE_BY_SIDE] {
        // Groups that have none repeat the tile's last.
        let last = (end - 1) & !(SIDE_BY_SIDE as u32 - 1);
        let place = first.min(last) as usize;
        let (rows, columns) = (positions.rows.load_16(place), positions.columns.load_16(place));
        let (mut row, mut column) = ([0; SIDE_BY_SIDE], [0; SIDE_BY_SIDE]);
        for at in 0..SIDE_BY_SIDE {
            row[at] = element_of(rows, at);
            column[at] = element_of(columns, at);
        }
        let step = (chunk_len::<T>() as u32) << self.lanes_log2;
        let mut element = (thread::lane() & ((1 << self.lanes_log2) - 1)) * chunk_len::<T>() as u32;
        let mut sums = [T::Compute::ZERO; SIDE_BY_SIDE];
        // Rows ascend.
        let is_one_row = warp::all(warp::FULL, row[0] == row[SIDE_BY_SIDE - 1]);
        let mut done = 0;
        while done < self.inner {
            let mut of_b = [P::zeros::<T>(); SIDE_BY_SIDE];
            unroll!(for at in 0..SIDE_BY_SIDE {
                of_b[at] = P::load_if(self.b, column[at], element, self.inner, true);
            });
            let mut chunk = held.chunk;
            if is_one_row {
                chunk = self.row_of_a::<P>(row[0], element, held.row, chunk);
                unroll!(for at in 0..SIDE_BY_SIDE {
                    sums[at] = Self::add_terms::<P>(chunk, of_b[at], sums[at]);
                });
            } else {
                unroll!(for at in 0..SIDE_BY_SIDE {
                    let before = if at == 0 { held.row } else { row[at - 1] };
                    chunk = self.row_of_a::<P>(row[at], element, before, chunk);
                    sums[at] = Self::add_terms::<P>(chunk, of_b[at], sums[at]);
                });
            }
            held.chunk = chunk;
            element += step;
            done += step;
        }
        // The next nonzeros begin with the first chunk again.
        held.row = if self.inner <= step { row[SIDE_BY_SIDE - 1] } else { NO_ROW };
        sums
    }

    /// Returns `sum` with the products of two chunks added to it, in their order.
    #[device]
    fn add_terms<P: Chunk>(a: P::Loaded<T>, b: P::Loaded<T>, sum: T::Compute) -> T::Compute {
        let mut sum = sum;
        for term in 0..const { chunk_len::<T>() } {
            sum = P::get::<T>(a, term).widen().fma(P::get::<T>(b, term).widen(), sum);
        }
        sum
    }

    /// Returns the lane's chunk of a row of A, which is `chunk` if the row is `before`; anything for [`NO_ROW`].
    #[device]
    fn row_of_a<P: Chunk>(self, row: u32, element: u32, before: u32, chunk: P::Loaded<T>) -> P::Loaded<T> {
        let is_new = row != before;
        let loaded = P::load_if(self.a, row, element, self.inner, is_new && row != NO_ROW);
        P::select::<T>(is_new, loaded, chunk)
    }

    /// Stores a nonzero, given its inner product.
    #[device]
    fn store(self, index: usize, sum: T::Compute) {
        let (product, beta) = (self.alpha.get() * sum, self.beta.get());
        let value =
            if beta == T::Compute::ZERO { product } else { beta.fma(self.values.load(index), product) };
        self.values.store_streaming(index, value);
    }
}
