//! Conversions between distributed CSR matrices and trees.

use std::sync::Arc;

use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Offset, Value};

use super::cut::{LeafPartition, path};
use super::matrix::DistributedHiSparse;
use super::side::{Side, Strips};
use crate::error::{Error, Result};
use crate::memory::filled;
use crate::rows::{RowBlock, TripletArrays, exchange_entries};
use crate::{DistributedCsr, Rank};

impl<V: Value> DistributedCsr<V> {
    /// Converts to a tree of D × D nodes, whose subtrees are divided among the ranks by their entries; the
    /// partitions of vectors stay. Entries are sent through host memory; each rank's device builds its trees.
    /// A collective operation.
    ///
    /// # Errors
    ///
    /// If a rank's share has 2³² or more entries, or rows or columns including those of their strips; also
    /// the errors of [`to_hisparse`](evenpath::DeviceCsr::to_hisparse) on one device. If a rank failed.
    pub fn to_hisparse<const D: usize>(
        &self,
        options: hisparse::Options,
    ) -> Result<DistributedHiSparse<V, D>> {
        let rank = self.rank();
        let first = self.row_partition().range(rank.index()).start;
        let block = self.download()?;
        let leaves = LeafPartition::even(rank, leaves::<V, D>(first, &block))?;
        let mut parts: Vec<TripletArrays<V>> = filled(&TripletArrays::default(), rank.size())?;
        for row in 0..block.nrows() {
            let number = first + row as u64;
            for (column, value) in block.entries(row) {
                parts[leaves.owner(path::<D>(number, column))].push(number, column, value);
            }
        }
        drop(block);
        let parts = exchange_entries(rank, parts)?;
        DistributedHiSparse::from_entries(self, &parts, options)
    }
}

/// Returns the leaves in which rows have entries, with the number of entries; a leaf occurs at least once for
/// every row.
fn leaves<V: Value, const D: usize>(first: u64, block: &RowBlock<V>) -> Vec<(u128, u64)> {
    let mut leaves: Vec<(u128, u64)> = Vec::new();
    for row in 0..block.nrows() {
        for &column in block.row(row).0 {
            let path = path::<D>(first + row as u64, column);
            match leaves.last_mut() {
                Some(last) if last.0 == path => last.1 += 1,
                _ => leaves.push((path, 1)),
            }
        }
    }
    leaves
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Distributes a matrix that rank `root` has; the others pass `None`. Vectors are divided as by
    /// [`DistributedCsr::scatter`]. A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`DistributedCsr::scatter`] and [`DistributedCsr::to_hisparse`].
    pub fn scatter<O: Offset>(
        rank: &Rank,
        root: usize,
        matrix: Option<&Csr<V, O>>,
        options: hisparse::Options,
    ) -> Result<Self> {
        DistributedCsr::scatter(rank, root, matrix)?.to_hisparse(options)
    }

    /// Converts to CSR, with rows divided like vectors. Entries are sent through host memory. A collective
    /// operation.
    ///
    /// # Errors
    ///
    /// The same as for [`DistributedCsr::from_entries`].
    pub fn to_csr(&self) -> Result<DistributedCsr<V>> {
        let (local, non_local) = (self.local.download()?, self.non_local.download()?);
        let row = |row: usize| match row.checked_sub(self.rows.own.len()) {
            None => self.rows.own.index(row),
            Some(row) => self.rows.others.index(row),
        };
        let own = local.iter().map(|(at, column, value)| (row(at), self.cols.own.index(column), value));
        let others =
            non_local.iter().map(|(at, column, value)| (row(at), self.cols.others.index(column), value));
        DistributedCsr::from_entries(&self.rank, &self.row_partition, &self.col_partition, own.chain(others))
    }

    /// Creates a matrix with the partitions of another from this rank's entries.
    fn from_entries(
        like: &DistributedCsr<V>,
        parts: &[TripletArrays<V>],
        options: hisparse::Options,
    ) -> Result<Self> {
        let rank = like.rank();
        for (row, column, _) in parts.iter().flat_map(TripletArrays::iter) {
            if row >= like.nrows() {
                return Err(Error::RowOutOfRange { row, first: 0, end: like.nrows() });
            }
            if column >= like.ncols() {
                return Err(Error::ColumnOutOfRange { row, column, cols: like.ncols() });
            }
        }
        let all = |indices: fn(&TripletArrays<V>) -> &Vec<u64>| -> Vec<u64> {
            parts.iter().flat_map(|part| indices(part).iter().copied()).collect()
        };
        let rows = Side::<D>::new(rank, like.row_partition(), &all(|part| &part.rows))?;
        let cols = Side::<D>::new(rank, like.col_partition(), &all(|part| &part.columns))?;
        let entries = || parts.iter().flat_map(TripletArrays::iter);
        let row_place = |row: u64| {
            if rows.is_own(row) {
                rows.own.place(row)
            } else {
                rows.own.len() as u32 + rows.others.place(row)
            }
        };
        let tree = |strips: &Strips<D>, is_local: bool| {
            let entries = entries().filter(|&(_, column, _)| cols.is_own(column) == is_local);
            let entries = entries.map(|(row, column, value)| (row_place(row), strips.place(column), value));
            upload(rank, (rows.own.len() + rows.others.len(), strips.len()), entries, options)
        };
        let local = tree(&cols.own, true)?;
        let non_local = tree(&cols.others, false)?;
        Ok(Self {
            rank: rank.clone(),
            row_partition: Arc::new(like.row_partition().clone()),
            col_partition: Arc::new(like.col_partition().clone()),
            rows: Arc::new(rows),
            cols: Arc::new(cols),
            local,
            non_local,
        })
    }
}

/// Builds the tree of these entries on the rank's device.
fn upload<V: Value, const D: usize>(
    rank: &Rank,
    (rows, cols): (usize, usize),
    entries: impl Iterator<Item = (u32, u32, V)>,
    options: hisparse::Options,
) -> Result<DeviceHiSparse<V, D>> {
    let entries: Vec<(usize, usize, V)> =
        entries.map(|(row, column, value)| (row as usize, column as usize, value)).collect();
    let (found, limit) = (entries.len() as u64, u64::from(u32::MAX));
    if found > limit {
        return Err(Error::TooLarge { what: "nonzeros", found, limit });
    }
    let matrix: Csr<V> = Csr::from_triplets(rows, cols, entries)?;
    Ok(rank.device().upload(&matrix)?.to_hisparse(options)?)
}
