//! Tensors of other libraries, by [DLPack](https://dmlc.github.io/dlpack/latest/): PyTorch, CuPy, JAX, NumPy and others give and
//! take them without a copy.
//!
//! A [`Tensor`] is what libraries hand over: memory, its shape, and who frees it. Vectors become tensors of one dimension, and dense
//! matrices of two; the other way round a tensor becomes either, on the device that has the memory: [`Device::cpu`], or the GPU in its
//! primary context ([`Device::cuda_primary`]), in which those libraries allocate.
//!
//! ```
//! use evenpath::Device;
//! use evenpath::dlpack::Tensor;
//!
//! let device = Device::cpu();
//! let tensor = Tensor::from_vec(device.upload(&[1.0_f32, 2.0])?)?;
//! assert_eq!(tensor.shape(), [2]);
//! let managed = tensor.into_raw(); // what goes to another library
//! // SAFETY: the tensor is valid, and nobody else has it.
//! let tensor = unsafe { Tensor::from_raw(managed) }?;
//! assert_eq!(tensor.into_vec::<f32>(&device)?.download()?, [1.0, 2.0]);
//! # Ok::<(), evenpath::dlpack::DlpackError>(())
//! ```

mod abi;
mod element;
mod error;
mod export;
mod import;

use std::ptr::NonNull;

pub use abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, FLAG_READ_ONLY,
};
pub use element::Element;
pub use error::DlpackError;

#[cfg(doc)]
use crate::Device;

/// A tensor that is ours to use or to pass on. Dropping it gives it back to whoever made it.
#[derive(Debug)]
pub struct Tensor {
    managed: Managed,
}

/// A tensor in either form, and its end.
#[derive(Debug)]
enum Managed {
    Versioned(NonNull<DLManagedTensorVersioned>),
    Unversioned(NonNull<DLManagedTensor>),
}

// SAFETY: DLPack has tensors be given back from any thread.
unsafe impl Send for Managed {}

impl Managed {
    fn tensor(&self) -> &DLTensor {
        // SAFETY: whoever handed the tensor over vouched for it, and it is given back when this is dropped.
        unsafe {
            match self {
                Self::Versioned(managed) => &managed.as_ref().dl_tensor,
                Self::Unversioned(managed) => &managed.as_ref().dl_tensor,
            }
        }
    }

    fn is_read_only(&self) -> bool {
        match self {
            // SAFETY: as in `tensor`.
            Self::Versioned(managed) => unsafe { managed.as_ref() }.flags & FLAG_READ_ONLY != 0,
            Self::Unversioned(_) => false,
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: as in `tensor`; it is not used again.
        unsafe {
            match *self {
                Self::Versioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
                Self::Unversioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
        }
    }
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

    /// Hands the tensor over, in the form of DLPack 1.0 and later. Who gets it calls its `deleter` when done.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        if let Managed::Versioned(managed) = self.managed {
            std::mem::forget(self);
            return managed;
        }
        export::versioned(self)
    }

    /// [`into_raw`](Self::into_raw) in the form before DLPack 1.0, which cannot say that memory is read only.
    ///
    /// # Errors
    ///
    /// If the memory is read only; then the tensor is given back.
    pub fn into_raw_unversioned(self) -> Result<NonNull<DLManagedTensor>, DlpackError> {
        if let Managed::Unversioned(managed) = self.managed {
            std::mem::forget(self);
            return Ok(managed);
        }
        if self.managed.is_read_only() {
            return Err(DlpackError::ReadOnly);
        }
        Ok(export::unversioned(self))
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
