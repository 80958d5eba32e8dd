//! Tensors exchanged with other libraries.

use std::ptr::NonNull;

use super::abi::{
    self, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use super::error::DlpackError;
use super::managed::Managed;

/// A tensor owned by this program, to use or to pass on. Dropping it calls its deleter.
#[derive(Debug)]
pub struct Tensor {
    pub(super) managed: Managed,
}

impl Tensor {
    /// Imports a tensor from another library, in the form of DLPack 1.0 and later: the contents of a Python
    /// capsule named `dltensor_versioned`.
    ///
    /// # Errors
    ///
    /// If its version is not 1.x; then it is dropped.
    ///
    /// # Safety
    ///
    /// The pointer is to a valid tensor, which the caller owns. The producer's work on the memory is
    /// complete, or comes before the device's next work: see
    /// [`DeviceVec::from_raw_parts`](crate::DeviceVec::from_raw_parts).
    pub unsafe fn from_raw(managed: NonNull<DLManagedTensorVersioned>) -> Result<Self, DlpackError> {
        let tensor = Self { managed: Managed::Versioned(managed) };
        // SAFETY: guaranteed by the caller. The version comes first in every version.
        let DLPackVersion { major, minor } = unsafe { managed.as_ref() }.version;
        if major != abi::VERSION.major {
            return Err(DlpackError::Version { major, minor });
        }
        Ok(tensor)
    }

    /// Like [`from_raw`](Self::from_raw), in the form before DLPack 1.0: the contents of a Python capsule
    /// named `dltensor`.
    ///
    /// # Safety
    ///
    /// The same as for [`from_raw`](Self::from_raw).
    pub unsafe fn from_raw_unversioned(managed: NonNull<DLManagedTensor>) -> Self {
        Self { managed: Managed::Unversioned(managed) }
    }

    /// Lengths of the dimensions.
    pub fn shape(&self) -> &[i64] {
        let DLTensor { shape, ndim, .. } = *self.managed.tensor();
        // SAFETY: the tensor is valid: there are as many lengths as dimensions.
        unsafe { abi::slice(shape, ndim) }
    }

    /// Strides in elements, by dimension.
    pub fn strides(&self) -> Vec<i64> {
        let DLTensor { strides, ndim, .. } = *self.managed.tensor();
        if !strides.is_null() {
            // SAFETY: as for the lengths.
            return unsafe { abi::slice(strides, ndim) }.to_vec();
        }
        // Contiguous, with stride 1 in the last dimension.
        let mut strides = vec![1_i64; self.shape().len()];
        for at in (1..strides.len()).rev() {
            strides[at - 1] = strides[at].saturating_mul(self.shape()[at]);
        }
        strides
    }

    /// The element type.
    pub fn data_type(&self) -> DLDataType {
        self.managed.tensor().dtype
    }

    /// The device that has the memory.
    pub fn device(&self) -> DLDevice {
        self.managed.tensor().device
    }
}
