//! The sums of a tile's rows, in several matrices.

use evenpath_simt::{device, thread, Arena, Float, Global, Shared};

use crate::block::merge_path::search_rows;
use crate::block::segmented_scan::SegmentedScan;
use crate::spmv::PathTile;
use crate::unroll::unroll;
use crate::Offset;

/// Matrices that a block multiplies at once.
pub const BATCH_AT_ONCE: usize = 4;

/// Shared memory of [`BatchSums`] for tiles of `items`.
pub(super) const fn batch_sums_bytes<V: Float, const BLOCK: usize>(items: usize) -> usize {
    BATCH_AT_ONCE * (items * V::SIZE + SegmentedScan::<V, BLOCK>::BYTES) + (items + 1) * 4
}

/// The products of a tile, and the sums of the rows that end in it, in shared memory.
pub(super) struct BatchSums<V, const BLOCK: usize, const ITEMS: usize> {
    path: PathTile,
    /// Nonzeros of the tile before each row end; after the last, more than there are.
    row_ends: Shared<u32>,
    /// The products of each matrix; those after the last nonzero are zero.
    products: [Shared<V>; BATCH_AT_ONCE],
    /// The sums of each matrix.
    sums: [Shared<V>; BATCH_AT_ONCE],
    scans: [SegmentedScan<V, BLOCK>; BATCH_AT_ONCE],
}

impl<V: Float, const BLOCK: usize, const ITEMS: usize> BatchSums<V, BLOCK, ITEMS> {
    const LEN: usize = BLOCK * ITEMS;

    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, path: PathTile) -> Self {
        let first: SegmentedScan<V, BLOCK> = SegmentedScan::take(arena);
        let mut scans = [first; BATCH_AT_ONCE];
        for matrix in 1..BATCH_AT_ONCE {
            scans[matrix] = SegmentedScan::take(arena);
        }
        let all: Shared<V> = arena.take(BATCH_AT_ONCE * Self::LEN);
        let (mut products, mut sums) = ([all; BATCH_AT_ONCE], [all; BATCH_AT_ONCE]);
        for matrix in 0..BATCH_AT_ONCE {
            products[matrix] = all.skip(matrix * Self::LEN);
            sums[matrix] = all.skip((matrix + 1) * Self::LEN - path.rows as usize);
        }
        let row_ends = arena.take(path.rows as usize + 1);
        Self { path, row_ends, products, sums, scans }
    }

    /// Writes the tile's row ends. The block sees them after a barrier.
    #[device(track_caller)]
    pub(super) fn load_row_ends<O: Offset>(&self, row_offsets: Global<O>) {
        self.path.write_row_ends::<O, BLOCK>(row_offsets, self.row_ends);
    }

    /// Writes the thread's products of one matrix. The block sees them after a barrier.
    #[device(track_caller)]
    pub(super) fn write_products(&self, matrix: usize, products: [V; ITEMS]) {
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < Self::LEN as u32 - self.path.rows {
                let product = if place < self.path.nonzeros { products[item] } else { V::ZERO };
                self.products[matrix].store(place as usize, product);
            }
        }
    }

    /// Sums the rows that end in the tile, in all matrices, and returns the sums of the products after the last row end. The block sees
    /// them after it.
    #[device(track_caller)]
    pub(super) fn sum_rows(&self) -> [V; BATCH_AT_ONCE] {
        // 1. Walk this thread's share of the tile's path, found as if the products filled the tile.
        let rows = self.path.rows;
        let diagonal = thread::index() * ITEMS as u32;
        let first_row =
            search_rows(diagonal, rows, Self::LEN as u32 - rows, |row| self.row_ends.load(row as usize));
        let (mut row, mut nonzero) = (first_row, diagonal - first_row);
        let mut end = self.row_ends.load(row as usize);
        let mut sums = [V::ZERO; BATCH_AT_ONCE];
        for _ in 0..ITEMS {
            if nonzero < end {
                unroll!(for matrix in 0..BATCH_AT_ONCE {
                    sums[matrix] += self.products[matrix].load(nonzero as usize);
                });
                nonzero += 1;
            } else {
                unroll!(for matrix in 0..BATCH_AT_ONCE {
                    self.sums[matrix].store(row as usize, sums[matrix]);
                });
                sums = [V::ZERO; BATCH_AT_ONCE];
                row += 1;
                end = self.row_ends.load(row as usize);
            }
        }

        // 2. Add to the first row that ends in the share what the shares before have of it.
        let mut totals = [V::ZERO; BATCH_AT_ONCE];
        unroll!(for matrix in 0..BATCH_AT_ONCE {
            let scanned = self.scans[matrix].exclusive(sums[matrix], row != first_row);
            if row != first_row {
                let first = self.sums[matrix].load(first_row as usize);
                self.sums[matrix].store(first_row as usize, scanned.before + first);
            }
            totals[matrix] = scanned.total;
        });
        thread::barrier();
        totals
    }

    /// Returns the sum of a row that ends in the tile.
    #[device(track_caller)]
    pub(super) fn sum(&self, matrix: usize, row: u32) -> V {
        self.sums[matrix].load(row as usize)
    }
}
