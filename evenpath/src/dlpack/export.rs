//! Export of tensors to other libraries.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::abi::{
    CPU, CUDA, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY, VERSION,
};
use super::element::TensorElement;
use super::error::DlpackError;
use super::managed::Managed;
use super::tensor::Tensor;
use crate::device::{Device, DeviceKind, DeviceVec};
use crate::{DeviceDense, Storage};

impl Tensor {
    /// Creates a one-dimensional tensor that takes over a vector's memory. Waits for the device, so that
    /// other libraries may use it at once.
    ///
    /// # Errors
    ///
    /// If other libraries cannot use the device's memory: it is simulated, or a GPU in a context of its own.
    /// If the device was lost.
    pub fn from_vec<T: TensorElement>(vec: DeviceVec<T>) -> Result<Self, DlpackError> {
        let len = vec.len() as i64;
        own(vec, vec![len], vec![1])
    }

    /// Creates a two-dimensional tensor, rows and columns, that takes over a dense matrix's memory; otherwise
    /// like [`from_vec`](Self::from_vec).
    ///
    /// # Errors
    ///
    /// The same as for [`from_vec`](Self::from_vec).
    pub fn from_dense<T: TensorElement + Storage>(matrix: DeviceDense<T>) -> Result<Self, DlpackError> {
        let shape = vec![matrix.nrows() as i64, matrix.ncols() as i64];
        let (row, col) = matrix.strides();
        own(matrix.into_vec(), shape, vec![row as i64, col as i64])
    }

    /// Exports the tensor in the form of DLPack 1.0 and later. The receiver calls its `deleter` when done.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        if let Managed::Versioned(managed) = self.managed {
            std::mem::forget(self);
            return managed;
        }
        versioned(self)
    }

    /// Like [`into_raw`](Self::into_raw), in the form before DLPack 1.0, which has no flag for read-only
    /// memory.
    ///
    /// # Errors
    ///
    /// If the memory is read-only; then the tensor is dropped.
    pub fn into_raw_unversioned(self) -> Result<NonNull<DLManagedTensor>, DlpackError> {
        if let Managed::Unversioned(managed) = self.managed {
            std::mem::forget(self);
            return Ok(managed);
        }
        if self.managed.is_read_only() {
            return Err(DlpackError::ReadOnly);
        }
        Ok(unversioned(self))
    }
}

/// Memory owned by an exported tensor.
struct Owner {
    shape: Vec<i64>,
    strides: Vec<i64>,
    release: Option<Box<dyn FnOnce() + Send>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

fn own<T: TensorElement>(
    vec: DeviceVec<T>,
    shape: Vec<i64>,
    strides: Vec<i64>,
) -> Result<Tensor, DlpackError> {
    let device = place(vec.device())?;
    vec.device().synchronize()?;
    let parts = vec.into_raw_parts();
    let mut owner = Box::new(Owner { shape, strides, release: Some(parts.release) });
    let dl_tensor = DLTensor {
        data: parts.address as *mut c_void,
        device,
        ndim: owner.shape.len() as i32,
        dtype: T::DATA_TYPE,
        shape: owner.shape.as_mut_ptr(),
        strides: owner.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Ok(Tensor { managed: Managed::Versioned(manage_versioned(dl_tensor, 0, owner)) })
}

/// DLPack's device for a device.
fn place(device: &Device) -> Result<DLDevice, DlpackError> {
    if !device.shares_memory()? {
        return Err(DlpackError::NotShared { device: device.to_string() });
    }
    Ok(match device.kind() {
        DeviceKind::Cuda(ordinal) => DLDevice { device_type: CUDA, device_id: ordinal as i32 },
        DeviceKind::Cpu | DeviceKind::Simulated => DLDevice { device_type: CPU, device_id: 0 },
    })
}

/// Converts a tensor to the form of DLPack 1.0 and later.
fn versioned(tensor: Tensor) -> NonNull<DLManagedTensorVersioned> {
    let flags = if tensor.managed.is_read_only() { FLAG_READ_ONLY } else { 0 };
    let dl_tensor = copy(tensor.managed.tensor());
    manage_versioned(dl_tensor, flags, Box::new(tensor))
}

/// Converts a tensor to the form before DLPack 1.0.
fn unversioned(tensor: Tensor) -> NonNull<DLManagedTensor> {
    unsafe extern "C" fn deleter(managed: *mut DLManagedTensor) {
        // SAFETY: the tensor's holder calls this once; both boxes were created below.
        unsafe {
            drop(Box::from_raw((*managed).manager_ctx.cast::<Tensor>()));
            drop(Box::from_raw(managed));
        }
    }
    let dl_tensor = copy(tensor.managed.tensor());
    let manager_ctx = Box::into_raw(Box::new(tensor)).cast();
    let managed = Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(deleter) });
    NonNull::from(Box::leak(managed))
}

/// Creates a tensor that drops `owner` when it is deleted.
fn manage_versioned<T: Send>(
    dl_tensor: DLTensor,
    flags: u64,
    owner: Box<T>,
) -> NonNull<DLManagedTensorVersioned> {
    unsafe extern "C" fn deleter<T>(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: the tensor's holder calls this once; both boxes were created below, with this type.
        unsafe {
            drop(Box::from_raw((*managed).manager_ctx.cast::<T>()));
            drop(Box::from_raw(managed));
        }
    }
    let managed = Box::new(DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: Box::into_raw(owner).cast(),
        deleter: Some(deleter::<T>),
        flags,
        dl_tensor,
    });
    NonNull::from(Box::leak(managed))
}

fn copy(tensor: &DLTensor) -> DLTensor {
    let &DLTensor { data, device, ndim, dtype, shape, strides, byte_offset } = tensor;
    DLTensor { data, device, ndim, dtype, shape, strides, byte_offset }
}
