//! Operands of kernels that read or write sixteen bytes at once.

use std::ops::Deref;

use bytemuck::Pod;

use super::OpError;
use crate::device::{DeviceError, DeviceSlice, DeviceVec};

/// Elements that begin at a multiple of sixteen bytes: those of an operand, or a copy of them.
pub(super) enum Aligned<'a, T: Pod> {
    Own(&'a DeviceSlice<T>),
    Copied(DeviceVec<T>),
}

impl<'a, T: Pod> Aligned<'a, T> {
    /// # Errors
    ///
    /// If they have to be copied and there is no memory for it, or the device was lost.
    pub(super) fn new(operand: &'a DeviceSlice<T>) -> Result<Self, DeviceError> {
        Ok(if operand.is_aligned() { Self::Own(operand) } else { Self::Copied(operand.copied()?) })
    }
}

impl<T: Pod> Deref for Aligned<'_, T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        match self {
            Self::Own(operand) => operand,
            Self::Copied(copy) => copy,
        }
    }
}

/// Has `write` write to elements that begin at a multiple of sixteen bytes: to those of an output, or to a copy that replaces them
/// if it succeeds.
///
/// # Errors
///
/// As for [`Aligned::new`], and those of `write`.
pub(super) fn write_aligned<T: Pod, R>(
    output: &mut DeviceSlice<T>,
    write: impl FnOnce(&mut DeviceSlice<T>) -> Result<R, OpError>,
) -> Result<R, OpError> {
    if output.is_aligned() {
        return write(output);
    }
    let mut copy = output.copied()?;
    let result = write(&mut copy)?;
    output.copy_from(&copy)?;
    Ok(result)
}
