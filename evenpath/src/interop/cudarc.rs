use std::mem::ManuallyDrop;
use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtrMut, DriverError};

use crate::{Device, DeviceError, DeviceVec};

/// Memory of `cudarc` on a device of the [primary context](Device::cuda_primary), in which `cudarc` works too.
impl<T: Pod + Send> DeviceVec<T> {
    /// Takes a slice of `cudarc` as a vector of the same memory. Waits for what `cudarc` does with it. When the vector is dropped, the
    /// slice is dropped.
    ///
    /// # Errors
    ///
    /// If the slice is of another context, does not begin at a multiple of sixteen bytes, or the device was lost. Then it is dropped.
    pub fn from_cudarc(device: &Device, mut slice: CudaSlice<T>) -> Result<Self, DeviceError> {
        let (stream, len) = (Arc::clone(slice.stream()), slice.len());
        // The slice's stream waits for what others do with it.
        let (address, guard) = slice.device_ptr_mut(&stream);
        drop(guard);
        check_context(device, stream.context(), address)?;
        synchronize(device, &stream)?;
        // SAFETY: the memory is the slice's, of the device's context, until it is dropped, and nobody else has the slice. What was done
        // with it was waited for.
        unsafe { Self::from_raw_parts(device, address, len, move || drop(slice)) }
    }

    /// Lends the vector to `cudarc`, for work on a stream of its. Waits for what the device does with it.
    ///
    /// # Errors
    ///
    /// If the stream is of another context, or the device was lost.
    pub fn into_cudarc(self, stream: &Arc<CudaStream>) -> Result<CudarcVec<T>, DeviceError> {
        check_context(self.device(), stream.context(), self.raw_address())?;
        self.device().synchronize()?;
        // SAFETY: the memory holds the elements as long as the vector does, which outlives the slice. Nobody frees the slice.
        let slice = unsafe { stream.upgrade_device_ptr(self.raw_address(), self.len()) };
        Ok(CudarcVec {
            slice: ManuallyDrop::new(slice),
            stream: Arc::clone(stream),
            vec: ManuallyDrop::new(self),
        })
    }
}

/// A vector that is lent to `cudarc`: see [`DeviceVec::into_cudarc`]. Dropping it waits for what `cudarc` does with it.
pub struct CudarcVec<T: Pod> {
    slice: ManuallyDrop<CudaSlice<T>>,
    stream: Arc<CudaStream>,
    vec: ManuallyDrop<DeviceVec<T>>,
}

impl<T: Pod> CudarcVec<T> {
    /// The elements, to be read by `cudarc`.
    pub fn as_view(&self) -> CudaView<'_, T> {
        self.slice.as_view()
    }

    /// The elements, to be changed by `cudarc`.
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.slice.as_view_mut()
    }

    /// The vector. Waits for what `cudarc` does with it.
    ///
    /// # Errors
    ///
    /// If that failed. The memory is then kept until the program ends.
    pub fn into_vec(self) -> Result<DeviceVec<T>, DeviceError> {
        let mut lent = ManuallyDrop::new(self);
        lent.end()?;
        // SAFETY: it is taken once: `lent` is not dropped.
        Ok(unsafe { ManuallyDrop::take(&mut lent.vec) })
    }

    /// Waits for the work of `cudarc`. The slice is not used again.
    fn end(&mut self) -> Result<(), DeviceError> {
        // SAFETY: it is taken once: whoever calls this ends the loan.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        // Its stream waits for what others do with it; the memory stays.
        slice.leak();
        synchronize(self.vec.device(), &self.stream)
    }
}

impl<T: Pod> Drop for CudarcVec<T> {
    fn drop(&mut self) {
        if self.end().is_ok() {
            // SAFETY: it is dropped once, and nobody uses the memory any more.
            unsafe { ManuallyDrop::drop(&mut self.vec) };
        }
    }
}

impl<T: Pod> std::fmt::Debug for CudarcVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CudarcVec").field(&*self.vec).finish()
    }
}

/// An error unless the device works in the context.
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
