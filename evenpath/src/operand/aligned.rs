//! Operands of kernels that load or store sixteen bytes at once.

use std::ops::Deref;

use bytemuck::Pod;
use evenpath_simt::{Aligned16, Element, Global, GlobalMut};

use super::OpError;
use crate::device::{DeviceError, DeviceSlice, DeviceVec};

/// An operand aligned to sixteen bytes: the given elements, or a copy of them.
pub(crate) enum Aligned<'a, T: Pod> {
    Own(&'a DeviceSlice<T>, Global<T, Aligned16>),
    Copied(DeviceVec<T>),
}

impl<'a, T: Pod + Element> Aligned<'a, T> {
    /// # Errors
    ///
    /// If the elements must be copied and there is too little memory, or the device was lost.
    pub(crate) fn new(operand: &'a DeviceSlice<T>) -> Result<Self, DeviceError> {
        Ok(match operand.aligned() {
            Some(view) => Self::Own(operand, view),
            None => Self::Copied(operand.copied()?),
        })
    }

    /// The elements as a kernel's input. The view does not borrow them.
    pub(crate) fn view(&self) -> Global<T, Aligned16> {
        match self {
            Self::Own(_, view) => *view,
            Self::Copied(copy) => copy.as_aligned(),
        }
    }
}

impl<T: Pod> From<DeviceVec<T>> for Aligned<'_, T> {
    fn from(elements: DeviceVec<T>) -> Self {
        Self::Copied(elements)
    }
}

impl<T: Pod> Deref for Aligned<'_, T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        match self {
            Self::Own(operand, _) => operand,
            Self::Copied(copy) => copy,
        }
    }
}

/// Calls `write` to write all elements of an output through a view aligned to sixteen bytes: that of the
/// output, or of other memory, which is copied to the output if `write` succeeds.
///
/// # Errors
///
/// The errors of [`Aligned::new`] and of `write`.
pub(crate) fn write_aligned<T: Pod + Element, R>(
    output: &mut DeviceSlice<T>,
    write: impl FnOnce(GlobalMut<T, Aligned16>) -> Result<R, OpError>,
) -> Result<R, OpError> {
    if let Some(view) = output.aligned_mut() {
        return write(view);
    }
    let mut elements = output.device().uninitialized(output.len())?;
    let result = write(elements.as_aligned_mut())?;
    output.copy_from(&elements)?;
    Ok(result)
}
