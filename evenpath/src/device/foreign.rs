//! Foreign memory and streams, and access to the device's own for other code.

use std::ffi::c_void;

use bytemuck::Pod;

use super::allocation::{Allocation, Release};
use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::MemoryBlock;
use super::order::MemoryAccess;
use super::owner::{Foreign, Owner};
use super::properties::DeviceKind;
use super::slice::{DeviceSlice, Elements, HostRange, SliceMemory, byte_count};
use super::stream::Stream;
use super::vec::DeviceVec;

/// The memory of a [`DeviceVec`] that was [released to other code](DeviceVec::into_raw_parts).
pub struct RawParts {
    /// Address of the first element: in device memory, or in host memory on the CPU. 0 if there are no
    /// elements.
    pub address: u64,
    /// Number of elements.
    pub len: usize,
    /// Frees the memory. Call it from any thread, once all work that uses the memory is done. If it is never
    /// called, the memory leaks.
    pub release: Box<dyn FnOnce() + Send>,
}

impl<T: Pod> DeviceVec<T> {
    /// Wraps foreign memory as a vector: `len` elements at an address in device memory, or in host memory on
    /// the CPU. `release` is called once the vector is dropped and the device has done all work that uses it.
    /// The memory does not count as in use by the device.
    ///
    /// ```
    /// use evenpath::{Device, DeviceVec};
    ///
    /// let device = Device::cpu();
    /// let parts = device.upload(&[1.0, 2.0])?.into_raw_parts();
    /// // SAFETY: the memory is that of a vector of two elements of this device, and `release` ends its use.
    /// let x = unsafe { DeviceVec::<f64>::from_raw_parts(&device, parts.address, parts.len, parts.release) }?;
    /// assert_eq!(x.download()?, [1.0, 2.0]);
    /// # Ok::<(), evenpath::error::DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the address is not a multiple of sixteen bytes, the driver knows it as memory of another context,
    /// or the device was lost. The memory is then still the caller's, and `release` is dropped without being
    /// called.
    ///
    /// # Safety
    ///
    /// Until `release` is called, the memory is valid, only the device writes to it, and no other code reads
    /// it while the device does. Earlier work of other code on it is complete, or is in a stream that the
    /// device's work comes after: a [foreign stream](Device::foreign_stream) in which the vector is used
    /// first, or the legacy default stream for a device of the [primary context](Device::cuda_primary). On an
    /// NVIDIA GPU, the memory is of the device's context or of the GPU's memory pools.
    pub unsafe fn from_raw_parts(
        device: &Device,
        address: u64,
        len: usize,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self, DeviceError> {
        if !address.is_multiple_of(16) && len > 0 {
            return Err(DeviceError::Misaligned { address });
        }
        // SAFETY: guaranteed by the caller.
        let (elements, owner) = unsafe { foreign(device, address, len, release) }?;
        Ok(Self::of_parts(elements, owner))
    }

    /// Like [`from_raw_parts`](Self::from_raw_parts), but copies the elements if the address is not a
    /// multiple of sixteen bytes, unless the device is the CPU. The elements may be written.
    ///
    /// # Errors
    ///
    /// The same as for [`from_raw_parts`](Self::from_raw_parts), and if there is too little memory for a
    /// copy. The address must be a multiple of the elements' alignment.
    ///
    /// # Safety
    ///
    /// The same as for [`from_raw_parts`](Self::from_raw_parts).
    pub(crate) unsafe fn import(
        device: &Device,
        (address, len): (u64, usize),
        is_read_only: bool,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self, DeviceError> {
        // SAFETY: guaranteed by the caller.
        let (elements, owner) = unsafe { foreign::<T>(device, address, len, release) }?;
        let is_aligned = address.is_multiple_of(16) || device.kind() == DeviceKind::Cpu;
        if is_aligned && !is_read_only {
            return Ok(Self::of_parts(elements, owner));
        }
        elements.as_slice().copied()
    }

    /// Releases the memory to other code. Work of the device that uses it may be in progress: other code
    /// comes after it in a stream that waits for the device's, or after [`Device::synchronize`].
    pub fn into_raw_parts(self) -> RawParts
    where
        T: Send,
    {
        let (address, len) = (self.raw_address(), self.len());
        RawParts { address, len, release: Box::new(move || drop(self)) }
    }
}

/// Foreign elements, and the owner of their memory.
type ForeignParts<T> = (Elements<T>, Owner<T>);

/// Wraps the elements at an address that is a multiple of their alignment.
///
/// # Safety
///
/// The same as for [`DeviceVec::from_raw_parts`].
unsafe fn foreign<T: Pod>(
    device: &Device,
    address: u64,
    len: usize,
    release: impl FnOnce() + Send + 'static,
) -> Result<ForeignParts<T>, DeviceError> {
    let bytes = byte_count::<T>(len)?;
    if !address.is_multiple_of(align_of::<T>() as u64) && len > 0 {
        return Err(DeviceError::Misaligned { address });
    }
    let release: Release = Box::new(release);
    let (memory, owner) = match device.backend() {
        Backend::Machine(machine) if len > 0 => {
            if let Some(reason) = machine.refuses_address(address)? {
                return Err(DeviceError::ForeignMemory { address, device: device.to_string(), reason });
            }
            // SAFETY: guaranteed by the caller.
            let allocation = unsafe { Allocation::foreign(machine, MemoryBlock { address, bytes }, release) };
            (SliceMemory::Machine { allocation, offset: 0, len }, Owner::Device)
        }
        _ if len > 0 => {
            // SAFETY: the caller guarantees the elements, whose type allows any bits.
            let elements = unsafe { std::slice::from_raw_parts_mut(address as *mut T, len) };
            (SliceMemory::Host(HostRange::new(elements)), Owner::Foreign(Foreign::new(release)))
        }
        _ => (SliceMemory::empty(), Owner::Foreign(Foreign::new(release))),
    };
    Ok((Elements::new(device.clone(), memory), owner))
}

impl<T: Pod> DeviceSlice<T> {
    /// Address of the first element, for other code: in device memory, or in host memory on the CPU. 0 if
    /// there are no elements.
    ///
    /// The device does not track accesses by other code. These must come after the device's earlier work, as
    /// for [`DeviceVec::into_raw_parts`], and before its next, and no graph of the device that uses the
    /// memory may be launched meanwhile.
    pub fn raw_address(&self) -> u64 {
        match &self.parts.memory {
            SliceMemory::Host(range) if range.get().is_empty() => 0,
            SliceMemory::Host(range) => range.get().as_ptr() as u64,
            SliceMemory::Machine { .. } => self.address(),
        }
    }
}

impl Device {
    /// Wraps a foreign stream, a `CUstream`. Work of the device in its [scope](Stream::scope) is put on it,
    /// in order with the work of other code. Dropping the returned stream does not destroy the foreign
    /// stream; other code may do so afterwards.
    ///
    /// # Errors
    ///
    /// If the device is not an NVIDIA GPU, or was lost.
    ///
    /// # Safety
    ///
    /// The stream is of the device's context (see [`cuda_primary`](Self::cuda_primary)), is not being
    /// captured, and exists until the returned stream is dropped.
    pub unsafe fn foreign_stream(&self, stream: *mut c_void) -> Result<Stream, DeviceError> {
        let number = match self.backend() {
            Backend::Cpu => None,
            // SAFETY: guaranteed by the caller.
            Backend::Machine(machine) => unsafe { machine.take_foreign_stream(stream) }?,
        };
        let number = number.ok_or_else(|| self.not_cuda("foreign streams"))?;
        Ok(Stream::of_number(self, number))
    }

    /// Returns the calling thread's stream as a `CUstream`, so that other code can put work on it or wait for
    /// it. It lives as long as the device, or as the [`Stream`] whose scope the thread is in.
    ///
    /// # Errors
    ///
    /// The same as for [`foreign_stream`](Self::foreign_stream).
    pub fn raw_stream(&self) -> Result<*mut c_void, DeviceError> {
        let stream = match self.backend() {
            Backend::Cpu => None,
            Backend::Machine(machine) => machine.raw_stream(self.stream_number())?,
        };
        stream.ok_or_else(|| self.not_cuda("stream of the driver"))
    }

    /// Returns the device's context, as a `CUcontext`.
    ///
    /// # Errors
    ///
    /// The same as for [`foreign_stream`](Self::foreign_stream).
    pub fn raw_context(&self) -> Result<*mut c_void, DeviceError> {
        self.context()?.map(|(context, _)| context).ok_or_else(|| self.not_cuda("context of the driver"))
    }

    /// Lets another library put work on the calling thread's stream. `put` gets the stream as a `CUstream`,
    /// or null if the device is not an NVIDIA GPU, and calls the library with the device's context current.
    /// The work is ordered like the device's own: after earlier accesses of other streams to the memory that
    /// it reads and writes, and before their later ones.
    ///
    /// Other threads that use this device wait until `put` returns.
    ///
    /// ```
    /// use evenpath::{Device, DeviceSlice};
    ///
    /// let device = Device::cpu();
    /// let (x, mut y) = (device.upload(&[1.0, 2.0])?, device.zeros::<f64>(2)?);
    /// let (from, to) = (x.raw_address() as *const f64, y.raw_address() as *mut f64);
    /// // SAFETY: on the CPU these are addresses of two elements each, which the copy reads and writes.
    /// unsafe { device.put_foreign(&[&*x], &mut [&mut *y], |_stream| to.copy_from(from, 2)) }?;
    /// assert_eq!(y.download()?, [1.0, 2.0]);
    /// # Ok::<(), evenpath::error::DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory is of another device, this thread captures a graph of the device, or the device was lost;
    /// then `put` is not called.
    ///
    /// # Safety
    ///
    /// The work uses no other memory of the device than `reads` and `writes`, reads the former and writes the
    /// latter, and is on this stream alone when `put` returns. `put` does not call the device, and restores
    /// the current context.
    pub unsafe fn put_foreign<T: Pod, R>(
        &self,
        reads: &[&DeviceSlice<T>],
        writes: &mut [&mut DeviceSlice<T>],
        put: impl FnOnce(*mut c_void) -> R,
    ) -> Result<R, DeviceError> {
        self.refuse_in_graph("foreign work is put on a stream")?;
        let mut accesses = Vec::with_capacity(reads.len() + writes.len());
        for slice in reads {
            self.check_same(slice.device())?;
            accesses.push(MemoryAccess::read(slice.address(), byte_count::<T>(slice.len())?));
        }
        for slice in writes {
            self.check_same(slice.device())?;
            accesses.push(MemoryAccess::write(slice.address(), byte_count::<T>(slice.len())?));
        }
        let (mut put, mut result) = (Some(put), None);
        let mut once = |stream| result = put.take().map(|put| put(stream));
        match self.backend() {
            Backend::Cpu => once(std::ptr::null_mut()),
            Backend::Machine(machine) => machine.put_foreign(self.stream_number(), &accesses, &mut once)?,
        }
        result.ok_or_else(|| self.not_cuda("foreign work"))
    }

    /// Returns whether other code can use the device's memory by its address: on the CPU, and in the primary
    /// context of a GPU.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn shares_memory(&self) -> Result<bool, DeviceError> {
        match self.backend() {
            Backend::Cpu => Ok(true),
            Backend::Machine(_) => Ok(matches!(self.context()?, Some((_, true)))),
        }
    }

    fn context(&self) -> Result<Option<(*mut c_void, bool)>, DeviceError> {
        match self.backend() {
            Backend::Cpu => Ok(None),
            Backend::Machine(machine) => machine.raw_context(),
        }
    }

    fn not_cuda(&self, what: &'static str) -> DeviceError {
        DeviceError::NotCuda { device: self.to_string(), what }
    }
}
