//! Exchange of tensors with other libraries through [DLPack](https://dmlc.github.io/dlpack/latest/): PyTorch,
//! CuPy, JAX, NumPy and others exchange them without a copy.
//!
//! A [`Tensor`] is memory with a shape and a deleter. Vectors are exported as one-dimensional tensors, and
//! dense matrices as two-dimensional ones; tensors are imported as either, on the device that has the memory:
//! [`Device::cpu`], or the GPU in its primary context ([`Device::cuda_primary`]), in which those libraries
//! allocate.
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
mod managed;
mod tensor;

pub use abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, FLAG_READ_ONLY,
};
pub use element::TensorElement;
pub use error::DlpackError;
pub use tensor::Tensor;

#[cfg(doc)]
use crate::Device;
