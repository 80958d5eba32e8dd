//! A tensor: what other libraries hand over, and what it says of itself.

use std::ptr::NonNull;

use super::abi::{
    self, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use super::error::DlpackError;
use super::managed::Managed;

/// A tensor that is ours to use or to pass on. Dropping it gives it back to whoever made it.
#[derive(Debug)]
pub struct Tensor {
    pub(super) managed: Managed,
}

impl Tensor {
    /// Takes a tensor from another library, in the form of DLPack 1.0 and later: what a Python capsule named `dltensor_versioned` holds.
    ///
    /// # Errors
    ///
    /// If its version is not 1.x; then it is given back.
    ///
    /// # Safety
    ///
    /// The pointer is to a valid tensor, and it is the caller's. What its maker does to the memory is done, or comes before what the
    /// device is asked next: see [`DeviceVec::from_raw_parts`](crate::DeviceVec::from_raw_parts).
    pub unsafe fn from_raw(managed: NonNull<DLManagedTensorVersioned>) -> Result<Self, DlpackError> {
        let tensor = Self { managed: Managed::Versioned(managed) };
        // SAFETY: the caller's. The version comes first in every version.
        let DLPackVersion { major, minor } = unsafe { managed.as_ref() }.version;
        if major != abi::VERSION.major {
            return Err(DlpackError::Version { major, minor });
        }
        Ok(tensor)
    }

    /// [`from_raw`](Self::from_raw) in the form before DLPack 1.0: what a Python capsule named `dltensor` holds.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw).
    pub unsafe fn from_raw_unversioned(managed: NonNull<DLManagedTensor>) -> Self {
        Self { managed: Managed::Unversioned(managed) }
    }

    /// The lengths of its dimensions.
    pub fn shape(&self) -> &[i64] {
        let DLTensor { shape, ndim, .. } = *self.managed.tensor();
        // SAFETY: the tensor is valid: there are as many lengths as dimensions.
        unsafe { abi::slice(shape, ndim) }
    }

    /// Elements from each element to the next, by dimension.
    pub fn strides(&self) -> Vec<i64> {
        let DLTensor { strides, ndim, .. } = *self.managed.tensor();
        if !strides.is_null() {
            // SAFETY: as for the lengths.
            return unsafe { abi::slice(strides, ndim) }.to_vec();
        }
        // Compact, with the last dimension's elements side by side.
        let mut strides = vec![1_i64; self.shape().len()];
        for at in (1..strides.len()).rev() {
            strides[at - 1] = strides[at].saturating_mul(self.shape()[at]);
        }
        strides
    }

    /// The type of its elements.
    pub fn data_type(&self) -> DLDataType {
        self.managed.tensor().dtype
    }

    /// The device that has the memory.
    pub fn device(&self) -> DLDevice {
        self.managed.tensor().device
    }
}
