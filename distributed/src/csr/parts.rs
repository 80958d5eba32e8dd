//! Matrices from the local matrices of ranks, copies and patterns.

use std::sync::Arc;

use evenpath::error::OpError;
use evenpath::spadd::Elementwise;
use evenpath::{Csr, DeviceCsr, Value};

use super::matrix::{DistributedCsr, NonLocal};
use crate::error::Result;
use crate::halo::Halo;
use crate::{Rank, RowPartition};

impl<V: Value> DistributedCsr<V> {
    /// Creates a block diagonal matrix with a block for each rank, on its device. Rows and columns are divided like the blocks'. A
    /// collective operation.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    /// use evenpath_distributed::{Cluster, DistributedCsr, Error};
    ///
    /// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
    /// let shapes = cluster.run(|rank| {
    ///     // A column of ones on each rank: of two rows on the first, of three on the second.
    ///     let rows = 2 + rank.index();
    ///     let ones: Csr<f64> = Csr::from_triplets(rows, 1, (0..rows).map(|row| (row, 0, 1.0)))?;
    ///     let a = DistributedCsr::block_diagonal(rank, rank.device().upload(&ones)?)?;
    ///     Ok::<_, Error>((a.shape(), a.row_partition().boundaries().to_vec()))
    /// })?;
    /// assert_eq!(shapes[0], ((5, 2), vec![0, 2, 5]));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the block is on another device, or its rows are not sorted or have duplicates; if there is too little memory, or a rank failed.
    pub fn block_diagonal(rank: &Rank, block: DeviceCsr<V>) -> Result<Self> {
        check_block(rank, &block)?;
        let sizes = rank.all_gather(&[block.nrows() as u64, block.ncols() as u64])?;
        let partition = |of: usize| {
            let mut boundaries = vec![0];
            for size in &sizes {
                boundaries.push(boundaries[boundaries.len() - 1] + size[of]);
            }
            RowPartition::from_boundaries(boundaries)
        };
        let (rows, cols) = (Arc::new(partition(0)?), Arc::new(partition(1)?));
        let none: Csr<V> = Csr::try_new(0, 0, vec![0], Vec::new(), Vec::new())?;
        let non_local = NonLocal { rows: Arc::new(Vec::new()), matrix: rank.device().upload(&none)? };
        let halo = Arc::new(Halo::new(rank, &cols, Vec::new())?);
        Ok(Self { rank: rank.clone(), rows, cols, local: block, non_local, halo, cut_row: None })
    }

    /// Returns the matrix with another [local](Self::local) matrix of the same shape. The entries in columns of other ranks share the
    /// memory of this matrix's. Sends nothing.
    ///
    /// # Errors
    ///
    /// If the local matrix has another shape or is on another device, its rows are not sorted or have duplicates, or rows are cut between
    /// ranks. If the device was lost.
    pub fn with_local(&self, local: DeviceCsr<V>) -> Result<Self> {
        self.check_whole_rows("the matrix")?;
        check_block(&self.rank, &local)?;
        if local.shape() != self.local.shape() {
            let ((rows, cols), (needed_rows, needed_cols)) = (local.shape(), self.local.shape());
            let operand = "the local matrix";
            return Err(OpError::Shape { operand, rows, cols, needed_rows, needed_cols }.into());
        }
        Ok(Self { local, ..self.clone() })
    }

    /// Copies the matrix on the devices: the copy has values of its own. It shares the pattern, which never changes; clones share both.
    ///
    /// # Errors
    ///
    /// If rows are cut between ranks, there is too little memory, or the device was lost.
    pub fn copy(&self) -> Result<Self> {
        self.check_whole_rows("the matrix")?;
        let NonLocal { rows, matrix } = &self.non_local;
        let non_local = NonLocal { rows: Arc::clone(rows), matrix: matrix.copy()? };
        Ok(Self { local: self.local.copy()?, non_local, ..self.clone() })
    }

    /// Returns whether another matrix has the same partitions and the same entries, whatever their values: the same on all ranks. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If the other matrix is of another run, or rows of one are cut between ranks; if there is too little memory, or a rank failed.
    pub fn has_pattern_of(&self, other: &Self) -> Result<bool> {
        self.rank.check_run("the other matrix", &other.rank)?;
        self.check_whole_rows("the matrix")?;
        other.check_whole_rows("the other matrix")?;
        if self.rows != other.rows || self.cols != other.cols {
            return Ok(false);
        }
        let (own, others) = (&self.non_local, &other.non_local);
        let is_same = own.rows == others.rows
            && self.halo.columns() == other.halo.columns()
            && is_same_pattern(&self.local, &other.local)?
            && is_same_pattern(&own.matrix, &others.matrix)?;
        Ok(self.rank.all_reduce(&[u8::from(is_same)], u8::min)?[0] > 0)
    }
}

/// Returns whether two canonical matrices of the same shape have the same entries.
fn is_same_pattern<V: Value>(a: &DeviceCsr<V>, b: &DeviceCsr<V>) -> Result<bool> {
    Ok(a.nnz() == b.nnz() && a.count_elementwise(Elementwise::MaskOut, b)? == 0)
}

/// Checks that a block is canonical and on the rank's device.
fn check_block<V: Value>(rank: &Rank, block: &DeviceCsr<V>) -> Result<()> {
    rank.check_device(block.device())?;
    // Refuses operands that are not canonical.
    block.count_elementwise(Elementwise::MaskOut, block)?;
    Ok(())
}
