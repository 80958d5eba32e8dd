//! Rows and columns of a square matrix in another order.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared};

use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Inverts a permutation: one thread per element.
    pub struct InvertOrder {
        /// The permutation.
        pub order: Global<u32>,
        /// Output, all zero before: one more than the position of each number.
        pub inverse: GlobalMut<u32>,
        /// Output, one word that is zero before: the number of elements that are too large, or the same as another.
        pub faults: GlobalMut<u64>,
        /// Number of elements.
        pub len: u32,
    }
    shared: 0;
    body: InvertOrder::invert_order::<BLOCK>;
    entry: permute_invert in permute: 256 x 1;
}

impl InvertOrder {
    #[device]
    fn invert_order<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let number = self.order.load(index);
            if number >= self.len || !self.take(number, index as u32 + 1) {
                self.faults.fetch_add(0, 1, Ordering::Relaxed, Scope::Device);
            }
        }
    }

    /// Stores one more than a number's position, and returns whether the number had none before.
    #[device]
    fn take(self, number: u32, position: u32) -> bool {
        self.inverse.fetch_max(number as usize, position, Ordering::Relaxed, Scope::Device) == 0
    }
}

kernel! {
    /// Makes positions of what [`InvertOrder`] found for a permutation: one thread per element.
    pub struct FinishInverse {
        /// One more than each position; then the position.
        pub inverse: GlobalMut<u32>,
        /// Number of elements.
        pub len: u32,
    }
    shared: 0;
    body: FinishInverse::finish_inverse::<BLOCK>;
    entry: permute_finish_inverse in permute: 256 x 1;
}

impl FinishInverse {
    #[device]
    fn finish_inverse<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.inverse.store(index, self.inverse.load(index) - 1);
        }
    }
}

kernel! {
    /// Copies entries to the rows of another order, with columns in that order: one block per tile of the merge of row ends and nonzeros
    /// of the result.
    pub struct CopyPermuted<O: Offset> {
        /// The row offsets of the matrix.
        pub row_offsets: Global<O>,
        /// The rows of the matrix in the order of the result.
        pub order: Global<u32>,
        /// The position of each column in that order.
        pub inverse: Global<u32>,
        /// The result; its column indices are not read.
        pub permuted: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// The column indices of the matrix.
        pub columns: Global<u32>,
        /// Output: column indices.
        pub permuted_columns: GlobalMut<u32>,
        /// Output: the index of each entry in the matrix.
        pub sources: GlobalMut<u32>,
    }
    shared: BLOCK * ITEMS * u64::SIZE;
    body: CopyPermuted::copy_permuted::<BLOCK, ITEMS>;
    entry: permute_copy_{O} in permute: O in [u32, u64], 256 x 8;
}

impl<O: Offset> CopyPermuted<O> {
    #[device]
    fn copy_permuted<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let permuted = self.permuted;
        // How far each entry is from its index in the matrix, modulo 2⁶⁴.
        let shifts: Shared<u64> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, permuted);
        tile.spread::<u64, O, BLOCK>(permuted.row_offsets, shifts, |row| {
            let begin = self.row_offsets.load(self.order.load(row) as usize).to_bits();
            begin.wrapping_sub(permuted.row_offsets.load(row).to_bits())
        });
        thread::barrier();
        let (mut sources, mut columns) = ([0; ITEMS], [0; ITEMS]);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let target = tile.first_nonzero + place as usize;
                sources[item] = (target as u64).wrapping_add(shifts.load(place as usize)) as u32;
                columns[item] = self.columns.load(sources[item] as usize);
            }
        }
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let target = tile.first_nonzero + place as usize;
                self.permuted_columns.store(target, self.inverse.load(columns[item] as usize));
                self.sources.store(target, sources[item]);
            }
        }
    }
}
