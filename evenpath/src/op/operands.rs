//! What every product asks of its operands.

use super::OpError;
use crate::Value;
use crate::device::{Device, DeviceVec};

/// Checks x and y of y = αAx + βy, for A of `rows` x `cols` on `device`.
pub(super) fn check_product<V: Value>(
    device: &Device,
    (rows, cols): (usize, usize),
    x: &DeviceVec<V>,
    y: &DeviceVec<V>,
) -> Result<(), OpError> {
    check_vector(device, (rows, cols), ("x", cols), x)?;
    check_vector(device, (rows, cols), ("y", rows), y)
}

/// Checks a vector, by its name, that a product with a matrix of `rows` x `cols` on `device` needs `needed` elements of.
pub(super) fn check_vector<V: Value>(
    device: &Device,
    (rows, cols): (usize, usize),
    (operand, needed): (&'static str, usize),
    vector: &DeviceVec<V>,
) -> Result<(), OpError> {
    device.check_same(vector.device())?;
    check_len((rows, cols), (operand, needed), vector.len())
}

/// Checks x and y of y = αAx + βy in host memory, for A of `rows` x `cols`.
pub(super) fn check_slices<V>((rows, cols): (usize, usize), x: &[V], y: &[V]) -> Result<(), OpError> {
    check_len((rows, cols), ("x", cols), x.len())?;
    check_len((rows, cols), ("y", rows), y.len())
}

/// Checks the number of elements of an operand, by its name, of which a matrix of `rows` x `cols` needs `needed`.
pub(super) fn check_len(
    (rows, cols): (usize, usize),
    (operand, needed): (&'static str, usize),
    len: usize,
) -> Result<(), OpError> {
    if len == needed { Ok(()) } else { Err(OpError::VectorLength { operand, len, needed, rows, cols }) }
}
