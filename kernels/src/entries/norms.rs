//! Euclidean norms of rows: squares are added up at three scales, as for the norm of a vector.
//!
//! [`RowNorms`] walks the merge of row ends and entries, so that rows of any length are equal work. A row that lies in several tiles
//! leaves a part in each, and [`FinishRowNorms`] adds them up in their order.

use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared};

use crate::block::merge_path::search_rows;
use crate::block::reduce::BlockReduce;
use crate::block::segmented_scan::SegmentedScan;
use crate::norm::{NormScales, Squares, SUMS};
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

/// Sums that each tile leaves: of the first row that ends in it, and of the row after those that do.
pub const TILE_SUMS: usize = 2 * SUMS;

#[device(track_caller)]
fn store<V: NormScales>(sums: GlobalMut<V>, at: usize, squares: Squares<V>) {
    sums.store(at, squares.plain);
    sums.store(at + 1, squares.large);
    sums.store(at + 2, squares.small);
}

#[device(track_caller)]
fn load<V: NormScales>(sums: Global<V>, at: usize) -> Squares<V> {
    Squares { plain: sums.load(at), large: sums.load(at + 1), small: sums.load(at + 2) }
}

#[device]
fn norm<V: NormScales>(squares: Squares<V>) -> V {
    let (root, inverse) = squares.scaled_root();
    root * inverse
}

/// Scans of sums at the three scales.
#[derive(Clone, Copy)]
struct SquaresScan<V, const BLOCK: usize>([SegmentedScan<V, BLOCK>; SUMS]);

impl<V: NormScales, const BLOCK: usize> SquaresScan<V, BLOCK> {
    #[device(track_caller)]
    fn take(arena: &mut Arena) -> Self {
        Self([SegmentedScan::take(arena), SegmentedScan::take(arena), SegmentedScan::take(arena)])
    }

    /// Returns the sums before the thread's, and those at the end of the block: see [`SegmentedScan::exclusive`].
    #[device(track_caller)]
    fn exclusive(self, own: Squares<V>, head: bool) -> (Squares<V>, Squares<V>) {
        let plain = self.0[0].exclusive(own.plain, head);
        let large = self.0[1].exclusive(own.large, head);
        let small = self.0[2].exclusive(own.small, head);
        (
            Squares { plain: plain.before, large: large.before, small: small.before },
            Squares { plain: plain.total, large: large.total, small: small.total },
        )
    }
}

kernel! {
    /// Computes the norms of the rows that lie in one tile, and leaves the parts of others: one block per tile of row ends plus
    /// entries.
    pub struct RowNorms<V: NormScales, O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Its values.
        pub values: Global<V>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Output: the norms, one per row.
        pub norms: GlobalMut<V>,
        /// Output: [`TILE_SUMS`] per tile.
        pub sums: GlobalMut<V>,
    }
    shared: (BLOCK * ITEMS + 1) * (V::SIZE + 4) + SUMS * SegmentedScan::<V, BLOCK>::BYTES;
    body: RowNorms::row_norms::<BLOCK, ITEMS>;
    entry: entries_row_norms_{V}_{O} in row_norms_{V}: V in [f32, f64], O in [u32, u64], 128 x 9;
}

impl<V: NormScales, O: Offset> RowNorms<V, O> {
    #[device]
    fn row_norms<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Write the tile's row ends and values to shared memory, with zeros after the last value.
        let scan = SquaresScan::<V, BLOCK>::take(&mut arena);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        let filled = (BLOCK * ITEMS) as u32 - tile.rows;
        let row_ends: Shared<u32> = arena.take(tile.rows as usize + 1);
        let values: Shared<V> = arena.take(filled as usize);
        let loaded = tile.load::<V, BLOCK, ITEMS>(self.values);
        tile.write_row_ends::<O, BLOCK>(self.pattern.row_offsets, row_ends);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < filled {
                values.store(place as usize, if place < tile.nonzeros { loaded[item] } else { V::ZERO });
            }
        }
        thread::barrier();

        // 2. Walk this thread's share of the tile's path. The first row that ends in it may have begun before.
        let diagonal = thread::index() * ITEMS as u32;
        let first_row = search_rows(diagonal, tile.rows, filled, |row| row_ends.load(row as usize));
        let (mut row, mut entry) = (first_row, diagonal - first_row);
        let mut end = row_ends.load(row as usize);
        let (mut squares, mut of_first) = (Squares::ZERO, Squares::ZERO);
        for _ in 0..ITEMS {
            if entry < end {
                squares.add(values.load(entry as usize));
                entry += 1;
            } else {
                if row == first_row {
                    of_first = squares;
                } else {
                    self.norms.store(tile.first_row + row as usize, norm(squares));
                }
                squares = Squares::ZERO;
                row += 1;
                end = row_ends.load(row as usize);
            }
        }

        // 3. Add to that row what the shares before have of it.
        let (before, total) = scan.exclusive(squares, row != first_row);
        if row != first_row {
            self.finish_first(tile, first_row, before.plus(of_first));
        }
        if thread::index() == 0 {
            store(self.sums, thread::block() as usize * TILE_SUMS + SUMS, total);
        }
    }

    /// Stores the norm of a row that ends in the tile, or its part if it began in a tile before.
    #[device]
    fn finish_first(self, tile: PathTile, row: u32, squares: Squares<V>) {
        let is_cut =
            row == 0 && self.pattern.row_offsets.load(tile.first_row).to_usize() < tile.first_nonzero;
        if is_cut {
            store(self.sums, thread::block() as usize * TILE_SUMS, squares);
        } else {
            self.norms.store(tile.first_row + row as usize, norm(squares));
        }
    }
}

kernel! {
    /// Computes the norms of rows that lie in several tiles of [`RowNorms`]: one block per tile, which does the row that ends in it
    /// and began before.
    pub struct FinishRowNorms<V: NormScales, O: Offset> {
        /// The row offsets of the matrix.
        pub row_offsets: Global<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// The sums that each tile left.
        pub sums: Global<V>,
        /// Output: the norms, one per row.
        pub norms: GlobalMut<V>,
        /// Row ends plus entries of a tile.
        pub tile_items: u32,
    }
    shared: SUMS * BlockReduce::<V, BLOCK>::BYTES;
    body: FinishRowNorms::finish_row_norms::<BLOCK>;
    entry: entries_finish_row_norms_{V}_{O} in row_norms_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
}

impl<V: NormScales, O: Offset> FinishRowNorms<V, O> {
    #[device]
    fn finish_row_norms<const BLOCK: usize>(self, mut arena: Arena) {
        let (tile, tile_items) = (thread::block() as usize, self.tile_items as usize);
        let (row, next_row) = (self.tile_rows.load(tile) as usize, self.tile_rows.load(tile + 1) as usize);
        let begin = self.row_offsets.load(row).to_usize();
        // The same for all threads of the block.
        if next_row == row || begin >= tile * tile_items - row {
            return;
        }
        let mut own = Squares::ZERO;
        let mut other = (begin + row) / tile_items + thread::index() as usize;
        while other < tile {
            own = own.plus(load(self.sums, other * TILE_SUMS + SUMS));
            other += BLOCK;
        }
        let plain = BlockReduce::<V, BLOCK>::take(&mut arena).sum(own.plain);
        let large = BlockReduce::<V, BLOCK>::take(&mut arena).sum(own.large);
        let small = BlockReduce::<V, BLOCK>::take(&mut arena).sum(own.small);
        if thread::index() == 0 {
            let squares = Squares { plain, large, small }.plus(load(self.sums, tile * TILE_SUMS));
            self.norms.store(row, norm(squares));
        }
    }
}
