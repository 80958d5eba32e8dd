//! Dense matrices over ranks: several vectors side by side.

use std::fmt;
use std::sync::Arc;

use evenpath::{DeviceDense, Layout, Value};

use crate::error::Result;
use crate::memory::reserved;
use crate::{Rank, RowPartition};

/// A dense matrix of which each rank has some rows on its device, row-major.
pub struct DistributedDense<V: Value> {
    rank: Rank,
    partition: Arc<RowPartition>,
    local: DeviceDense<V>,
}

impl<V: Value> DistributedDense<V> {
    /// A matrix of zeros with `cols` columns.
    ///
    /// # Errors
    ///
    /// If the partition is for another number of ranks, or there is no memory.
    pub fn zeros(rank: &Rank, partition: &RowPartition, cols: usize) -> Result<Self> {
        partition.check_ranks(rank)?;
        let local =
            rank.device().zeros_dense(partition.len(rank.index()) as usize, cols, Layout::RowMajor)?;
        Ok(Self { rank: rank.clone(), partition: Arc::new(partition.clone()), local })
    }

    /// A matrix whose element in row `i` and column `j` is `value(i, j)`; each rank computes its own.
    ///
    /// # Errors
    ///
    /// As for [`zeros`](Self::zeros).
    pub fn from_fn(
        rank: &Rank,
        partition: &RowPartition,
        cols: usize,
        value: impl Fn(u64, usize) -> V,
    ) -> Result<Self> {
        let mut matrix = Self::zeros(rank, partition, cols)?;
        let rows = partition.range(rank.index());
        let mut values = reserved(matrix.local.rows().saturating_mul(cols))?;
        values.extend(
            rows.flat_map(|row| (0..cols).map(move |col| (row, col))).map(|(row, col)| value(row, col)),
        );
        matrix.local.copy_from_slice(&values)?;
        Ok(matrix)
    }

    /// The rank whose rows these are.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Which rows are on which rank.
    pub fn partition(&self) -> &RowPartition {
        &self.partition
    }

    /// Rows of all ranks.
    pub fn rows(&self) -> u64 {
        self.partition.rows()
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.local.cols()
    }

    /// This rank's rows.
    pub fn local(&self) -> &DeviceDense<V> {
        &self.local
    }

    /// This rank's rows, to be changed.
    pub fn local_mut(&mut self) -> &mut DeviceDense<V> {
        &mut self.local
    }

    /// All elements row by row, on rank `root`; nothing elsewhere. A collective operation.
    ///
    /// # Errors
    ///
    /// If there is no such rank, the host has no memory, or a rank failed.
    pub fn gather(&self, root: usize) -> Result<Option<Vec<V>>> {
        Ok(self.rank.gather(root, &self.local.download()?)?.map(|parts| parts.concat()))
    }

    /// An error unless it is of this rank, divided so, and has `cols` columns.
    pub(crate) fn check_operand(
        &self,
        operand: &'static str,
        rank: &Rank,
        partition: &RowPartition,
        cols: usize,
    ) -> Result<()> {
        rank.check_run(operand, &self.rank)?;
        partition.check_same(operand, &self.partition)?;
        if self.cols() == cols {
            return Ok(());
        }
        let (rows, needed_rows) = (self.local.rows(), self.local.rows());
        let shape = evenpath::error::OpError::Shape {
            operand,
            rows,
            cols: self.cols(),
            needed_rows,
            needed_cols: cols,
        };
        Err(shape.into())
    }
}

impl<V: Value> fmt::Debug for DistributedDense<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedDense<{}>({} x {}, {:?})", V::NAME, self.rows(), self.cols(), self.rank)
    }
}
