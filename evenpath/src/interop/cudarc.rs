use std::mem::ManuallyDrop;
use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtrMut, DriverError};

use crate::{Device, DeviceError, DeviceVec};

/// Exchange of memory with `cudarc` on a device of the [primary context](Device::cuda_primary), which
/// `cudarc` uses too.
impl<T: Pod + Send> DeviceVec<T> {
    /// Converts a slice of `cudarc` to a vector in the same memory. Waits for the work of `cudarc` on it.
    /// When the vector is dropped, the slice is dropped.
    ///
    /// # Errors
    ///
    /// If the slice is of another context, is not aligned to sixteen bytes, or the device was lost. Then it
    /// is dropped.
    pub fn from_cudarc(device: &Device, mut slice: CudaSlice<T>) -> Result<Self, DeviceError> {
        let (stream, len) = (Arc::clone(slice.stream()), slice.len());
        // The slice's stream waits for work of others on it.
        let (address, guard) = slice.device_ptr_mut(&stream);
        drop(guard);
        check_context(device, stream.context(), address)?;
        synchronize(device, &stream)?;
        // SAFETY: the memory is the slice's, of the device's context, until it is dropped, and there is no
        // other reference to the slice. Earlier work on it was waited for.
        unsafe { Self::from_raw_parts(device, address, len, move || drop(slice)) }
    }

    /// Lends the vector to `cudarc`, for work on one of its streams. Waits for the device's work on it.
    ///
    /// # Errors
    ///
    /// If the stream is of another context, or the device was lost.
    pub fn into_cudarc(self, stream: &Arc<CudaStream>) -> Result<CudarcVec<T>, DeviceError> {
        check_context(self.device(), stream.context(), self.raw_address())?;
        self.device().synchronize()?;
        // SAFETY: the memory holds the elements as long as the vector lives, which outlives the slice. The
        // slice is never freed.
        let slice = unsafe { stream.upgrade_device_ptr(self.raw_address(), self.len()) };
        Ok(CudarcVec {
            slice: ManuallyDrop::new(slice),
            stream: Arc::clone(stream),
            vec: ManuallyDrop::new(self),
        })
    }
}

/// A vector lent to `cudarc`: see [`DeviceVec::into_cudarc`]. Dropping it waits for the work of `cudarc` on
/// it.
pub struct CudarcVec<T: Pod> {
    slice: ManuallyDrop<CudaSlice<T>>,
    stream: Arc<CudaStream>,
    vec: ManuallyDrop<DeviceVec<T>>,
}

impl<T: Pod> CudarcVec<T> {
    /// The elements, for reading by `cudarc`.
    pub fn as_view(&self) -> CudaView<'_, T> {
        self.slice.as_view()
    }

    /// The elements, for writing by `cudarc`.
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.slice.as_view_mut()
    }

    /// Returns the vector. Waits for the work of `cudarc` on it.
    ///
    /// # Errors
    ///
    /// If waiting failed. The memory is then kept until the program ends.
    pub fn into_vec(self) -> Result<DeviceVec<T>, DeviceError> {
        let mut lent = ManuallyDrop::new(self);
        lent.end()?;
        // SAFETY: it is taken once: `lent` is not dropped.
        Ok(unsafe { ManuallyDrop::take(&mut lent.vec) })
    }

    /// Waits for the work of `cudarc`. The slice is not used again.
    fn end(&mut self) -> Result<(), DeviceError> {
        // SAFETY: it is taken once: the caller ends the loan.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        // Its stream waits for work of others on it; the memory stays.
        slice.leak();
        synchronize(self.vec.device(), &self.stream)
    }
}

impl<T: Pod> Drop for CudarcVec<T> {
    fn drop(&mut self) {
        if self.end().is_ok() {
            // SAFETY: it is dropped once, and the memory is no longer used.
            unsafe { ManuallyDrop::drop(&mut self.vec) };
        }
    }
}

impl<T: Pod> std::fmt::Debug for CudarcVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CudarcVec").field(&*self.vec).finish()
    }
}

/// Returns an error unless the device uses the context.
fn check_context(device: &Device, context: &CudaContext, address: u64) -> Result<(), DeviceError> {
    if device.raw_context()? == context.cu_ctx().cast() {
        return Ok(());
    }
    let reason = "it is of another context; see `Device::cuda_primary`".into();
    Err(DeviceError::ForeignMemory { address, device: device.to_string(), reason })
}

fn synchronize(device: &Device, stream: &CudaStream) -> Result<(), DeviceError> {
    stream.synchronize().map_err(|error: DriverError| DeviceError::Driver {
        device: device.to_string(),
        call: "cuStreamSynchronize",
        code: error.0 as i32,
        message: error.to_string(),
    })
}
