//! Coarse corrections of a K-cycle: steps of flexible conjugate gradients whose preconditioner is the cycle of the coarser levels.

use evenpath::vector::Map;
use evenpath::{Device, DeviceSlice, DeviceVec, Factor, Value, vector};

use super::matrix::Product;
use crate::error::Result;
use crate::scalars::min_positive;

/// Most steps of a coarse correction.
pub(super) const MAX_STEPS: usize = 2;

/// Vectors and numbers of the steps. The numbers stay on the device.
pub(super) struct Krylov<V: Value> {
    /// d of each step, orthogonal to the earlier ones in the inner product of A.
    directions: Vec<DeviceVec<V>>,
    /// Ad of each step.
    products: Vec<DeviceVec<V>>,
    /// dᵀAd of each step.
    energies: Vec<DeviceVec<V>>,
    quotient: DeviceVec<V>,
    sign: DeviceVec<V>,
}

impl<V: Value> Krylov<V> {
    /// Allocates for `steps` steps with a matrix of `rows` rows.
    pub(super) fn new(device: &Device, rows: usize, steps: usize) -> Result<Self> {
        let of_steps = |len: usize| (0..steps).map(|_| device.zeros(len)).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            directions: of_steps(rows)?,
            products: of_steps(rows)?,
            energies: of_steps(1)?,
            quotient: device.zeros(1)?,
            sign: device.zeros(1)?,
        })
    }

    /// Number of steps.
    pub(super) fn steps(&self) -> usize {
        self.directions.len()
    }

    /// The direction of a step, which is the preconditioned residual before the step.
    pub(super) fn direction(&mut self, step: usize) -> &mut DeviceSlice<V> {
        &mut self.directions[step]
    }

    /// Does a step from its preconditioned residual: x += q·d and r −= q·Ad with q = dᵀr / dᵀAd. Before the first step, x is zero,
    /// and not read. Does not wait.
    pub(super) fn step(
        &mut self,
        step: usize,
        a: &impl Product<V>,
        r: &mut DeviceSlice<V>,
        x: &mut DeviceSlice<V>,
    ) -> Result<()> {
        let Self { directions, products, energies, quotient, sign } = self;
        let (before, [direction, ..]) = directions.split_at_mut(step) else { return Ok(()) };
        let (products_before, [product, ..]) = products.split_at_mut(step) else { return Ok(()) };
        let (energies_before, [energy, ..]) = energies.split_at_mut(step) else { return Ok(()) };
        a.run(V::ONE, direction, V::ZERO, product)?;
        for ((d, ad), energy) in before.iter().zip(&*products_before).zip(&*energies_before) {
            vector::dot_into(direction, ad, quotient)?;
            divide(energy, sign, quotient)?;
            vector::axpby(-Factor::from(&*quotient), d, V::ONE, direction)?;
            vector::axpby(-Factor::from(&*quotient), ad, V::ONE, product)?;
        }
        vector::dot_into(direction, product, energy)?;
        vector::dot_into(direction, r, quotient)?;
        divide(energy, sign, quotient)?;
        vector::axpby(&*quotient, direction, if step > 0 { V::ONE } else { V::ZERO }, x)?;
        Ok(vector::axpby(-Factor::from(&*quotient), product, V::ONE, r)?)
    }
}

/// Divides a number by an energy; the quotient is zero where the energy is not positive, such as that of a residual of zero.
fn divide<V: Value>(energy: &DeviceVec<V>, sign: &mut DeviceVec<V>, number: &mut DeviceVec<V>) -> Result<()> {
    sign.copy_from(energy)?;
    vector::map(Map::Sign, sign)?;
    vector::map(Map::Clamp { low: V::ZERO, high: V::ONE }, sign)?;
    vector::multiply_elements_in_place(sign, number)?;
    sign.copy_from(energy)?;
    let low = V::from_f64(min_positive::<V>());
    vector::map(Map::Clamp { low, high: V::from_f64(f64::INFINITY) }, sign)?;
    Ok(vector::divide_elements_in_place(sign, number)?)
}
