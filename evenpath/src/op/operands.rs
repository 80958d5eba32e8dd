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
    for (operand, vector, needed) in [("x", x, cols), ("y", y, rows)] {
        device.check_same(vector.device())?;
        if vector.len() != needed {
            return Err(OpError::VectorLength { operand, len: vector.len(), needed, rows, cols });
        }
    }
    Ok(())
}
