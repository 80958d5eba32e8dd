//! Distributed trees and their properties.

use std::fmt;
use std::sync::Arc;

use evenpath::Value;
use evenpath::hisparse::DeviceHiSparse;

use super::cut::LeafPartition;
use super::side::Side;
use crate::error::Result;
use crate::halo::Halo;
use crate::{Rank, RowPartition};

/// A [`HiSparse`](evenpath::HiSparse) matrix whose tree is divided among ranks by its subtrees.
///
/// The leaves of the whole matrix's tree, in its order, are divided into one piece per rank with equal
/// numbers of entries, up to those of a leaf. A piece consists of whole subtrees, with parts of one at each
/// end. Several ranks may have leaves in the same rows, so even a single dense row is divided.
///
/// Vectors are divided by rows and by columns, as for a [`DistributedCsr`](crate::DistributedCsr),
/// independently of a rank's leaves. Products send a rank the elements of x for its leaves, and send the sums
/// for a row's element of y to the rank that owns it.
///
/// On its device a rank has two trees: the leaves with columns for which it owns elements of vectors, and
/// those with columns of others. A leaf with both is in both. Rows and columns without entries are omitted by
/// strips of D, so leaves keep their positions in nodes from the whole matrix's tree.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, DistributedHiSparse, DistributedVec, Error, generate};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let grid = generate::Stencil::five_point(40);
/// let sums = cluster.run(|rank| {
///     let a = evenpath_distributed::DistributedCsr::from_fn(rank, 1600, 1600, |row, entries| grid.row(row, entries))?;
///     let a: DistributedHiSparse<f64, 64> = a.to_hisparse(Default::default())?;
///     let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0)?;
///     let mut y = DistributedVec::zeros(rank, a.row_partition())?;
///     a.plan_spmv(Default::default())?.run(1.0, &x, 0.0, &mut y)?;
///     y.dot(&x)
/// })?;
/// assert_eq!(sums, [160.0, 160.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct DistributedHiSparse<V: Value, const D: usize = 128> {
    pub(super) rank: Rank,
    pub(super) row_partition: Arc<RowPartition>,
    pub(super) col_partition: Arc<RowPartition>,
    /// Division of the whole matrix's leaves, the same on all ranks.
    pub(super) division: Arc<LeafPartition>,
    /// Rows of both trees: those of this rank, then those of others.
    pub(super) rows: Arc<Side<D>>,
    /// Columns: the local tree has those of this rank, the other those of others.
    pub(super) cols: Arc<Side<D>>,
    pub(super) local: DeviceHiSparse<V, D>,
    pub(super) non_local: DeviceHiSparse<V, D>,
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// The rank that owns these subtrees.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Number of rows of the whole matrix.
    pub fn nrows(&self) -> u64 {
        self.row_partition.nrows()
    }

    /// Number of columns of the whole matrix.
    pub fn ncols(&self) -> u64 {
        self.col_partition.nrows()
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (u64, u64) {
        (self.nrows(), self.ncols())
    }

    /// Number of entries on this rank.
    pub fn local_nnz(&self) -> usize {
        self.local.nnz() + self.non_local.nnz()
    }

    /// Number of entries on all ranks. A collective operation.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn nnz(&self) -> Result<u64> {
        Ok(self.rank.all_reduce(&[self.local_nnz() as u64], |sum, count| sum + count)?[0])
    }

    /// Partition of the elements of y in y = Ax.
    pub fn row_partition(&self) -> &RowPartition {
        &self.row_partition
    }

    /// Partition of the elements of x in y = Ax.
    pub fn col_partition(&self) -> &RowPartition {
        &self.col_partition
    }

    /// Tree of the columns for which this rank owns elements of vectors.
    pub fn local(&self) -> &DeviceHiSparse<V, D> {
        &self.local
    }

    /// Tree of the columns of other ranks.
    pub fn non_local(&self) -> &DeviceHiSparse<V, D> {
        &self.non_local
    }

    /// Rows in which this rank has entries but whose elements of vectors others own.
    pub fn row_halo(&self) -> &Halo {
        &self.rows.halo
    }

    /// Columns in which this rank has entries but whose elements of vectors others own.
    pub fn col_halo(&self) -> &Halo {
        &self.cols.halo
    }

    /// Partitions of the elements of vectors: by rows and by columns.
    pub(crate) fn partitions(&self) -> [Arc<RowPartition>; 2] {
        [Arc::clone(&self.row_partition), Arc::clone(&self.col_partition)]
    }

    pub(crate) fn row_side(&self) -> &Side<D> {
        &self.rows
    }

    pub(crate) fn col_side(&self) -> &Side<D> {
        &self.cols
    }
}

impl<V: Value, const D: usize> fmt::Debug for DistributedHiSparse<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.nrows(), self.ncols(), self.local_nnz());
        write!(f, "DistributedHiSparse<{}, {D}>({rows} x {cols}, {nnz} nonzeros on {:?})", V::NAME, self.rank)
    }
}
