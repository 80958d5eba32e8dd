//! Distributed dense matrices: several vectors side by side.

use std::fmt;
use std::sync::Arc;

use evenpath::{DeviceDense, Layout, Value};

use crate::error::Result;
use crate::memory::reserved;
use crate::{Rank, RowPartition};

/// A dense matrix over ranks. Each rank has some rows on its device, row-major.
pub struct DistributedDense<V: Value> {
    rank: Rank,
    partition: Arc<RowPartition>,
    local: DeviceDense<V>,
}

impl<V: Value> DistributedDense<V> {
    /// Creates a matrix of zeros with `cols` columns.
    ///
    /// # Errors
    ///
    /// If the partition has a different number of ranks, or there is too little memory.
    pub fn zeros(rank: &Rank, partition: &RowPartition, cols: usize) -> Result<Self> {
        partition.check_ranks(rank)?;
        let local =
            rank.device().zeros_dense(partition.len(rank.index()) as usize, cols, Layout::RowMajor)?;
        Ok(Self { rank: rank.clone(), partition: Arc::new(partition.clone()), local })
    }

    /// Creates a matrix with `value(i, j)` in row `i` and column `j`; each rank computes its own elements.
    ///
    /// # Errors
    ///
    /// The same as for [`zeros`](Self::zeros).
    pub fn from_fn(
        rank: &Rank,
        partition: &RowPartition,
        cols: usize,
        value: impl Fn(u64, usize) -> V,
    ) -> Result<Self> {
        let mut matrix = Self::zeros(rank, partition, cols)?;
        let rows = partition.range(rank.index());
        let mut values = reserved(matrix.local.nrows().saturating_mul(cols))?;
        values.extend(
            rows.flat_map(|row| (0..cols).map(move |col| (row, col))).map(|(row, col)| value(row, col)),
        );
        matrix.local.copy_from_slice(&values)?;
        Ok(matrix)
    }

    /// The rank that owns these rows.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Partition of the rows.
    pub fn partition(&self) -> &RowPartition {
        &self.partition
    }

    /// Number of rows, on all ranks.
    pub fn nrows(&self) -> u64 {
        self.partition.nrows()
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.local.ncols()
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (u64, usize) {
        (self.nrows(), self.ncols())
    }

    /// This rank's rows.
    pub fn local(&self) -> &DeviceDense<V> {
        &self.local
    }

    /// This rank's rows, mutably.
    pub fn local_mut(&mut self) -> &mut DeviceDense<V> {
        &mut self.local
    }

    /// Returns all elements row by row on rank `root`, `None` on the others. A collective operation.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, the host has too little memory, or a rank failed.
    pub fn gather(&self, root: usize) -> Result<Option<Vec<V>>> {
        Ok(self.rank.gather(root, &self.local.download()?)?.map(|parts| parts.concat()))
    }

    /// Returns an error unless the matrix is of this rank, has the given partition, and has `cols` columns.
    pub(crate) fn check_operand(
        &self,
        operand: &'static str,
        rank: &Rank,
        partition: &RowPartition,
        cols: usize,
    ) -> Result<()> {
        rank.check_run(operand, &self.rank)?;
        partition.check_same(operand, &self.partition)?;
        if self.ncols() == cols {
            return Ok(());
        }
        let (rows, needed_rows) = (self.local.nrows(), self.local.nrows());
        let shape = evenpath::error::OpError::Shape {
            operand,
            rows,
            cols: self.ncols(),
            needed_rows,
            needed_cols: cols,
        };
        Err(shape.into())
    }
}

impl<V: Value> fmt::Debug for DistributedDense<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedDense<{}>({} x {}, {:?})", V::NAME, self.nrows(), self.ncols(), self.rank)
    }
}
