//! A tree over ranks, and what it says of itself.

use std::fmt;
use std::sync::Arc;

use evenpath::Value;
use evenpath::hisparse::DeviceHiSparse;

use super::side::Side;
use crate::error::Result;
use crate::halo::Halo;
use crate::{Rank, RowPartition};

/// A [`HiSparse`](evenpath::HiSparse) matrix whose tree is divided among ranks by its subtrees.
///
/// The leaves of the tree of the whole matrix, in the order of the tree, are cut into one piece for each rank, so that ranks have equal
/// numbers of entries, give or take those of a leaf. A piece is made of whole subtrees, with parts of one at each end. Several ranks may
/// have leaves in the same rows, so even a single dense row is divided.
///
/// Vectors are divided by rows and by columns, as for a [`DistributedCsr`](crate::DistributedCsr), whatever leaves a rank has. Products
/// bring a rank the elements of x for its leaves, and the ranks that have a row's elements of y the sums of others.
///
/// On its device a rank has two trees: the leaves with columns that it has elements of vectors for, and those with columns of others. A
/// leaf with both is in both. Rows and columns without entries are left out, by strips of D, so leaves have the places in their nodes
/// that they have in the tree of the whole matrix.
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
    /// Rows of both trees: those of this rank, then those of others.
    pub(super) rows: Arc<Side<D>>,
    /// Columns: the local tree has those of this rank, the other those of others.
    pub(super) cols: Arc<Side<D>>,
    pub(super) local: DeviceHiSparse<V, D>,
    pub(super) non_local: DeviceHiSparse<V, D>,
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// The rank whose subtrees these are.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Rows of the whole matrix.
    pub fn rows(&self) -> u64 {
        self.row_partition.rows()
    }

    /// Columns of the whole matrix.
    pub fn cols(&self) -> u64 {
        self.col_partition.rows()
    }

    /// Entries on this rank.
    pub fn local_nnz(&self) -> usize {
        self.local.nnz() + self.non_local.nnz()
    }

    /// Entries on all ranks. A collective operation.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn nnz(&self) -> Result<u64> {
        Ok(self.rank.all_reduce(&[self.local_nnz() as u64], |sum, count| sum + count)?[0])
    }

    /// Which elements of y in y = Ax are on which rank.
    pub fn row_partition(&self) -> &RowPartition {
        &self.row_partition
    }

    /// Which elements of x in y = Ax are on which rank.
    pub fn col_partition(&self) -> &RowPartition {
        &self.col_partition
    }

    /// The tree of the columns that this rank has elements of vectors for.
    pub fn local(&self) -> &DeviceHiSparse<V, D> {
        &self.local
    }

    /// The tree of the columns of other ranks.
    pub fn non_local(&self) -> &DeviceHiSparse<V, D> {
        &self.non_local
    }

    /// The rows in which this rank has entries, and whose elements of vectors are on others.
    pub fn row_halo(&self) -> &Halo {
        &self.rows.halo
    }

    /// The columns in which this rank has entries, and whose elements of vectors are on others.
    pub fn col_halo(&self) -> &Halo {
        &self.cols.halo
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
        let (rows, cols, nnz) = (self.rows(), self.cols(), self.local_nnz());
        write!(f, "DistributedHiSparse<{}, {D}>({rows} x {cols}, {nnz} nonzeros on {:?})", V::NAME, self.rank)
    }
}
