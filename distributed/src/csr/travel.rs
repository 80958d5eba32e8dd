//! Communication of whole matrices: gathering, repartitioning and transposition.

use std::sync::Arc;

use evenpath::csr::MAX_DIMENSION;
use evenpath::{Csr, Value};

use super::matrix::DistributedCsr;
use crate::RowPartition;
use crate::error::{Error, Result};
use crate::rows::{RowBlock, assemble, redistribute};

impl<V: Value> DistributedCsr<V> {
    /// Returns the whole matrix on rank `root`, `None` on the others. A collective operation.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, the matrix exceeds the size limits of a [`Csr`], the host has too little
    /// memory, or a rank failed.
    pub fn gather(&self, root: usize) -> Result<Option<Csr<V, u64>>> {
        self.check_gathered_size()?;
        let all = RowPartition::all_on(root, self.nrows(), self.rank.size())?;
        let block = redistribute(&self.rank, &self.download()?, &self.rows, &all)?;
        if self.rank.index() != root {
            return Ok(None);
        }
        Ok(Some(block.to_csr(self.ncols() as usize)?))
    }

    /// Returns the whole matrix on all ranks. A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`gather`](Self::gather).
    pub fn all_gather(&self) -> Result<Csr<V, u64>> {
        self.check_gathered_size()?;
        let own = self.download()?;
        let ends: Vec<u64> = own.row_offsets()[1..].iter().map(|&end| end as u64).collect();
        let all_ends = self.rank.all_gather(&ends)?;
        let (columns, values) = (self.rank.all_gather(own.columns())?, self.rank.all_gather(own.values())?);
        let mut row_offsets = vec![0];
        for ends in all_ends {
            let before = row_offsets[row_offsets.len() - 1];
            row_offsets.extend(ends.into_iter().map(|end| before + end as usize));
        }
        RowBlock::new(row_offsets, columns.concat(), values.concat())?.to_csr(self.ncols() as usize)
    }

    /// Returns an error if one rank cannot have the whole matrix.
    fn check_gathered_size(&self) -> Result<()> {
        let (rows, cols, limit) = (self.nrows(), self.ncols(), MAX_DIMENSION as u64);
        for (what, found) in [("rows of a gathered matrix", rows), ("columns of a gathered matrix", cols)] {
            if found > limit {
                return Err(Error::TooLarge { what, found, limit });
            }
        }
        Ok(())
    }

    /// Returns the same matrix with other partitions. A collective operation.
    ///
    /// # Errors
    ///
    /// If a partition has a different number of ranks, rows or columns; also the errors of
    /// [`from_rows`](Self::from_rows).
    pub fn repartition(&self, rows: &RowPartition, cols: &RowPartition) -> Result<Self> {
        rows.check_ranks(&self.rank)?;
        cols.check_ranks(&self.rank)?;
        for (operand, old, new) in [("the rows", &*self.rows, rows), ("the columns", &*self.cols, cols)] {
            if old.nrows() != new.nrows() {
                old.check_same(operand, new)?;
            }
        }
        let block = redistribute(&self.rank, &self.download()?, &self.rows, rows)?;
        Self::from_block(&self.rank, Arc::new(rows.clone()), Arc::new(cols.clone()), block)
    }

    /// Returns the transpose. Its rows are divided like this matrix's columns, and its columns like the rows.
    /// A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`from_rows`](Self::from_rows).
    pub fn transpose(&self) -> Result<Self> {
        let block = self.download()?;
        let first = self.rows.range(self.rank.index()).start;
        let entries = (0..block.nrows()).flat_map(|row| {
            block.entries(row).map(move |(column, value)| (column, first + row as u64, value))
        });
        // Columns ascend, because the ranks and their rows do.
        let transposed = assemble(&self.rank, &self.cols, entries)?;
        Self::from_block(&self.rank, Arc::clone(&self.cols), Arc::clone(&self.rows), transposed)
    }
}
