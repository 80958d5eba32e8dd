use std::ops::Range;

use crate::matrix::{MAX_BLOCK_SIZE, write_diagonal_blocks};
use crate::{Offset, Value};

/// Arrays of a valid matrix.
pub(crate) struct BsrArrays<'a, V, O> {
    /// Rows and columns of a block.
    pub(crate) size: usize,
    pub(crate) row_offsets: &'a [O],
    pub(crate) column_indices: &'a [u32],
    pub(crate) values: &'a [V],
}

impl<V, O> Clone for BsrArrays<'_, V, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, O> Copy for BsrArrays<'_, V, O> {}

/// Sums of the rows of a block row; the first `size` are used.
pub(super) type BlockRowSums<V> = [V; MAX_BLOCK_SIZE];

impl<V: Value, O: Offset> BsrArrays<'_, V, O> {
    /// The products of blocks of one block row and x, which has elements for all block columns. The products of a row
    /// with each column of a block are summed over the blocks, and these sums are then added up.
    pub(super) fn sums(&self, blocks: Range<usize>, x: &[V]) -> BlockRowSums<V> {
        match self.size {
            2 => self.sums_at_once::<2>(blocks, x),
            3 => self.sums_at_once::<3>(blocks, x),
            4 => self.sums_at_once::<4>(blocks, x),
            5 => self.sums_at_once::<5>(blocks, x),
            6 => self.sums_at_once::<6>(blocks, x),
            8 => self.sums_at_once::<8>(blocks, x),
            size => self.sums_by_rows(size, blocks, x),
        }
    }

    /// [`sums`](Self::sums) with a sum in registers for each value of a block.
    fn sums_at_once<const SIZE: usize>(&self, blocks: Range<usize>, x: &[V]) -> BlockRowSums<V> {
        let mut sums = [[V::ZERO; SIZE]; SIZE];
        let values =
            self.values[blocks.start * SIZE * SIZE..blocks.end * SIZE * SIZE].chunks_exact(SIZE * SIZE);
        for (&column, values) in self.column_indices[blocks].iter().zip(values) {
            let x = &x[column as usize * SIZE..][..SIZE];
            for row in 0..SIZE {
                for at in 0..SIZE {
                    sums[row][at] += values[row * SIZE + at] * x[at];
                }
            }
        }
        let mut of_rows = [V::ZERO; MAX_BLOCK_SIZE];
        for row in 0..SIZE {
            of_rows[row] = sums[row].iter().fold(V::ZERO, |sum, &part| sum + part);
        }
        of_rows
    }

    /// [`sums`](Self::sums), one row after the other.
    fn sums_by_rows(&self, size: usize, blocks: Range<usize>, x: &[V]) -> BlockRowSums<V> {
        let mut of_rows = [V::ZERO; MAX_BLOCK_SIZE];
        for (row, of_row) in of_rows.iter_mut().enumerate().take(size) {
            let mut sums = [V::ZERO; MAX_BLOCK_SIZE];
            for block in blocks.clone() {
                let values = &self.values[(block * size + row) * size..][..size];
                let x = &x[self.column_indices[block] as usize * size..][..size];
                for ((sum, &value), &x) in sums.iter_mut().zip(values).zip(x) {
                    *sum += value * x;
                }
            }
            *of_row = sums[..size].iter().fold(V::ZERO, |sum, &part| sum + part);
        }
        of_rows
    }

    /// Writes the blocks on the diagonal. A block that is not stored is zero; duplicates are added up.
    pub(crate) fn write_diagonal(&self, blocks: &mut [V]) {
        write_diagonal_blocks(self.size, self.row_offsets, self.column_indices, self.values, blocks);
    }
}
