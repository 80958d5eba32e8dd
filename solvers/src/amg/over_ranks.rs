//! Matrices of levels over ranks.

use evenpath::spmv::SpmvOptions;
use evenpath::{DeviceCsr, DeviceSlice, Value};
use evenpath_distributed::{DistributedCsr, DistributedSpgemmOptions, DistributedSpmvPlan, DistributedVec};

use super::matrix::{LevelMatrix, Product};
use crate::error::Result;
use crate::vectors::copied;

impl<V: Value> Product<V> for DistributedSpmvPlan<V> {
    fn run(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<()> {
        Ok(self.run_local(alpha, x, beta, y)?)
    }
}

impl<V: Value> LevelMatrix<V> for DistributedCsr<V> {
    type SpmvPlan = DistributedSpmvPlan<V>;
    type Spmv = DistributedSpmvPlan<V>;
    /// The operands.
    type SpgemmPlan = [Self; 2];
    type SpaddPlan = [Self; 2];

    fn local(&self) -> &DeviceCsr<V> {
        self.local()
    }

    fn nrows(&self) -> usize {
        self.nrows() as usize
    }

    fn with_local(&self, local: DeviceCsr<V>) -> Result<Self> {
        Ok(self.with_local(local)?)
    }

    fn block_diagonal(&self, block: DeviceCsr<V>) -> Result<Self> {
        Ok(DistributedCsr::block_diagonal(self.rank(), block)?)
    }

    fn copy(&self) -> Result<Self> {
        Ok(self.copy()?)
    }

    fn parts(&self) -> Vec<&DeviceCsr<V>> {
        vec![self.local(), self.non_local()]
    }

    fn has_pattern_of(&self, other: &Self) -> Result<bool> {
        Ok(self.has_pattern_of(other)?)
    }

    fn scale(&self, factors: &DeviceSlice<V>) -> Result<()> {
        let factors = DistributedVec::from_device(self.rank(), self.row_partition(), copied(factors)?)?;
        self.scale_rows(&factors)?;
        Ok(self.scale_columns(&factors)?)
    }

    fn scale_rows(&self, factors: &DeviceSlice<V>) -> Result<()> {
        let factors = DistributedVec::from_device(self.rank(), self.row_partition(), copied(factors)?)?;
        Ok(self.scale_rows(&factors)?)
    }

    fn transpose(&self) -> Result<Self> {
        Ok(self.transpose()?)
    }

    fn plan_spmv(&self) -> Result<DistributedSpmvPlan<V>> {
        Ok(self.plan_spmv(SpmvOptions::default())?)
    }

    fn spmv(&self) -> Result<DistributedSpmvPlan<V>> {
        LevelMatrix::plan_spmv(self)
    }

    fn plan_spgemm(&self, b: &Self) -> Result<[Self; 2]> {
        Ok([self.clone(), b.clone()])
    }

    fn run_spgemm([a, b]: &[Self; 2]) -> Result<Self> {
        Ok(a.spgemm(b, DistributedSpgemmOptions::default())?)
    }

    fn plan_spadd(&self, b: &Self) -> Result<[Self; 2]> {
        Ok([self.clone(), b.clone()])
    }

    fn run_spadd([a, b]: &[Self; 2], alpha: V, beta: V) -> Result<Self> {
        Ok(a.spadd(alpha, b, beta)?)
    }

    fn sum(&self, count: usize) -> Result<usize> {
        Ok(self.rank().all_reduce(&[count as u64], |sum, count| sum + count)?[0] as usize)
    }

    fn first_row(&self, row: Option<usize>) -> Result<Option<usize>> {
        let before = self.row_partition().range(self.rank().index()).start;
        let row = row.map_or(u64::MAX, |row| before + row as u64);
        let first = self.rank().all_reduce(&[row], u64::min)?[0];
        Ok((first < u64::MAX).then_some(first as usize))
    }

    fn add_over_ranks(&self, number: &mut DeviceSlice<V>) -> Result<()> {
        reduce(self, number, |sum, number| sum + number)
    }

    fn norm_over_ranks(&self, norm: &mut DeviceSlice<V>) -> Result<()> {
        reduce(self, norm, f64::hypot)
    }
}

/// Combines a number of each rank, in the order of the ranks.
fn reduce<V: Value>(
    a: &DistributedCsr<V>,
    number: &mut DeviceSlice<V>,
    combine: impl Fn(f64, f64) -> f64,
) -> Result<()> {
    let own: Vec<f64> = number.download()?.into_iter().map(V::to_f64).collect();
    let all: Vec<V> = a.rank().all_reduce(&own, combine)?.into_iter().map(V::from_f64).collect();
    Ok(number.copy_from_slice(&all)?)
}
