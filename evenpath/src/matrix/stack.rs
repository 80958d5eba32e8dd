//! Matrices of blocks: matrices below and beside each other.

use std::ops::Range;

use super::blocks::{row_blocks, split_both};
use super::{Csr, CsrView, MatrixError, validate};
use crate::memory::{try_collect, try_zeroed};
use crate::{Offset, Storage, parallel};

/// A matrix that can be a block of another.
pub(crate) trait Block: Copy {
    fn shape(self) -> (usize, usize);
    fn nnz(self) -> usize;
}

/// The blocks of a matrix, and where they are.
pub(crate) struct Blocks<B> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    /// From top to bottom; they cover all rows.
    pub(crate) block_rows: Vec<BlockRow<B>>,
}

/// Blocks beside each other, from left to right, each with its first column.
pub(crate) struct BlockRow<B> {
    pub(crate) rows: Range<usize>,
    pub(crate) blocks: Vec<(B, usize)>,
}

impl<B: Block> Blocks<B> {
    /// Places matrices below each other.
    pub(crate) fn below(blocks: &[B]) -> Result<Self, MatrixError> {
        let grid: Vec<_> = blocks.iter().map(|&block| [Some(block)]).collect();
        Self::grid(&grid)
    }

    /// Places matrices beside each other.
    pub(crate) fn beside(blocks: &[B]) -> Result<Self, MatrixError> {
        let row: Vec<_> = blocks.iter().copied().map(Some).collect();
        Self::grid(&[row])
    }

    /// Places matrices along the diagonal.
    pub(crate) fn diagonal(blocks: &[B]) -> Result<Self, MatrixError> {
        if blocks.is_empty() {
            return Err(MatrixError::NoBlocks);
        }
        let heights = blocks.iter().map(|block| block.shape().0);
        let widths = blocks.iter().map(|block| block.shape().1);
        let (row_starts, column_starts) = (starts(heights), starts(widths));
        let block_rows = blocks.iter().enumerate().map(|(at, &block)| BlockRow {
            rows: row_starts[at]..row_starts[at + 1],
            blocks: vec![(block, column_starts[at])],
        });
        Self::new(block_rows.collect(), column_starts[blocks.len()])
    }

    /// Places matrices in rows and columns, with none where there are zeros.
    pub(crate) fn grid(grid: &[impl AsRef<[Option<B>]>]) -> Result<Self, MatrixError> {
        let needed = grid.first().map_or(0, |row| row.as_ref().len());
        if needed == 0 {
            return Err(MatrixError::NoBlocks);
        }
        let (mut heights, mut widths) = (vec![None; grid.len()], vec![None; needed]);
        for (row, blocks) in grid.iter().map(AsRef::as_ref).enumerate() {
            if blocks.len() != needed {
                return Err(MatrixError::BlockCount { row, found: blocks.len(), needed });
            }
            for (column, block) in blocks.iter().enumerate() {
                let Some(block) = block else { continue };
                let (height, width) = block.shape();
                let needed = *heights[row].get_or_insert(height);
                if height != needed {
                    return Err(MatrixError::BlockRows { row, column, found: height, needed });
                }
                let needed = *widths[column].get_or_insert(width);
                if width != needed {
                    return Err(MatrixError::BlockColumns { row, column, found: width, needed });
                }
            }
        }
        let row_starts = starts(known("row", heights)?.into_iter());
        let column_starts = starts(known("column", widths)?.into_iter());
        let block_rows = grid.iter().map(AsRef::as_ref).enumerate().map(|(row, blocks)| {
            let placed = blocks.iter().zip(&column_starts);
            let blocks = placed.filter_map(|(block, &column)| block.map(|block| (block, column)));
            BlockRow { rows: row_starts[row]..row_starts[row + 1], blocks: blocks.collect() }
        });
        Self::new(block_rows.collect(), column_starts[needed])
    }

    fn new(block_rows: Vec<BlockRow<B>>, cols: usize) -> Result<Self, MatrixError> {
        let rows = block_rows.last().map_or(0, |row| row.rows.end);
        validate::dimensions(rows, cols)?;
        let all = block_rows.iter().flat_map(|row| &row.blocks);
        let nnz = all.fold(0_usize, |sum, (block, _)| sum.saturating_add(block.nnz()));
        Ok(Self { rows, cols, nnz, block_rows })
    }

    /// Returns the blocks from top to bottom and from left to right.
    pub(crate) fn iter(&self) -> impl Iterator<Item = B> {
        self.block_rows.iter().flat_map(|row| row.blocks.iter().map(|&(block, _)| block))
    }

    /// Replaces each block by the result of `map`, in the same order.
    pub(crate) fn map<C>(&self, mut map: impl FnMut(B) -> C) -> Blocks<C> {
        let block_rows = self.block_rows.iter().map(|row| {
            let blocks = row.blocks.iter().map(|&(block, first_column)| (map(block), first_column));
            BlockRow { rows: row.rows.clone(), blocks: blocks.collect() }
        });
        let block_rows = block_rows.collect();
        Blocks { rows: self.rows, cols: self.cols, nnz: self.nnz, block_rows }
    }

    /// Checks that `O` counts the nonzeros.
    pub(crate) fn check_offsets<O: Offset>(&self) -> Result<(), MatrixError> {
        match O::try_from_usize(self.nnz) {
            Some(_) => Ok(()),
            None => Err(MatrixError::offset_overflow::<O>(self.nnz)),
        }
    }
}

/// The sum of the sizes before each, and of all.
fn starts(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let ends = sizes.scan(0_usize, |end, size| {
        *end = end.saturating_add(size);
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn known(what: &'static str, sizes: Vec<Option<usize>>) -> Result<Vec<usize>, MatrixError> {
    let size = |(index, size): (usize, Option<usize>)| size.ok_or(MatrixError::EmptyBlocks { what, index });
    sizes.into_iter().enumerate().map(size).collect()
}

impl<V: Storage, O: Offset> Block for CsrView<'_, V, O> {
    fn shape(self) -> (usize, usize) {
        CsrView::shape(&self)
    }

    fn nnz(self) -> usize {
        CsrView::nnz(&self)
    }
}

impl<V: Storage, O: Offset> Blocks<CsrView<'_, V, O>> {
    /// Copies the blocks to one matrix.
    pub(crate) fn join(&self) -> Result<Csr<V, O>, MatrixError> {
        self.check_offsets::<O>()?;
        let (rows, nnz) = (self.rows, self.nnz);
        let out_of_memory = MatrixError::OutOfMemory { rows, nnz };
        let ends = self.block_rows.iter().flat_map(|row| {
            (0..row.rows.len())
                .map(|at| row.blocks.iter().map(|(block, _)| block.range(at).len()).sum::<usize>())
        });
        let ends = ends.scan(0, |end, length| {
            *end += length;
            Some(O::from_bits(*end as u64))
        });
        let Ok(row_offsets) = try_collect(std::iter::once(O::ZERO).chain(ends)) else {
            return Err(out_of_memory);
        };
        let arrays = (try_zeroed(nnz), try_zeroed(nnz));
        let (Ok(mut columns), Ok(mut values)) = arrays else { return Err(out_of_memory) };
        let parts = split_both(&row_blocks(&row_offsets), &row_offsets, &mut columns, &mut values);
        parallel::for_each(parts, |(rows, columns, values)| self.write_rows(&rows, columns, values));
        Ok(Csr::from_valid(rows, self.cols, row_offsets, columns, values))
    }

    /// Writes the entries of some rows.
    fn write_rows(&self, rows: &Range<usize>, columns: &mut [u32], values: &mut [V]) {
        let mut target = 0;
        let first = self.block_rows.partition_point(|of_blocks| of_blocks.rows.end <= rows.start);
        for of_blocks in &self.block_rows[first..] {
            let own = rows.start.max(of_blocks.rows.start)..rows.end.min(of_blocks.rows.end);
            for row in own {
                for &(block, first_column) in &of_blocks.blocks {
                    let source = block.range(row - of_blocks.rows.start);
                    let place = target..target + source.len();
                    let shifted = block.column_indices()[source.clone()].iter();
                    for (slot, column) in columns[place.clone()].iter_mut().zip(shifted) {
                        *slot = column + first_column as u32;
                    }
                    values[place].copy_from_slice(&block.values()[source.clone()]);
                    target += source.len();
                }
            }
        }
    }
}

/// Matrices of blocks.
impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns the matrix of the rows of all blocks, one block below the other. All have the same number of columns.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 1, 1.0)])?;
    /// let b = Csr::from_triplets(2, 2, [(1, 0, 2.0)])?;
    /// assert_eq!(Csr::vstack(&[&a, &b])?.to_dense()?, [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks, since then the number of columns is unknown; if a block has another number of columns than the first. If
    /// the result exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or has more nonzeros than `O` counts. If there is not enough
    /// memory.
    pub fn vstack(blocks: &[&Self]) -> Result<Self, MatrixError> {
        Blocks::below(&views(blocks))?.join()
    }

    /// Returns the matrix of the columns of all blocks, one block beside the other. All have the same number of rows. The
    /// result is canonical if all blocks are.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 1, [(0, 0, 1.0)])?;
    /// let b = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert_eq!(Csr::hstack(&[&a, &b])?.to_dense()?, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    /// let error = Csr::hstack(&[&a, &a.transpose()?]).unwrap_err();
    /// assert_eq!(error.to_string(), "block (0, 1) has 1 rows, but one before it has 2");
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks, or a block has another number of rows than the first; else the same as for
    /// [`vstack`](Self::vstack).
    pub fn hstack(blocks: &[&Self]) -> Result<Self, MatrixError> {
        Blocks::beside(&views(blocks))?.join()
    }

    /// Returns the matrix of blocks in rows and columns; `None` is a block of zeros. Blocks in one row have the same number of rows, and
    /// those in one column the same number of columns.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// // [A  Bᵀ]
    /// // [B  0 ]
    /// let a = Csr::from_diagonal(&[1.0, 2.0])?;
    /// let b = Csr::from_triplets(1, 2, [(0, 0, 3.0), (0, 1, 4.0)])?;
    /// let saddle = Csr::from_blocks(&[&[Some(&a), Some(&b.transpose()?)], &[Some(&b), None]])?;
    /// assert_eq!(saddle.to_dense()?, [1.0, 0.0, 3.0, 0.0, 2.0, 4.0, 3.0, 4.0, 0.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks, rows of blocks differ in length, sizes do not fit, or all blocks of a row or of a column are `None`, so
    /// that its size is unknown. Else the same as for [`vstack`](Self::vstack).
    pub fn from_blocks(blocks: &[&[Option<&Self>]]) -> Result<Self, MatrixError> {
        let rows = blocks.iter().map(|row| row.iter().map(|block| block.map(Self::view)).collect());
        Blocks::grid(&rows.collect::<Vec<Vec<_>>>())?.join()
    }

    /// Returns the matrix with the blocks along its diagonal: each begins one row below and one column beside the last entry of the one
    /// before. Blocks need not be square.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 1, 1.0)])?;
    /// let b = Csr::from_triplets(1, 1, [(0, 0, 2.0)])?;
    /// assert_eq!(Csr::block_diagonal(&[&a, &b])?.to_dense()?, [0.0, 1.0, 0.0, 0.0, 0.0, 2.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks; else the same as for [`vstack`](Self::vstack).
    pub fn block_diagonal(blocks: &[&Self]) -> Result<Self, MatrixError> {
        Blocks::diagonal(&views(blocks))?.join()
    }
}

fn views<'a, V: Storage, O: Offset>(blocks: &[&'a Csr<V, O>]) -> Vec<CsrView<'a, V, O>> {
    blocks.iter().map(|block| block.view()).collect()
}
