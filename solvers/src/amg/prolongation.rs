//! Smoothed prolongation.

use evenpath::spadd::ElementwisePlan;
use evenpath::spgemm::{SpgemmOptions, SpgemmPlan};
use evenpath::{DeviceCsr, DeviceSlice, Value};

use super::diagonal::inverse_coarse_diagonal;
use super::filtered::Filtered;
use super::spectral::largest_eigenvalue;
use super::strength::scaled;
use crate::error::Result;
use crate::vectors::copied;

/// P = (I − ω D⁻¹A) T for the tentative prolongation T, with ω = 4/3 / ρ(D⁻¹A). A may be filtered.
pub(super) struct Prolongation<V: Value> {
    a: DeviceCsr<V>,
    filtered: Option<Filtered<V>>,
    /// D⁻¹A, and its product with T.
    jacobi: DeviceCsr<V>,
    product_plan: SpgemmPlan<V>,
    product: DeviceCsr<V>,
    sum_plan: ElementwisePlan<V>,
    p: DeviceCsr<V>,
}

/// The diagonal of D⁻¹ and ρ(D⁻¹A).
pub(super) struct Spectrum<'a, V: Value> {
    pub(super) inverse_diagonal: &'a DeviceSlice<V>,
    pub(super) radius: f64,
    /// Start of the estimate of ρ for the filtered matrix.
    pub(super) start: &'a DeviceSlice<V>,
}

impl<V: Value> Prolongation<V> {
    pub(super) fn new(
        a: &DeviceCsr<V>,
        filtered: Option<Filtered<V>>,
        tentative: &DeviceCsr<V>,
        spectrum: &Spectrum<V>,
    ) -> Result<Self> {
        let smoothed = filtered.as_ref().map_or(a, Filtered::matrix);
        let jacobi = smoothed.copy()?;
        let omega = scale_by_diagonal(&jacobi, filtered.is_some(), a, spectrum)?;
        let product_plan = jacobi.plan_spgemm(tentative, SpgemmOptions::default())?;
        let product = product_plan.run()?;
        let sum_plan = tentative.plan_spadd(&product)?;
        let p = sum_plan.run(V::ONE, V::from_f64(-omega))?;
        Ok(Self { a: a.clone(), filtered, jacobi, product_plan, product, sum_plan, p })
    }

    pub(super) fn matrix(&self) -> &DeviceCsr<V> {
        &self.p
    }

    /// Computes P again, from the values that A has now.
    pub(super) fn update(&self, spectrum: &Spectrum<V>) -> Result<()> {
        if let Some(filtered) = &self.filtered {
            filtered.update()?;
        }
        let smoothed = self.filtered.as_ref().map_or(&self.a, Filtered::matrix);
        self.jacobi.set_values_from(&smoothed.values())?;
        let omega = scale_by_diagonal(&self.jacobi, self.filtered.is_some(), &self.a, spectrum)?;
        self.product.set_values_from(&self.product_plan.run()?.values())?;
        self.p.set_values_from(&self.sum_plan.run(V::ONE, V::from_f64(-omega))?.values())?;
        Ok(())
    }
}

/// Turns a matrix B, which is A or that filtered, to D⁻¹B with its own diagonal D, and returns ω.
fn scale_by_diagonal<V: Value>(
    b: &DeviceCsr<V>,
    is_filtered: bool,
    a: &DeviceCsr<V>,
    spectrum: &Spectrum<V>,
) -> Result<f64> {
    let (inverse, radius) = if is_filtered {
        let inverse = inverse_coarse_diagonal(b, &a.diagonal()?)?;
        let radius = largest_eigenvalue(&scaled(b, &inverse)?, spectrum.start)?;
        (inverse, radius)
    } else {
        (copied(spectrum.inverse_diagonal)?, spectrum.radius)
    };
    b.scale_rows(&inverse)?;
    Ok(if radius > 0.0 { 4.0 / 3.0 / radius } else { 0.0 })
}
