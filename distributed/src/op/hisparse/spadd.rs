//! Sums of distributed trees.

use evenpath::{Value, hisparse};

use crate::DistributedHiSparse;
use crate::error::Result;
use crate::rows::TripletArrays;

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Returns C = `alpha`·A + `beta`·B, with an entry wherever A or B has one, even if its value is 0. A, B and
    /// C are m x n. If a factor is 0, values of its matrix are ignored, including NaN.
    ///
    /// If the leaves of A and B are divided at the same places, as those of matrices with the same entries are,
    /// each rank adds its trees on its device. A tree whose rows and columns with entries are fewer than those
    /// of the sum goes through host memory before. C is then divided like A and B. Otherwise their entries are
    /// sent through host memory and divided evenly; one that both have counts twice. The values are the same to
    /// the last bit, whichever way and with any number of ranks. A collective operation.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath_distributed::{Cluster, DistributedCsr, DistributedHiSparse, Error, generate};
    ///
    /// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
    /// let grid = generate::Stencil::five_point(20);
    /// let counts = cluster.run(|rank| {
    ///     let a = DistributedCsr::from_fn(rank, 400, 400, |row, entries| grid.row(row, entries))?;
    ///     let diagonal = DistributedCsr::from_fn_on(rank, a.row_partition(), a.col_partition(), |row, entries| {
    ///         entries.push((row, 1.0));
    ///     })?;
    ///     let a: DistributedHiSparse<f64, 32> = a.to_hisparse(Default::default())?;
    ///     let diagonal = diagonal.to_hisparse(Default::default())?;
    ///     let sum = a.spadd(1.0, &diagonal, 4.0, Default::default())?;
    ///     Ok::<_, Error>((a.nnz()?, sum.nnz()?))
    /// })?;
    /// assert!(counts.iter().all(|(a, sum)| a == sum));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrices have different partitions of rows or columns, there is too little memory, a rank's share
    /// is too large (as for [`to_hisparse`](crate::DistributedCsr::to_hisparse)), or a rank failed.
    pub fn spadd(&self, alpha: V, b: &Self, beta: V, options: hisparse::SpaddOptions) -> Result<Self> {
        self.rank().check_run("B", b.rank())?;
        self.row_partition().check_same("the rows of B", b.row_partition())?;
        self.col_partition().check_same("the columns of B", b.col_partition())?;
        if !self.is_divided_like(b) {
            let mut entries = TripletArrays::default();
            for (matrix, factor) in [(self, alpha), (b, beta)] {
                for (row, column, value) in matrix.entries()?.iter() {
                    entries.push(row, column, if factor == V::ZERO { V::ZERO } else { factor * value });
                }
            }
            return Self::divide(self.rank(), self.partitions(), entries, hisparse::Options::default());
        }
        let sides = self.common_sides(b)?;
        let ([a_local, a_non_local], [b_local, b_non_local]) =
            (self.renumbered(&sides)?, b.renumbered(&sides)?);
        let local = a_local.scaled(alpha).spadd(&b_local.scaled(beta), options)?;
        let non_local = a_non_local.scaled(alpha).spadd(&b_non_local.scaled(beta), options)?;
        Ok(self.with_trees(sides, [local, non_local]))
    }
}
