//! Matrices of levels, on one device or over ranks.

use evenpath::spadd::{Elementwise, ElementwisePlan};
use evenpath::spgemm::{SpgemmOptions, SpgemmPlan};
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{DeviceCsr, DeviceSlice, Value};

use crate::error::Result;

/// A matrix of a level. Over ranks, all operations are collective but those that say so, and vectors are the rank's parts.
pub(super) trait LevelMatrix<V: Value>: Clone + Send + Sync {
    /// A planned product with vectors.
    type SpmvPlan: Product<V>;
    /// A product with vectors that is used a few times.
    type Spmv: Product<V>;
    /// A planned product of matrices.
    type SpgemmPlan: Send + Sync;
    /// A planned sum of matrices.
    type SpaddPlan: Send + Sync;

    /// The rank's rows, with the columns that it has the elements of. Sends nothing.
    fn local(&self) -> &DeviceCsr<V>;

    /// Number of rows on all ranks. Sends nothing.
    fn nrows(&self) -> usize;

    /// The same matrix with other entries in the columns that the rank has the elements of. Sends nothing.
    fn with_local(&self, local: DeviceCsr<V>) -> Result<Self>;

    /// The matrix whose blocks on the diagonal are those of the ranks.
    fn block_diagonal(&self, block: DeviceCsr<V>) -> Result<Self>;

    /// A matrix with values of its own. Sends nothing.
    fn copy(&self) -> Result<Self>;

    /// The matrices on the device that have this rank's values. Sends nothing.
    fn parts(&self) -> Vec<&DeviceCsr<V>>;

    /// Returns whether another matrix has the same pattern.
    fn has_pattern_of(&self, other: &Self) -> Result<bool>;

    /// Scales rows and columns by the same factors.
    fn scale(&self, factors: &DeviceSlice<V>) -> Result<()>;

    /// Scales rows. Sends nothing.
    fn scale_rows(&self, factors: &DeviceSlice<V>) -> Result<()>;

    fn transpose(&self) -> Result<Self>;

    fn plan_spmv(&self) -> Result<Self::SpmvPlan>;

    fn spmv(&self) -> Result<Self::Spmv>;

    fn plan_spgemm(&self, b: &Self) -> Result<Self::SpgemmPlan>;

    fn run_spgemm(plan: &Self::SpgemmPlan) -> Result<Self>;

    fn plan_spadd(&self, b: &Self) -> Result<Self::SpaddPlan>;

    /// αA + βB.
    fn run_spadd(plan: &Self::SpaddPlan, alpha: V, beta: V) -> Result<Self>;

    /// The sum of the ranks' counts.
    fn sum(&self, count: usize) -> Result<usize>;

    /// The first of the rows that ranks have found, by its number in the whole matrix.
    fn first_row(&self, row: Option<usize>) -> Result<Option<usize>>;

    /// Adds a number of each rank.
    fn add_over_ranks(&self, number: &mut DeviceSlice<V>) -> Result<()>;

    /// Turns the norm of each rank's part of a vector to that of the vector.
    fn norm_over_ranks(&self, norm: &mut DeviceSlice<V>) -> Result<()>;

    /// Takes the values of a matrix of the same pattern. Sends nothing.
    fn set_values_from(&self, other: &Self) -> Result<()> {
        for (own, other) in self.parts().into_iter().zip(other.parts()) {
            own.set_values_from(&other.values())?;
        }
        Ok(())
    }

    /// Number of nonzeros on all ranks.
    fn nonzeros(&self) -> Result<usize> {
        self.sum(self.parts().into_iter().map(DeviceCsr::nnz).sum())
    }
}

/// Products of one matrix with vectors.
pub(super) trait Product<V: Value>: Send + Sync {
    /// y = αAx + βy.
    fn run(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<()>;
}

impl<V: Value> Product<V> for SpmvPlan<V> {
    fn run(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<()> {
        Ok(self.run(alpha, x, beta, y)?)
    }
}

impl<V: Value> Product<V> for DeviceCsr<V> {
    fn run(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<()> {
        Ok(self.spmv(alpha, x, beta, y)?)
    }
}

impl<V: Value> LevelMatrix<V> for DeviceCsr<V> {
    type SpmvPlan = SpmvPlan<V>;
    type Spmv = Self;
    type SpgemmPlan = SpgemmPlan<V>;
    type SpaddPlan = ElementwisePlan<V>;

    fn local(&self) -> &DeviceCsr<V> {
        self
    }

    fn nrows(&self) -> usize {
        self.nrows()
    }

    fn with_local(&self, local: DeviceCsr<V>) -> Result<Self> {
        Ok(local)
    }

    fn block_diagonal(&self, block: DeviceCsr<V>) -> Result<Self> {
        Ok(block)
    }

    fn copy(&self) -> Result<Self> {
        Ok(self.copy()?)
    }

    fn parts(&self) -> Vec<&DeviceCsr<V>> {
        vec![self]
    }

    fn has_pattern_of(&self, other: &Self) -> Result<bool> {
        Ok(self.shape() == other.shape()
            && self.nnz() == other.nnz()
            && self.count_elementwise(Elementwise::MaskOut, other)? == 0)
    }

    fn scale(&self, factors: &DeviceSlice<V>) -> Result<()> {
        self.scale_rows(factors)?;
        Ok(self.scale_columns(factors)?)
    }

    fn scale_rows(&self, factors: &DeviceSlice<V>) -> Result<()> {
        Ok(self.scale_rows(factors)?)
    }

    fn transpose(&self) -> Result<Self> {
        Ok(self.transpose()?)
    }

    fn plan_spmv(&self) -> Result<SpmvPlan<V>> {
        Ok(self.plan_spmv(SpmvOptions::default())?)
    }

    fn spmv(&self) -> Result<Self> {
        Ok(self.clone())
    }

    fn plan_spgemm(&self, b: &Self) -> Result<SpgemmPlan<V>> {
        Ok(self.plan_spgemm(b, SpgemmOptions::default())?)
    }

    fn run_spgemm(plan: &SpgemmPlan<V>) -> Result<Self> {
        Ok(plan.run()?)
    }

    fn plan_spadd(&self, b: &Self) -> Result<ElementwisePlan<V>> {
        Ok(self.plan_spadd(b)?)
    }

    fn run_spadd(plan: &ElementwisePlan<V>, alpha: V, beta: V) -> Result<Self> {
        Ok(plan.run(alpha, beta)?)
    }

    fn sum(&self, count: usize) -> Result<usize> {
        Ok(count)
    }

    fn first_row(&self, row: Option<usize>) -> Result<Option<usize>> {
        Ok(row)
    }

    fn add_over_ranks(&self, _: &mut DeviceSlice<V>) -> Result<()> {
        Ok(())
    }

    fn norm_over_ranks(&self, _: &mut DeviceSlice<V>) -> Result<()> {
        Ok(())
    }
}
