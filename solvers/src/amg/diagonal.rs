//! Reciprocals of diagonals.

use evenpath::{DeviceSlice, DeviceVec, Value, vector, vector::Map};

use super::matrix::LevelMatrix;
use crate::error::{Error, Result};
use crate::scalars::epsilon;
use crate::vectors::copied;

/// The reciprocals of the diagonal of the finest matrix. Waits for the device.
///
/// # Errors
///
/// If an entry of the diagonal is missing or not positive: the first such row of all ranks.
pub(super) fn inverse_diagonal<V: Value, M: LevelMatrix<V>>(a: &M) -> Result<DeviceVec<V>> {
    let mut diagonal = a.local().diagonal()?;
    let mut refused = None;
    if vector::min(&diagonal)? <= V::ZERO {
        refused = diagonal.download()?.iter().position(|&entry| entry <= V::ZERO);
    }
    if let Some(row) = a.first_row(refused)? {
        return Err(Error::Diagonal { row, needed: "positive" });
    }
    vector::map(Map::Reciprocal, &mut diagonal)?;
    Ok(diagonal)
}

/// The reciprocals of the diagonal of a coarser matrix; zero where an entry is nothing but rounding, or not positive. Such a row
/// belongs to a coarse vector that A maps to zero. `bound` has numbers that the entries would have without cancellation.
pub(super) fn inverse_coarse_diagonal<V: Value, M: LevelMatrix<V>>(
    a: &M,
    bound: &DeviceSlice<V>,
) -> Result<DeviceVec<V>> {
    let diagonal = a.local().diagonal()?;
    reciprocals_above(&diagonal, bound, 1e3 * epsilon::<V>())
}

/// 1/x where x > `factor`·`bound`, and zero elsewhere.
pub(super) fn reciprocals_above<V: Value>(
    x: &DeviceSlice<V>,
    bound: &DeviceSlice<V>,
    factor: f64,
) -> Result<DeviceVec<V>> {
    let mut is_used = copied(x)?;
    vector::axpby(V::from_f64(-factor), bound, V::ONE, &mut is_used)?;
    vector::map(Map::Sign, &mut is_used)?;
    vector::map(Map::Clamp { low: V::ZERO, high: V::ONE }, &mut is_used)?;
    // Ones in place of the others.
    let mut divisor = copied(&is_used)?;
    vector::map(Map::Scale(-V::ONE), &mut divisor)?;
    vector::map(Map::Add(V::ONE), &mut divisor)?;
    let mut used = copied(x)?;
    vector::multiply_elements_in_place(&is_used, &mut used)?;
    vector::axpby(V::ONE, &used, V::ONE, &mut divisor)?;
    vector::divide_elements_in_place(&divisor, &mut is_used)?;
    Ok(is_used)
}
