//! Sums of sparse matrices.

use std::sync::Arc;

use evenpath::{Csr, DeviceCsr, Value};

use crate::DistributedCsr;
use crate::csr::NonLocal;
use crate::error::Result;
use crate::halo::Halo;
use crate::memory::zeros;

impl<V: Value> DistributedCsr<V> {
    /// Returns C = `alpha`·A + `beta`·B, with an entry wherever A or B has one. Each rank adds its rows on
    /// its device; messages only exchange the halo of C. A collective operation.
    ///
    /// # Errors
    ///
    /// If the matrices have different partitions, rows of one are cut between ranks, there is too little memory, or a rank failed.
    pub fn spadd(&self, alpha: V, b: &Self, beta: V) -> Result<Self> {
        self.rank().check_run("B", b.rank())?;
        self.row_partition().check_same("the rows of B", b.row_partition())?;
        self.col_partition().check_same("the columns of B", b.col_partition())?;
        self.check_whole_rows("A")?;
        b.check_whole_rows("B")?;
        let local = self.local().spadd(alpha, b.local(), beta)?;
        // The halo and the boundary rows of the union, which the non-local matrices of A and B number
        // differently.
        let columns = union(self.halo().columns(), b.halo().columns());
        let rows = union(&self.non_local_parts().rows, &b.non_local_parts().rows);
        let (in_a, in_b) = (self.renumbered(&rows, &columns)?, b.renumbered(&rows, &columns)?);
        let matrix = in_a.spadd(alpha, &in_b, beta)?;
        let halo = Halo::new(self.rank(), self.col_partition(), columns)?;
        Ok(Self::from_parts(self, local, NonLocal { rows: Arc::new(rows), matrix }, halo))
    }

    /// Renumbers the non-local matrix for a superset of its rows and columns.
    fn renumbered(&self, rows: &[u32], columns: &[u64]) -> Result<DeviceCsr<V>> {
        let parts = self.non_local_parts();
        let (row_offsets, column_indices, values) = parts.matrix.download()?.into_parts();
        let numbers: Vec<u32> =
            positions(self.halo().columns(), columns).map(|number| number as u32).collect();
        let column_indices = column_indices.into_iter().map(|column| numbers[column as usize]).collect();
        // Missing rows are empty: they end where the previous row does.
        let mut all_offsets = zeros(rows.len() + 1)?;
        for (own, number) in positions(&parts.rows, rows).enumerate() {
            all_offsets[number + 1] = row_offsets[own + 1];
        }
        for row in 0..rows.len() {
            all_offsets[row + 1] = all_offsets[row + 1].max(all_offsets[row]);
        }
        let matrix: Csr<V> = Csr::try_new(rows.len(), columns.len(), all_offsets, column_indices, values)?;
        Ok(self.rank().device().upload(&matrix)?)
    }
}

/// The union of two ascending sequences.
fn union<T: Ord + Copy>(a: &[T], b: &[T]) -> Vec<T> {
    let mut both = [a, b].concat();
    both.sort_unstable();
    both.dedup();
    both
}

/// Positions of the elements of an ascending sequence in a superset.
fn positions<T: Ord>(part: &[T], all: &[T]) -> impl Iterator<Item = usize> {
    part.iter().map(|element| all.partition_point(|other| other < element))
}
