//! Communication of whole matrices: gathering, repartitioning and transposition.

use std::sync::Arc;

use evenpath::csr::MAX_DIMENSION;
use evenpath::{Csr, Value};

use super::matrix::DistributedCsr;
use crate::RowPartition;
use crate::error::{Error, Result};
use crate::rows::{assemble, redistribute};

impl<V: Value> DistributedCsr<V> {
    /// Returns the whole matrix on rank `root`, `None` on the others. A collective operation.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, the matrix exceeds the size limits of a [`Csr`], the host has too little
    /// memory, or a rank failed.
    pub fn gather(&self, root: usize) -> Result<Option<Csr<V, u64>>> {
        let (rows, cols, limit) = (self.nrows(), self.ncols(), MAX_DIMENSION as u64);
        for (what, found) in [("rows of a gathered matrix", rows), ("columns of a gathered matrix", cols)] {
            if found > limit {
                return Err(Error::TooLarge { what, found, limit });
            }
        }
        let all = RowPartition::all_on(root, rows, self.rank.size())?;
        let block = redistribute(&self.rank, &self.download()?, &self.rows, &all)?;
        if self.rank.index() != root {
            return Ok(None);
        }
        Ok(Some(block.to_csr(cols as usize)?))
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
