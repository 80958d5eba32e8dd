//! Tensors for other libraries.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::abi::{
    CPU, CUDA, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY, VERSION,
};
use super::element::Element;
use super::error::DlpackError;
use super::managed::Managed;
use super::tensor::Tensor;
use crate::device::{Device, DeviceKind, DeviceVec};
use crate::{DeviceDense, Storage};

impl Tensor {
    /// A tensor of one dimension that has the memory of a vector. Waits for the device, so that others may use it at once.
    ///
    /// # Errors
    ///
    /// If others cannot use the device's memory: it is simulated, or a GPU in a context of its own. If the device was lost.
    pub fn from_vec<T: Element>(vec: DeviceVec<T>) -> Result<Self, DlpackError> {
        let len = vec.len() as i64;
        own(vec, vec![len], vec![1])
    }

    /// A tensor of two dimensions, rows and columns, that has the memory of a dense matrix; otherwise as
    /// [`from_vec`](Self::from_vec).
    ///
    /// # Errors
    ///
    /// As for [`from_vec`](Self::from_vec).
    pub fn from_dense<T: Element + Storage>(matrix: DeviceDense<T>) -> Result<Self, DlpackError> {
        let shape = vec![matrix.rows() as i64, matrix.cols() as i64];
        let (row, col) = matrix.strides();
        own(matrix.into_vec(), shape, vec![row as i64, col as i64])
    }

    /// Hands the tensor over, in the form of DLPack 1.0 and later. Who gets it calls its `deleter` when done.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        if let Managed::Versioned(managed) = self.managed {
            std::mem::forget(self);
            return managed;
        }
        versioned(self)
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
        Ok(unversioned(self))
    }
}

/// What a tensor of ours holds until it is given back.
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

fn own<T: Element>(vec: DeviceVec<T>, shape: Vec<i64>, strides: Vec<i64>) -> Result<Tensor, DlpackError> {
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

/// What DLPack calls a device.
fn place(device: &Device) -> Result<DLDevice, DlpackError> {
    if !device.shares_memory()? {
        return Err(DlpackError::NotShared { device: device.to_string() });
    }
    Ok(match device.kind() {
        DeviceKind::Cuda(ordinal) => DLDevice { device_type: CUDA, device_id: ordinal as i32 },
        DeviceKind::Cpu | DeviceKind::Simulated => DLDevice { device_type: CPU, device_id: 0 },
    })
}

/// The tensor in the form of DLPack 1.0 and later.
fn versioned(tensor: Tensor) -> NonNull<DLManagedTensorVersioned> {
    let flags = if tensor.managed.is_read_only() { FLAG_READ_ONLY } else { 0 };
    let dl_tensor = copy(tensor.managed.tensor());
    manage_versioned(dl_tensor, flags, Box::new(tensor))
}

/// The tensor in the form before DLPack 1.0.
fn unversioned(tensor: Tensor) -> NonNull<DLManagedTensor> {
    unsafe extern "C" fn deleter(managed: *mut DLManagedTensor) {
        // SAFETY: whoever has the tensor calls this once; both boxes were made below.
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

/// A tensor that drops `owner` when it is given back.
fn manage_versioned<T: Send>(
    dl_tensor: DLTensor,
    flags: u64,
    owner: Box<T>,
) -> NonNull<DLManagedTensorVersioned> {
    unsafe extern "C" fn deleter<T>(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: whoever has the tensor calls this once; both boxes were made below, with this type.
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
