//! Checks of operands: lengths, shapes, devices.

use bytemuck::Pod;

use super::OpError;
use crate::device::{Device, DeviceSlice};
use crate::matrix::check_threads;

/// Checks x and y of y = αAx + βy, for A of `rows` x `cols` on `device`.
pub(crate) fn check_product<T: Pod>(
    device: &Device,
    (rows, cols): (usize, usize),
    x: &DeviceSlice<T>,
    y: &DeviceSlice<T>,
) -> Result<(), OpError> {
    check_vector(device, ("x", x), cols)?;
    check_vector(device, ("y", y), rows)
}

/// Checks that a vector, named in errors, is on `device` and has the required length.
pub(crate) fn check_vector<T: Pod>(
    device: &Device,
    (operand, vector): (&'static str, &DeviceSlice<T>),
    needed: usize,
) -> Result<(), OpError> {
    device.check_same(vector.device())?;
    check_len(operand, vector.len(), needed)
}

/// Checks x and y of y = αAx + βy in host memory, for A of `rows` x `cols`.
pub(crate) fn check_slices<V>((rows, cols): (usize, usize), x: &[V], y: &[V]) -> Result<(), OpError> {
    check_threads()?;
    check_len("x", x.len(), cols)?;
    check_len("y", y.len(), rows)
}

/// Checks the number of elements of an operand, named in errors.
pub(crate) fn check_len(operand: &'static str, len: usize, needed: usize) -> Result<(), OpError> {
    if len == needed { Ok(()) } else { Err(OpError::Length { operand, len, needed }) }
}

/// Checks that 32 bits count the elements of an operation, named in errors.
pub(crate) fn check_countable(what: &'static str, len: usize) -> Result<(), OpError> {
    let limit = u32::MAX as usize;
    if len > limit { Err(OpError::TooLong { what, len, limit }) } else { Ok(()) }
}

/// Checks that an output, named in errors, has room for `needed` elements.
pub(crate) fn check_room(operand: &'static str, len: usize, needed: usize) -> Result<(), OpError> {
    if len >= needed { Ok(()) } else { Err(OpError::Length { operand, len, needed }) }
}

/// Checks the rows and columns of an operand, named in errors.
pub(crate) fn check_shape(
    operand: &'static str,
    (rows, cols): (usize, usize),
    (needed_rows, needed_cols): (usize, usize),
) -> Result<(), OpError> {
    check_threads()?;
    if (rows, cols) == (needed_rows, needed_cols) {
        return Ok(());
    }
    Err(OpError::Shape { operand, rows, cols, needed_rows, needed_cols })
}
