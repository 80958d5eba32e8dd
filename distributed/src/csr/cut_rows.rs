//! Even division of nonzeros, also inside rows.

use std::sync::Arc;

use evenpath::Value;

use super::build::{check_count, check_provided, default_columns};
use super::divide::{Sizes, divide};
use super::matrix::DistributedCsr;
use crate::error::Result;
use crate::memory::{collected, filled};
use crate::merge_path::MergePath;
use crate::rows::{RowBlock, TripletArrays, receive_rows};
use crate::{Rank, RowPartition};

impl<V: Value> DistributedCsr<V> {
    /// Returns the same matrix with equal numbers of rows plus nonzeros on all ranks, up to one: the merge path
    /// is cut anywhere, also inside rows (Merrill, Garland, SC 2016, section 3). Other constructors move each cut
    /// to the end of a row, so that a row longer than a rank's share makes the shares uneven.
    ///
    /// A row that is cut is of the first of its ranks, which owns its elements of vectors. In a product each of
    /// the others sends it one sum, and it adds them in the order of the ranks. The columns are divided like the
    /// rows if they were before; otherwise their partition stays. A collective operation.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error};
    ///
    /// let mut cluster = Cluster::local((0..4).map(|_| Device::cpu()))?;
    /// let counts = cluster.run(|rank| {
    ///     // A dense first row, and a diagonal.
    ///     let a = DistributedCsr::from_fn(rank, 1000, 1000, |row, entries| {
    ///         let columns = if row == 0 { 0..1000 } else { row..row + 1 };
    ///         entries.extend(columns.map(|column| (column, 1.0)));
    ///     })?;
    ///     let even = a.divide_evenly()?;
    ///     let x = DistributedVec::from_fn(rank, even.col_partition(), |_| 1.0)?;
    ///     let mut y = DistributedVec::zeros(rank, even.row_partition())?;
    ///     even.plan_spmv(Default::default())?.run(1.0, &x, 0.0, &mut y)?;
    ///     Ok::<_, Error>((a.local_nnz(), even.local_nnz(), y.dot(&x)?))
    /// })?;
    /// assert_eq!(counts.iter().map(|count| count.0).max(), Some(1000));
    /// // 2999 rows and nonzeros; a rank with only a part of a row has no row ends.
    /// assert!(counts.iter().all(|count| count.1 <= 750 && count.2 == 1999.0));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`from_rows`](Self::from_rows).
    pub fn divide_evenly(&self) -> Result<Self> {
        if self.has_cut_rows() {
            return Ok(self.clone());
        }
        let is_square = self.rows == self.cols;
        let block = self.download()?;
        divide_rows(&self.rank, &self.rows, block, self.ncols(), |rows| {
            Ok(if is_square { rows.clone() } else { RowPartition::clone(&self.cols) })
        })
    }

    /// Creates a matrix with `cols` columns from rows in the memory of hosts, those that each rank provides
    /// according to the partition, and divides it like [`divide_evenly`](Self::divide_evenly): no device ever has
    /// more than its share. The columns of a square matrix are divided like the rows, those of others evenly. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`from_rows`](Self::from_rows).
    pub fn from_rows_evenly(rank: &Rank, rows: &RowPartition, cols: u64, block: RowBlock<V>) -> Result<Self> {
        rows.check_ranks(rank)?;
        check_provided(rank, rows, &block)?;
        divide_rows(rank, rows, block, cols, |rows| default_columns(rank, rows, cols))
    }

    /// Returns the same matrix with whole rows, each on the rank that owns its elements of vectors; the
    /// partitions stay. A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`from_rows`](Self::from_rows).
    pub fn whole_rows(&self) -> Result<Self> {
        let Some(cut) = &self.cut_row else { return Ok(self.clone()) };
        let (first, first_col) =
            (self.rows.range(self.rank.index()).start, self.cols.range(self.rank.index()).start);
        let mut entries = TripletArrays::default();
        let own = cut.local.download()?;
        let own = own.iter().map(|(_, column, value)| (first_col + column as u64, value));
        let others = cut.non_local.download()?;
        let others = others.iter().map(|(_, column, value)| (self.halo.columns()[column], value));
        own.chain(others).for_each(|(column, value)| entries.push(first - 1, column, value));
        let block = self.download_own()?;
        for row in 0..block.nrows() {
            block.entries(row).for_each(|(column, value)| entries.push(first + row as u64, column, value));
        }
        Self::from_entries(&self.rank, &self.rows, &self.cols, entries.iter())
    }
}

/// Divides rows that each rank provides according to the partition. `columns` returns the partition of columns
/// for that of the rows. A collective operation.
fn divide_rows<V: Value>(
    rank: &Rank,
    rows: &RowPartition,
    mut block: RowBlock<V>,
    cols: u64,
    columns: impl FnOnce(&RowPartition) -> Result<RowPartition>,
) -> Result<DistributedCsr<V>> {
    // Entries of the same place would be on two ranks if the cut were between them.
    block.canonicalize();
    let lengths = collected((0..block.nrows()).map(|row| block.row(row).0.len() as u64))?;
    let path = MergePath::new(rank, &lengths)?;
    // A row that is cut is of the rank where it begins.
    let new_rows = RowPartition::by_path(rank, rows, &path, |at| path.row_after(at))?;
    let new_cols = columns(&new_rows)?;
    let (range, own) = (new_rows.range(rank.index()), new_cols.range(rank.index()));
    check_count("rows", range.end - range.start)?;
    check_count("columns", own.end - own.start)?;
    let parts = shares(rank, rows.range(rank.index()).start, &block, &path)?;
    drop(block);
    // A part of the row before this rank's first comes with them.
    let first = range.start.saturating_sub(1);
    let block = receive_rows(rank, parts, first..range.end)?;
    let row = |row: u64, entries: &mut Vec<(u64, V)>| entries.extend(block.entries((row - first) as usize));
    let made = divide(range.clone(), &own, cols, Sizes::DEFAULT, row)?;
    let is_cut = first < range.start && !block.row(0).0.is_empty();
    let cut = if is_cut { first..first + 1 } else { first..first };
    let cut = divide(cut, &own, cols, Sizes::DEFAULT, row)?;
    let has_cut_rows = rank.all_reduce(&[u8::from(is_cut)], u8::max)?[0] > 0;
    let (new_rows, new_cols) = (Arc::new(new_rows), Arc::new(new_cols));
    DistributedCsr::from_divided(rank, new_rows, new_cols, made, has_cut_rows.then_some(cut))
}

/// Entries of each rank's share of the path, of those in the rows that this rank has, from row `first`.
fn shares<V: Value>(
    rank: &Rank,
    first: u64,
    block: &RowBlock<V>,
    path: &MergePath,
) -> Result<Vec<TripletArrays<V>>> {
    let mut parts: Vec<TripletArrays<V>> = filled(&TripletArrays::default(), rank.size())?;
    let (mut owner, mut end) = (0, path.share(1));
    for (row, &start) in path.starts()[..block.nrows()].iter().enumerate() {
        for (at, (column, value)) in (start..).zip(block.entries(row)) {
            while end <= at {
                owner += 1;
                end = path.share(owner + 1);
            }
            parts[owner].push(first + row as u64, column, value);
        }
    }
    Ok(parts)
}
