//! A rank's trees on its device: built from entries, read back, and numbered for more rows and columns.

use std::sync::Arc;

use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Value};

use super::matrix::DistributedHiSparse;
use super::side::Side;
use crate::Rank;
use crate::error::{Error, Result};
use crate::rows::TripletArrays;

/// Builds a tree of entries on a rank's device. Entries of the same place are summed in the given order.
pub(crate) fn build_tree<V: Value, const D: usize>(
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

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Copies this rank's entries to the host: those of the local tree, then those of the other.
    pub(crate) fn entries(&self) -> Result<TripletArrays<V>> {
        let mut entries = TripletArrays::default();
        for (tree, columns) in [(&self.local, &self.cols.own), (&self.non_local, &self.cols.others)] {
            for (row, column, value) in &tree.download()? {
                entries.push(self.rows.index(row), columns.index(column), value);
            }
        }
        Ok(entries)
    }

    /// Returns whether the leaves of another matrix are divided at the same places, which all ranks know.
    pub(crate) fn is_divided_like(&self, other: &Self) -> bool {
        self.division == other.division
    }

    /// Numbers the rows and the columns in which either of two matrices has entries. A collective operation.
    pub(crate) fn common_sides(&self, other: &Self) -> Result<[Side<D>; 2]> {
        let both = |a: &Side<D>, b: &Side<D>| -> Vec<u64> {
            [a.own.indices(), a.others.indices(), b.own.indices(), b.others.indices()].concat()
        };
        let rows = Side::new(&self.rank, &self.row_partition, both(&self.rows, &other.rows))?;
        let cols = Side::new(&self.rank, &self.col_partition, both(&self.cols, &other.cols))?;
        Ok([rows, cols])
    }

    /// Returns both trees with the numbers of more rows and columns. Trees whose numbers stay are not copied,
    /// others go through host memory.
    pub(crate) fn renumbered(&self, [rows, cols]: &[Side<D>; 2]) -> Result<[DeviceHiSparse<V, D>; 2]> {
        let has_same_rows =
            self.rows.own.are_numbered_like(&rows.own) && self.rows.others.are_numbered_like(&rows.others);
        let parts =
            [(&self.local, &self.cols.own, &cols.own), (&self.non_local, &self.cols.others, &cols.others)];
        let [local, non_local] = parts.map(|(tree, old, new)| {
            if has_same_rows && old.are_numbered_like(new) {
                return Ok(tree.clone());
            }
            let tree = tree.download()?;
            let entries = tree.iter().map(|(row, column, value)| {
                (rows.place(self.rows.index(row)), new.place(old.index(column)), value)
            });
            build_tree(&self.rank, (rows.len(), new.len()), entries, hisparse::Options::default())
        });
        Ok([local?, non_local?])
    }

    /// Creates a matrix divided like this one from its trees.
    pub(crate) fn with_trees(
        &self,
        [rows, cols]: [Side<D>; 2],
        [local, non_local]: [DeviceHiSparse<V, D>; 2],
    ) -> Self {
        let (rows, cols) = (Arc::new(rows), Arc::new(cols));
        Self { rows, cols, local, non_local, ..self.clone() }
    }
}
