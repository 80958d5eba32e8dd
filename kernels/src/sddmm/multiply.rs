//! The product at the nonzeros of a tile.
//!
//! 1. A block copies the columns of its tile's nonzeros to shared memory, and finds their rows (`PathTile`).
//! 2. Its warps share the nonzeros. A group of lanes takes a few that are side by side, and loads a chunk of each column of
//!    B per lane. Of the rows of A it loads those that differ from the row before (`multiply_side_by_side`).
//! 3. The lanes add up their sums (`add_lanes`), and store them.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Element, Global, GlobalMut, Shared, Stored};

use super::chunk::Chunk;
use super::lines::DenseLines;
use super::sums::{add_lanes, SIDE_BY_SIDE};
use crate::factor::Factor;
use crate::spmm::{width, Elements, Packets};
use crate::spmv::PathTile;
use crate::unroll::unroll;
use crate::{GlobalPattern, Offset};

kernel! {
    /// c = α (AB) + β c for each nonzero c of a sparse matrix: one block per tile of row ends plus nonzeros. Its variants are
    /// the accesses to A and B: [`Packets`] where rows of A and columns of B are neighbors and begin at multiples of 16 bytes, and
    /// `inner` is a multiple of as many elements; [`Elements`] elsewhere. All tiles have the same length.
    pub struct Sddmm<T: Stored, O: Offset> {
        /// The positions of the nonzeros.
        pub pattern: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
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
    entry: sddmm_{P}_{T}_{O} in sddmm_{T}:
        T in [f32, f64, f16, bf16], P in [Packets as packets, Elements as elements], O in [u32, u64], 128 x 4;
}

/// Elements of a chunk of a line.
#[device]
pub const fn chunk_len<T: Stored>() -> usize {
    width::<T, Packets>()
}

/// No row: a matrix has at most 2³² − 1.
const NO_ROW: u32 = u32::MAX;

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
        // 1. Find the rows and columns of the tile's nonzeros.
        let (rows, columns) = (arena.take(BLOCK * ITEMS), arena.take(BLOCK * ITEMS));
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        let own: [u32; ITEMS] = tile.load::<u32, BLOCK, ITEMS>(self.pattern.column_indices.natural());
        tile.spread::<u32, O, BLOCK>(self.pattern.row_offsets, rows, |row| row as u32);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                columns.store(place as usize, own[item]);
            }
        }
        thread::barrier();

        // 2. Multiply the warp's share, a few nonzeros for each group at a time.
        let at_once = (thread::WARP_SIZE >> self.lanes_log2) * SIDE_BY_SIDE as u32;
        let warps = BLOCK as u32 / thread::WARP_SIZE;
        let share = tile.nonzeros.div_ceil(warps * at_once) * at_once;
        let mut first = thread::warp() * share;
        let end = (first + share).min(tile.nonzeros);
        let group = thread::lane() >> self.lanes_log2;
        let mut held = HeldRow { row: NO_ROW, chunk: P::zeros::<T>() };
        while first < end {
            let own = first + group * SIDE_BY_SIDE as u32;
            let sums = self.multiply_side_by_side::<P>(Positions { rows, columns }, own, end, &mut held);
            // 3. Add up the sums of the lanes, and store.
            let result = add_lanes(sums, self.lanes_log2);
            let place = own + result.nonzero;
            if result.is_first && place < end {
                self.store(tile.first_nonzero + place as usize, result.sum);
            }
            first += at_once;
        }
    }

    /// Sums the lane's terms of nonzeros starting at `first`. Those from `end` on, which are not stored, repeat the last. All loads of a
    /// chunk are issued before the first is used.
    #[device]
    fn multiply_side_by_side<P: Chunk>(
        self,
        positions: Positions,
        first: u32,
        end: u32,
        held: &mut HeldRow<P::Loaded<T>>,
    ) -> [T::Compute; SIDE_BY_SIDE] {
        let (mut row, mut column) = ([0; SIDE_BY_SIDE], [0; SIDE_BY_SIDE]);
        for at in 0..SIDE_BY_SIDE {
            let place = (first + at as u32).min(end - 1) as usize;
            row[at] = positions.rows.load(place);
            column[at] = positions.columns.load(place);
        }
        let step = (chunk_len::<T>() as u32) << self.lanes_log2;
        let mut element = (thread::lane() & ((1 << self.lanes_log2) - 1)) * chunk_len::<T>() as u32;
        let mut sums = [T::Compute::ZERO; SIDE_BY_SIDE];
        let mut done = 0;
        while done < self.inner {
            let (mut of_a, mut of_b) = ([P::zeros::<T>(); SIDE_BY_SIDE], [P::zeros::<T>(); SIDE_BY_SIDE]);
            unroll!(for at in 0..SIDE_BY_SIDE {
                of_b[at] = P::load_if(self.b, column[at], element, self.inner, true);
            });
            unroll!(for at in 0..SIDE_BY_SIDE {
                let (before, chunk) =
                    if at == 0 { (held.row, held.chunk) } else { (row[at - 1], of_a[at - 1]) };
                let is_new = row[at] != before;
                of_a[at] =
                    P::select::<T>(is_new, P::load_if(self.a, row[at], element, self.inner, is_new), chunk);
            });
            unroll!(for at in 0..SIDE_BY_SIDE {
                for term in 0..const { chunk_len::<T>() } {
                    let (a, b) = (P::get::<T>(of_a[at], term), P::get::<T>(of_b[at], term));
                    sums[at] = a.widen().fma(b.widen(), sums[at]);
                }
            });
            held.chunk = of_a[SIDE_BY_SIDE - 1];
            element += step;
            done += step;
        }
        // The next nonzeros begin with the first chunk again.
        held.row = if self.inner <= step { row[SIDE_BY_SIDE - 1] } else { NO_ROW };
        sums
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
