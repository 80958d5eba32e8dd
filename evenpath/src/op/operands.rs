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
    if vector.len() == needed {
        return Ok(());
    }
    Err(OpError::VectorLength { operand, len: vector.len(), needed, rows, cols })
}
