//! Distributed sparse matrices and their properties.

use std::fmt;
use std::sync::Arc;

use evenpath::{DeviceCsr, Value};

use crate::error::{Error, Result};
use crate::halo::Halo;
use crate::rows::RowBlock;
use crate::{Rank, RowPartition};

/// A sparse matrix over ranks. Each rank has consecutive rows on its device.
///
/// Like PETSc and Ginkgo, a rank stores the columns for which it owns elements of vectors separately: its
/// *local* matrix is multiplied while elements for the *non-local* one are in transit. Both have 32-bit
/// columns; a column of the non-local matrix is an index into the [`Halo`], which lists the required columns
/// of other ranks. Rows without such columns are omitted from it.
///
/// Rows are whole, unless [`divide_evenly`](Self::divide_evenly) cut some between ranks.
///
/// Matrices are canonical: columns ascend in each row, and duplicate entries are summed in the order given.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error, generate};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let sums = cluster.run(|rank| {
///     // −u″ on a line of 100 points; each rank computes its own rows.
///     let a = DistributedCsr::from_fn(rank, 100, 100, |row, entries| {
///         let neighbors = [row.checked_sub(1), Some(row + 1).filter(|&next| next < 100)];
///         entries.extend(neighbors.into_iter().flatten().map(|column| (column, -1.0)));
///         entries.push((row, 2.0));
///     })?;
///     let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0)?;
///     let mut y = DistributedVec::zeros(rank, a.row_partition())?;
///     a.plan_spmv(Default::default())?.run(1.0, &x, 0.0, &mut y)?;
///     y.dot(&x)
/// })?;
/// assert_eq!(sums, [2.0, 2.0]); // 1 at each end
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct DistributedCsr<V: Value> {
    pub(super) rank: Rank,
    pub(super) rows: Arc<RowPartition>,
    pub(super) cols: Arc<RowPartition>,
    pub(super) local: DeviceCsr<V>,
    pub(super) non_local: NonLocal<V>,
    pub(super) halo: Arc<Halo>,
    /// On all ranks if a row is cut between ranks.
    pub(super) cut_row: Option<CutRow<V>>,
}

/// The part of a row that this rank has although its element of vectors is on an earlier rank; without rows if
/// there is none on this rank.
#[derive(Clone)]
pub(crate) struct CutRow<V: Value> {
    /// Entries in the rank's own columns.
    pub(crate) local: DeviceCsr<V>,
    /// Entries in columns of other ranks, one column for each column of the halo.
    pub(crate) non_local: DeviceCsr<V>,
    /// Halo of this row, in the partition of rows.
    pub(crate) halo: Arc<Halo>,
}

impl<V: Value> CutRow<V> {
    pub(crate) fn nnz(&self) -> usize {
        self.local.nnz() + self.non_local.nnz()
    }
}

/// Entries in columns of other ranks.
#[derive(Clone)]
pub(crate) struct NonLocal<V: Value> {
    /// The rank's rows that have such entries, ascending, counted from its first.
    pub(crate) rows: Arc<Vec<u32>>,
    /// Matrix with one row for each of them, and one column for each column of the halo.
    pub(crate) matrix: DeviceCsr<V>,
}

impl<V: Value> DistributedCsr<V> {
    /// The rank that owns these rows.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Number of rows, on all ranks.
    pub fn nrows(&self) -> u64 {
        self.rows.nrows()
    }

    /// Number of columns.
    pub fn ncols(&self) -> u64 {
        self.cols.nrows()
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (u64, u64) {
        (self.nrows(), self.ncols())
    }

    /// Number of entries on this rank.
    pub fn local_nnz(&self) -> usize {
        let cut_row = self.cut_row.as_ref().map_or(0, CutRow::nnz);
        self.local.nnz() + self.non_local.matrix.nnz() + cut_row
    }

    /// Returns whether rows are cut between ranks, as [`divide_evenly`](Self::divide_evenly) may do. Products
    /// with vectors and dense matrices support such matrices; other operations return [`Error::CutRows`] before
    /// they send anything.
    pub fn has_cut_rows(&self) -> bool {
        self.cut_row.is_some()
    }

    /// Number of entries on all ranks. A collective operation.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn nnz(&self) -> Result<u64> {
        Ok(self.rank.all_reduce(&[self.local_nnz() as u64], |sum, count| sum + count)?[0])
    }

    /// Partition of the rows, and thus of the elements of y in y = Ax. A row that is cut between ranks is of the
    /// first of them.
    pub fn row_partition(&self) -> &RowPartition {
        &self.rows
    }

    /// Partition of the columns, and thus of the elements of x in y = Ax.
    pub fn col_partition(&self) -> &RowPartition {
        &self.cols
    }

    /// Entries in this rank's own columns, counted from its first; without those of a row that begins on an
    /// earlier rank.
    pub fn local(&self) -> &DeviceCsr<V> {
        &self.local
    }

    /// Entries in columns of other ranks: one row for each of this rank's rows that has some, one column for
    /// each column of the halo.
    pub fn non_local(&self) -> &DeviceCsr<V> {
        &self.non_local.matrix
    }

    /// Returns the halo: the elements that this rank needs from others for a product, and those that others
    /// need from it.
    pub fn halo(&self) -> &Halo {
        &self.halo
    }

    pub(crate) fn cut_row(&self) -> Option<&CutRow<V>> {
        self.cut_row.as_ref()
    }

    /// Returns an error if rows are cut between ranks, the same on all ranks.
    pub(crate) fn check_whole_rows(&self, operand: &'static str) -> Result<()> {
        if self.has_cut_rows() { Err(Error::CutRows { operand }) } else { Ok(()) }
    }

    pub(crate) fn non_local_parts(&self) -> &NonLocal<V> {
        &self.non_local
    }

    pub(crate) fn shared_halo(&self) -> &Arc<Halo> {
        &self.halo
    }

    /// Copies this rank's rows to the host, with global column numbers.
    ///
    /// # Errors
    ///
    /// If rows are cut between ranks, the device was lost, or the host has too little memory.
    pub fn download(&self) -> Result<RowBlock<V>> {
        self.check_whole_rows("the matrix")?;
        self.download_own()
    }

    /// Copies the parts of this rank's rows that are on this rank.
    pub(super) fn download_own(&self) -> Result<RowBlock<V>> {
        let (local, non_local) = (self.local.download()?, self.non_local.matrix.download()?);
        let first = self.cols.range(self.rank.index()).start;
        let mut block = RowBlock::empty();
        let mut boundary = self.non_local.rows.iter().copied().enumerate().peekable();
        for row in 0..local.nrows() {
            let own = local.row(row).into_iter().flat_map(|row| row.iter());
            let own = own.map(|(column, value)| (first + u64::from(column), value));
            let others = boundary.next_if(|&(_, number)| number as usize == row);
            let others = others.and_then(|(at, _)| non_local.row(at));
            let others = || others.into_iter().flat_map(|row| row.iter());
            let others = || others().map(|(column, value)| (self.halo.columns()[column as usize], value));
            let before = others().take_while(|&(column, _)| column < first);
            let after = others().skip_while(|&(column, _)| column < first);
            block.push(before.chain(own).chain(after));
        }
        Ok(block)
    }
}

impl<V: Value> fmt::Debug for DistributedCsr<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.nrows(), self.ncols(), self.local_nnz());
        write!(f, "DistributedCsr<{}>({rows} x {cols}, {nnz} nonzeros on {:?})", V::NAME, self.rank)
    }
}
