//! Memory and streams that somebody else made, and ours for others.

use std::ffi::c_void;

use bytemuck::Pod;

use super::allocation::{Allocation, Release};
use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::Block;
use super::order::Access;
use super::owner::{Foreign, Owner};
use super::properties::DeviceKind;
use super::slice::{DeviceSlice, Elements, HostRange, Memory, byte_count};
use super::stream::Stream;
use super::vec::DeviceVec;

/// The memory of a [`DeviceVec`] that was [given away](DeviceVec::into_raw_parts).
pub struct RawParts {
    /// The address of the first element: of the device's memory, and on the CPU of the host's. 0 if there are no elements.
    pub address: u64,
    /// Elements.
    pub len: usize,
    /// Frees the memory. Call it from any thread, once all work that uses the memory is done. The memory leaks if it is never called.
    pub release: Box<dyn FnOnce() + Send>,
}

impl<T: Pod> DeviceVec<T> {
    /// A vector of memory that somebody else made: `len` elements at an address of the device's memory, or of the host's on the CPU.
    /// When the vector is dropped and the device has done all work that uses it, `release` is called. The memory does not count as in
    /// use by the device.
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
    /// If the address is not a multiple of sixteen bytes, the driver knows it as memory of another context, or the device was lost. The
    /// memory is then still the caller's, and `release` is dropped.
    ///
    /// # Safety
    ///
    /// Until `release` is called, the memory is valid, only the device writes to it, and nothing else reads it while the device does.
    /// What others asked to be done to it before is done, or is in a stream that the device's work comes after: a
    /// [foreign stream](Device::foreign_stream) in which the vector is used first, or the legacy default stream for a device of the
    /// [primary context](Device::cuda_primary). On an NVIDIA GPU it is memory of the device's context, or of the GPU's memory pools.
    pub unsafe fn from_raw_parts(
        device: &Device,
        address: u64,
        len: usize,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self, DeviceError> {
        if !address.is_multiple_of(16) && len > 0 {
            return Err(DeviceError::Misaligned { address });
        }
        // SAFETY: the caller's.
        let (elements, owner) = unsafe { foreign(device, address, len, release) }?;
        Ok(Self::of_parts(elements, owner))
    }

    /// The elements at an address that need not be a multiple of sixteen bytes, in memory of their own unless it is, or the device is
    /// the CPU, and they may be written.
    ///
    /// # Errors
    ///
    /// As for [`from_raw_parts`](Self::from_raw_parts), and if there is no memory for a copy. The address must be a multiple of the
    /// elements' alignment.
    ///
    /// # Safety
    ///
    /// As there.
    pub(crate) unsafe fn import(
        device: &Device,
        (address, len): (u64, usize),
        is_read_only: bool,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self, DeviceError> {
        // SAFETY: the caller's.
        let (elements, owner) = unsafe { foreign::<T>(device, address, len, release) }?;
        let is_aligned = address.is_multiple_of(16) || device.kind() == DeviceKind::Cpu;
        if is_aligned && !is_read_only {
            return Ok(Self::of_parts(elements, owner));
        }
        elements.as_slice().copied()
    }

    /// Gives the memory away. Work of the device that uses it may be under way: others come after it in a stream that waits for the
    /// device's, or after [`Device::synchronize`].
    pub fn into_raw_parts(self) -> RawParts
    where
        T: Send,
    {
        let (address, len) = (self.raw_address(), self.len());
        RawParts { address, len, release: Box::new(move || drop(self)) }
    }
}

/// Elements that somebody else made, with their memory.
type ForeignParts<T> = (Elements<T>, Owner<T>);

/// The elements at an address, a multiple of their alignment.
///
/// # Safety
///
/// As for [`DeviceVec::from_raw_parts`].
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
            // SAFETY: the caller's.
            let allocation = unsafe { Allocation::foreign(machine, Block { address, bytes }, release) };
            (Memory::Machine { allocation, offset: 0, len }, Owner::Device)
        }
        _ if len > 0 => {
            // SAFETY: the caller vouches for the elements, of a type that any bits are valid for.
            let elements = unsafe { std::slice::from_raw_parts_mut(address as *mut T, len) };
            (Memory::Host(HostRange::new(elements)), Owner::Foreign(Foreign::new(release)))
        }
        _ => (Memory::empty(), Owner::Foreign(Foreign::new(release))),
    };
    Ok((Elements::new(device.clone(), memory), owner))
}

impl<T: Pod> DeviceSlice<T> {
    /// The address of the first element, for others: of the device's memory, and on the CPU of the host's. 0 if there are no elements.
    ///
    /// The device does not know what others do with the memory. What they do must come after the device's work, as for
    /// [`DeviceVec::into_raw_parts`], and before what it is asked next; and no graph of the device may be launched meanwhile that uses
    /// the memory.
    pub fn raw_address(&self) -> u64 {
        match &self.parts.memory {
            Memory::Host(range) if range.get().is_empty() => 0,
            Memory::Host(range) => range.get().as_ptr() as u64,
            Memory::Machine { .. } => self.address(),
        }
    }
}

impl Device {
    /// A stream that somebody else made, as a `CUstream`: what is asked of the device in its [scope](Stream::scope) is put on it, in
    /// order with what they put there. When the stream is dropped here, it stays theirs, and may be destroyed.
    ///
    /// # Errors
    ///
    /// If the device is not an NVIDIA GPU, or was lost.
    ///
    /// # Safety
    ///
    /// It is a stream of the device's context (see [`cuda_primary`](Self::cuda_primary)) and not being captured, and exists until the
    /// stream that is returned is dropped.
    pub unsafe fn foreign_stream(&self, stream: *mut c_void) -> Result<Stream, DeviceError> {
        let number = match self.backend() {
            Backend::Cpu => None,
            // SAFETY: the caller's.
            Backend::Machine(machine) => unsafe { machine.take_foreign_stream(stream) }?,
        };
        let number = number.ok_or_else(|| self.not_cuda("streams of others"))?;
        Ok(Stream::of_number(self, number))
    }

    /// The stream that the calling thread puts work on, as a `CUstream`, for others to put work on it or to wait for it. It lives as
    /// long as the device, or as the [`Stream`] whose scope the thread is in.
    ///
    /// # Errors
    ///
    /// As for [`foreign_stream`](Self::foreign_stream).
    pub fn raw_stream(&self) -> Result<*mut c_void, DeviceError> {
        let stream = match self.backend() {
            Backend::Cpu => None,
            Backend::Machine(machine) => machine.raw_stream(self.stream_number())?,
        };
        stream.ok_or_else(|| self.not_cuda("stream of the driver"))
    }

    /// The device's context, as a `CUcontext`.
    ///
    /// # Errors
    ///
    /// As for [`foreign_stream`](Self::foreign_stream).
    pub fn raw_context(&self) -> Result<*mut c_void, DeviceError> {
        self.context()?.map(|(context, _)| context).ok_or_else(|| self.not_cuda("context of the driver"))
    }

    /// Has another library put work on the stream that the calling thread puts work on. `put` gets the stream as a `CUstream`, or null
    /// where the device is not an NVIDIA GPU, and calls the library while the device's context is current. The work is ordered as the
    /// device's own: it comes after what other streams do to the memory that it reads and writes, and before what they do next.
    ///
    /// While `put` runs, other threads that ask something of this device wait.
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
    /// If memory is of another device, this thread captures a graph of the device, or the device was lost; then nothing is put there.
    ///
    /// # Safety
    ///
    /// The work uses no other memory of the device than that, reads what it reads and writes what it writes, and is on the stream when
    /// `put` returns, and on no other. `put` asks nothing of the device, and leaves the current context as it was.
    pub unsafe fn put_foreign<T: Pod, R>(
        &self,
        reads: &[&DeviceSlice<T>],
        writes: &mut [&mut DeviceSlice<T>],
        put: impl FnOnce(*mut c_void) -> R,
    ) -> Result<R, DeviceError> {
        self.refuse_in_graph("work of others is put on a stream")?;
        let mut accesses = Vec::with_capacity(reads.len() + writes.len());
        for slice in reads {
            self.check_same(slice.device())?;
            accesses.push(Access::read(slice.address(), byte_count::<T>(slice.len())?));
        }
        for slice in writes {
            self.check_same(slice.device())?;
            accesses.push(Access::write(slice.address(), byte_count::<T>(slice.len())?));
        }
        let (mut put, mut result) = (Some(put), None);
        let mut once = |stream| result = put.take().map(|put| put(stream));
        match self.backend() {
            Backend::Cpu => once(std::ptr::null_mut()),
            Backend::Machine(machine) => machine.put_foreign(self.stream_number(), &accesses, &mut once)?,
        }
        result.ok_or_else(|| self.not_cuda("work of others"))
    }

    /// Whether others can use the device's memory by its address: on the CPU, and in the primary context of a GPU.
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
