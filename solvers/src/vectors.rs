//! Copies, quotients and sums of vectors, with factors that were computed in f64.

use evenpath::vector::Map;
use evenpath::{Complex, DeviceSlice, DeviceVec, Entry, RealStorage, Scalar, vector};

use crate::error::Result;
use crate::number::rounded;

/// A copy of a vector.
pub(crate) fn copied<T: Entry>(x: &DeviceSlice<T>) -> Result<DeviceVec<T>> {
    let mut copy = x.device().uninitialized(x.len())?;
    copy.copy_from(x)?;
    Ok(copy)
}

/// y = y / `norm`, where the reciprocal of the norm may be out of range.
pub(crate) fn divide<V: Scalar>(y: &mut DeviceSlice<V>, norm: f64) -> Result<()> {
    const POWER: f64 = (1_u128 << 64) as f64;
    let mut y = y.as_parts_mut();
    let inverse = V::Real::from_f64(1.0 / norm);
    if inverse.to_f64().is_infinite() && norm != 0.0 {
        vector::map(Map::Scale(V::Real::from_f64(POWER)), &mut y)?;
        return Ok(vector::map(Map::Scale(V::Real::from_f64(1.0 / (norm * POWER))), &mut y)?);
    }
    Ok(vector::map(Map::Scale(inverse), &mut y)?)
}

/// y = `alpha`·x + `beta`·y with real factors computed in f64.
pub(crate) fn axpby<V: Scalar>(
    alpha: f64,
    x: &DeviceSlice<V>,
    beta: f64,
    y: &mut DeviceSlice<V>,
) -> Result<()> {
    let (alpha, beta) = (V::Real::from_f64(alpha), V::Real::from_f64(beta));
    Ok(vector::axpby(alpha, &x.as_parts(), beta, &mut y.as_parts_mut())?)
}

/// y = `alpha`·x + `beta`·y with complex factors, whose imaginary parts are not used for real vectors.
pub(crate) fn axpby_complex<V: Scalar>(
    alpha: Complex<f64>,
    x: &DeviceSlice<V>,
    beta: Complex<f64>,
    y: &mut DeviceSlice<V>,
) -> Result<()> {
    Ok(vector::axpby(rounded::<V>(alpha), x, rounded::<V>(beta), y)?)
}
