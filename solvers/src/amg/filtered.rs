//! Matrices without weak couplings.

use evenpath::csr::Reduction;
use evenpath::spadd::{Elementwise, ElementwisePlan};
use evenpath::{Csr, DeviceCsr, DeviceVec, Value, vector};

use crate::error::Result;

/// The strong couplings of a matrix; its weak ones are added to the diagonal, so that the sums of rows stay.
pub(super) struct Filtered<V: Value> {
    a: DeviceCsr<V>,
    strong_plan: ElementwisePlan<V>,
    strong: DeviceCsr<V>,
    weak_sums: DeviceCsr<V>,
    sum_plan: ElementwisePlan<V>,
    matrix: DeviceCsr<V>,
}

impl<V: Value> Filtered<V> {
    /// Filters a matrix by a pattern of strong couplings of nodes of `block_size` unknowns. Follows later values of `a` by
    /// [`update`](Self::update).
    pub(super) fn new(a: &DeviceCsr<V>, couplings: &DeviceCsr<V>, block_size: usize) -> Result<Self> {
        let strong_plan = if block_size == 1 {
            a.plan_elementwise(Elementwise::Mask, couplings)?
        } else {
            let of_block = (0..block_size * block_size).map(|at| (at / block_size, at % block_size, V::ONE));
            let block = a.device().upload(&Csr::from_triplets(block_size, block_size, of_block)?)?;
            a.plan_elementwise(Elementwise::Mask, &couplings.kronecker(&block)?)?
        };
        let strong = strong_plan.run(V::ONE, V::ONE)?;
        let weak_sums = DeviceCsr::from_diagonal(&weak_sums(a, &strong)?)?;
        let sum_plan = strong.plan_spadd(&weak_sums)?;
        let matrix = sum_plan.run(V::ONE, V::ONE)?;
        Ok(Self { a: a.clone(), strong_plan, strong, weak_sums, sum_plan, matrix })
    }

    pub(super) fn matrix(&self) -> &DeviceCsr<V> {
        &self.matrix
    }

    pub(super) fn update(&self) -> Result<()> {
        self.strong.set_values_from(&self.strong_plan.run(V::ONE, V::ONE)?.values())?;
        self.weak_sums.set_values_from(&weak_sums(&self.a, &self.strong)?)?;
        self.matrix.set_values_from(&self.sum_plan.run(V::ONE, V::ONE)?.values())?;
        Ok(())
    }
}

/// The sum of each row of A that is not in its part `strong`.
fn weak_sums<V: Value>(a: &DeviceCsr<V>, strong: &DeviceCsr<V>) -> Result<DeviceVec<V>> {
    let mut sums = a.reduce_rows(Reduction::Sum)?;
    vector::axpby(-V::ONE, &strong.reduce_rows(Reduction::Sum)?, V::ONE, &mut sums)?;
    Ok(sums)
}
