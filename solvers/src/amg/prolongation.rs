//! Smoothed prolongation.

use evenpath::{DeviceSlice, Value};

use super::diagonal::inverse_coarse_diagonal;
use super::filtered::Filtered;
use super::matrix::LevelMatrix;
use super::spectral::largest_eigenvalue;
use super::strength::scaled;
use crate::error::Result;
use crate::vectors::copied;

/// P = (I − ω D⁻¹A) T for the tentative prolongation T, with ω = 4/3 / ρ(D⁻¹A). A may be filtered.
pub(super) struct Prolongation<V: Value, M: LevelMatrix<V>> {
    a: M,
    /// The rank's part of the filtered matrix, and the whole, which shares its memory.
    filtered: Option<(Filtered<V>, M)>,
    /// D⁻¹A, and its product with T.
    jacobi: M,
    product_plan: M::SpgemmPlan,
    product: M,
    sum_plan: M::SpaddPlan,
    p: M,
}

/// The diagonal of D⁻¹ and ρ(D⁻¹A).
pub(super) struct Spectrum<'a, V: Value> {
    pub(super) inverse_diagonal: &'a DeviceSlice<V>,
    pub(super) radius: f64,
    /// Start of the estimate of ρ for the filtered matrix.
    pub(super) start: &'a DeviceSlice<V>,
}

impl<V: Value, M: LevelMatrix<V>> Prolongation<V, M> {
    pub(super) fn new(
        a: &M,
        filtered: Option<Filtered<V>>,
        tentative: &M,
        spectrum: &Spectrum<V>,
    ) -> Result<Self> {
        let filtered = match filtered {
            Some(filtered) => {
                let whole = a.with_local(filtered.matrix().clone())?;
                Some((filtered, whole))
            }
            None => None,
        };
        let jacobi = filtered.as_ref().map_or(a, |(_, whole)| whole).copy()?;
        let omega = scale_by_diagonal(&jacobi, filtered.is_some(), a, spectrum)?;
        let product_plan = jacobi.plan_spgemm(tentative)?;
        let product = M::run_spgemm(&product_plan)?;
        let sum_plan = tentative.plan_spadd(&product)?;
        let p = M::run_spadd(&sum_plan, V::ONE, V::from_f64(-omega))?;
        Ok(Self { a: a.clone(), filtered, jacobi, product_plan, product, sum_plan, p })
    }

    pub(super) fn matrix(&self) -> &M {
        &self.p
    }

    /// Computes P again, from the values that A has now.
    pub(super) fn update(&self, spectrum: &Spectrum<V>) -> Result<()> {
        let smoothed = match &self.filtered {
            Some((filtered, whole)) => {
                filtered.update()?;
                whole
            }
            None => &self.a,
        };
        self.jacobi.set_values_from(smoothed)?;
        let omega = scale_by_diagonal(&self.jacobi, self.filtered.is_some(), &self.a, spectrum)?;
        self.product.set_values_from(&M::run_spgemm(&self.product_plan)?)?;
        self.p.set_values_from(&M::run_spadd(&self.sum_plan, V::ONE, V::from_f64(-omega))?)
    }
}

/// Turns a matrix B, which is A or that filtered, to D⁻¹B with its own diagonal D, and returns ω.
fn scale_by_diagonal<V: Value, M: LevelMatrix<V>>(
    b: &M,
    is_filtered: bool,
    a: &M,
    spectrum: &Spectrum<V>,
) -> Result<f64> {
    let (inverse, radius) = if is_filtered {
        let inverse = inverse_coarse_diagonal(b, &a.local().diagonal()?)?;
        let radius = largest_eigenvalue(&scaled(b, &inverse)?, spectrum.start)?;
        (inverse, radius)
    } else {
        (copied(spectrum.inverse_diagonal)?, spectrum.radius)
    };
    b.scale_rows(&inverse)?;
    Ok(if radius > 0.0 { 4.0 / 3.0 / radius } else { 0.0 })
}
