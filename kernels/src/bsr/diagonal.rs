//! The blocks on the diagonal.

use evenpath_simt::{device, kernel, thread, warp, Arena, Float, GlobalMut};

use super::matrix::GlobalBsr;
use crate::Offset;

kernel! {
    /// Copies the blocks on the diagonal: a warp for each. A block that is not stored is zero; duplicates are added up in
    /// their order.
    pub struct DiagonalBlocks<V: Float, O: Offset> {
        /// The matrix.
        pub matrix: GlobalBsr<V, O>,
        /// Output: `count` blocks, each row by row.
        pub blocks: GlobalMut<V>,
        /// Block rows that have a block on the diagonal.
        pub count: u32,
    }
    shared: 0;
    body: DiagonalBlocks::copy::<BLOCK>;
    entry: bsr_diagonal_{V}_{O} in bsr_diagonal: V in [f32, f64], O in [u32, u64], 128 x 1;
}

impl<V: Float, O: Offset> DiagonalBlocks<V, O> {
    #[device]
    fn copy<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_warp::<BLOCK>();
        if row >= self.count as usize {
            return;
        }
        let len = (self.matrix.block_size * self.matrix.block_size) as usize;
        let target = self.blocks.skip(row * len);
        let mut begin = self.matrix.row_offsets.load(row).to_usize();
        let end = self.matrix.row_offsets.load(row + 1).to_usize();
        let mut is_first = true;
        while begin < end {
            let at = begin + thread::lane() as usize;
            let column = self.matrix.column_indices.load_if(at, at < end);
            let mut found = warp::ballot(warp::FULL, at < end && column as usize == row);
            while found != 0 {
                let block = begin + found.trailing_zeros() as usize;
                found &= found - 1;
                let values = self.matrix.values.skip(block * len);
                let mut place = thread::lane() as usize;
                while place < len {
                    // The same lane wrote it.
                    let before = if is_first { V::ZERO } else { target.load(place) };
                    target.store(place, before + values.load(place));
                    place += thread::WARP_SIZE as usize;
                }
                is_first = false;
            }
            begin += thread::WARP_SIZE as usize;
        }
        if is_first {
            let mut place = thread::lane() as usize;
            while place < len {
                target.store(place, V::ZERO);
                place += thread::WARP_SIZE as usize;
            }
        }
    }
}
