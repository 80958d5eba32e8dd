//! Conversions between distributed CSR matrices and trees.

use std::sync::Arc;

use evenpath::hisparse;
use evenpath::{Csr, Offset, Value};

use super::cut::{LeafPartition, path};
use super::matrix::DistributedHiSparse;
use super::side::Side;
use super::tree::build_tree;
use crate::error::{Error, Result};
use crate::memory::filled;
use crate::rows::{TripletArrays, exchange_entries};
use crate::{DistributedCsr, Rank, RowPartition};

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
        let first = self.row_partition().range(self.rank().index()).start;
        let block = self.download()?;
        let mut entries = TripletArrays::default();
        for row in 0..block.nrows() {
            block.entries(row).for_each(|(column, value)| entries.push(first + row as u64, column, value));
        }
        drop(block);
        let partitions = [self.row_partition(), self.col_partition()].map(|part| Arc::new(part.clone()));
        DistributedHiSparse::divide(self.rank(), partitions, entries, options)
    }
}

/// Returns the leaves of entries, with the number of entries; a leaf occurs at least once.
fn leaves<V: Value, const D: usize>(entries: &TripletArrays<V>) -> Vec<(u128, u64)> {
    let mut leaves: Vec<(u128, u64)> = Vec::new();
    for (row, column, _) in entries.iter() {
        let path = path::<D>(row, column);
        match leaves.last_mut() {
            Some(last) if last.0 == path => last.1 += 1,
            _ => leaves.push((path, 1)),
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
        let entries = self.entries()?;
        DistributedCsr::from_entries(&self.rank, &self.row_partition, &self.col_partition, entries.iter())
    }

    /// Divides entries, of which each rank has some, by their leaves. Entries of the same place are summed in
    /// the order of the ranks, and in each rank's order. The partitions are those of rows and of columns. A
    /// collective operation.
    pub(crate) fn divide(
        rank: &Rank,
        partitions: [Arc<RowPartition>; 2],
        entries: TripletArrays<V>,
        options: hisparse::Options,
    ) -> Result<Self> {
        let division = LeafPartition::even(rank, leaves::<V, D>(&entries))?;
        let mut parts: Vec<TripletArrays<V>> = filled(&TripletArrays::default(), rank.size())?;
        for (row, column, value) in entries.iter() {
            parts[division.owner(path::<D>(row, column))].push(row, column, value);
        }
        drop(entries);
        let parts = exchange_entries(rank, parts)?;
        Self::from_parts(rank, partitions, division, &parts, options)
    }

    /// Creates a matrix from the entries that this rank received from each.
    fn from_parts(
        rank: &Rank,
        [row_partition, col_partition]: [Arc<RowPartition>; 2],
        division: LeafPartition,
        parts: &[TripletArrays<V>],
        options: hisparse::Options,
    ) -> Result<Self> {
        let (nrows, ncols) = (row_partition.nrows(), col_partition.nrows());
        for (row, column, _) in parts.iter().flat_map(TripletArrays::iter) {
            if row >= nrows {
                return Err(Error::RowOutOfRange { row, first: 0, end: nrows });
            }
            if column >= ncols {
                return Err(Error::ColumnOutOfRange { row, column, cols: ncols });
            }
        }
        let all = |indices: fn(&TripletArrays<V>) -> &Vec<u64>| -> Vec<u64> {
            parts.iter().flat_map(|part| indices(part).iter().copied()).collect()
        };
        let rows = Side::<D>::new(rank, &row_partition, all(|part| &part.rows))?;
        let cols = Side::<D>::new(rank, &col_partition, all(|part| &part.columns))?;
        let tree = |is_local: bool| {
            let strips = if is_local { &cols.own } else { &cols.others };
            let entries = parts.iter().flat_map(TripletArrays::iter);
            let entries = entries.filter(|&(_, column, _)| cols.is_own(column) == is_local);
            let places = |(row, column, value)| (rows.place(row), strips.place(column), value);
            build_tree(rank, (rows.len(), strips.len()), entries.map(places), options)
        };
        let (local, non_local) = (tree(true)?, tree(false)?);
        let (rows, cols, division) = (Arc::new(rows), Arc::new(cols), Arc::new(division));
        let rank = rank.clone();
        Ok(Self { rank, row_partition, col_partition, division, rows, cols, local, non_local })
    }
}
