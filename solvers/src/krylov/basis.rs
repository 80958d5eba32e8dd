//! Orthonormal vectors of a Krylov space.

use evenpath::{DeviceSlice, DeviceVec, Value};

use crate::error::Result;
use crate::scalars::{Batch, Scalars};
use crate::work::{Work, axpby};

/// A vector made orthogonal to a basis.
pub(crate) struct Orthogonalized {
    /// The parts along the vectors of the basis.
    pub(crate) coefficients: Vec<f64>,
    /// The norm of the vector before.
    pub(crate) before: f64,
    /// The norm of what is left.
    pub(crate) norm: f64,
}

/// Makes `w` orthogonal to the basis by classical Gram–Schmidt, twice (Giraud, Langou and Rozložník, Comput. Math.
/// Appl. 50, 2005). Waits for the device twice.
pub(crate) fn orthogonalize<V: Value>(
    work: &Work<V>,
    scalars: &mut Scalars<V>,
    basis: &[DeviceVec<V>],
    w: &mut DeviceSlice<V>,
) -> Result<Orthogonalized> {
    let (mut coefficients, before) = project(work, scalars.batch(), basis, w)?;
    subtract(basis, &coefficients, w)?;
    let (corrections, norm) = project(work, scalars.batch(), basis, w)?;
    subtract(basis, &corrections, w)?;
    for (coefficient, correction) in coefficients.iter_mut().zip(&corrections) {
        *coefficient += correction;
    }
    let removed = corrections.iter().fold(0.0_f64, |norm, correction| norm.hypot(*correction));
    // By Pythagoras, unless that cancels.
    let norm =
        if removed > 0.5 * norm { work.norm2(w)? } else { ((norm - removed) * (norm + removed)).sqrt() };
    Ok(Orthogonalized { coefficients, before, norm })
}

/// The inner products of `w` with the vectors of the basis, and its norm, read at once.
fn project<V: Value>(
    work: &Work<V>,
    mut batch: Batch<V>,
    basis: &[DeviceVec<V>],
    w: &DeviceSlice<V>,
) -> Result<(Vec<f64>, f64)> {
    batch.norm2(w)?;
    for vector in basis {
        batch.dot(vector, w)?;
    }
    let mut values = batch.read_all(work.operator)?;
    let norm = values.remove(0);
    Ok((values, norm))
}

/// w −= Σ `coefficients`ᵢ · `basis`ᵢ.
fn subtract<V: Value>(basis: &[DeviceVec<V>], coefficients: &[f64], w: &mut DeviceSlice<V>) -> Result<()> {
    basis.iter().zip(coefficients).try_for_each(|(vector, &coefficient)| axpby(-coefficient, vector, 1.0, w))
}

/// y += Σ `coefficients`ᵢ · `basis`ᵢ.
pub(crate) fn add<V: Value>(
    basis: &[DeviceVec<V>],
    coefficients: &[f64],
    y: &mut DeviceSlice<V>,
) -> Result<()> {
    basis.iter().zip(coefficients).try_for_each(|(vector, &coefficient)| axpby(coefficient, vector, 1.0, y))
}
