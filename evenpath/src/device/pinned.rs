//! Page-locked host memory, and asynchronous copies.

use std::alloc::Layout;
use std::ptr::NonNull;

use bytemuck::Pod;
use parking_lot::Mutex;

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::Transfer;
use super::slice::{DeviceSlice, HostRange, SliceMemory, byte_count, check_range};

/// Granularity of page-locking.
const PAGE: usize = 4096;

/// A vector in page-locked host memory, for copies that run while the host continues.
///
/// [`copy_from_pinned`](DeviceSlice::copy_from_pinned) and [`copy_to_pinned`](DeviceSlice::copy_to_pinned)
/// start copies and return. The copies run in the order of the calling thread's stream, so several
/// [streams](super::Stream) upload, compute and download concurrently. [`as_slice`](Self::as_slice) and
/// [`as_mut_slice`](Self::as_mut_slice) give access to the elements and wait for the copies that must come
/// first, as does dropping the vector.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let mut host = device.pinned::<f64>(1000)?;
/// host.as_mut_slice()?.fill(2.0);
/// let mut x = device.uninitialized(1000)?;
/// x.copy_from_pinned(&host, 0)?; // does not wait
/// let mut y = device.zeros(1000)?;
/// vector::axpby(3.0, &x, 1.0, &mut y)?;
/// y.copy_to_pinned(&mut host, 0)?; // neither
/// assert_eq!(host.as_slice()?[999], 6.0); // waits
/// # Ok::<(), evenpath::Error>(())
/// ```
///
/// Page-locking takes time, and memory that the system cannot use otherwise: create such a vector once and
/// reuse it. On the CPU and the simulated GPU it is ordinary memory.
pub struct PinnedVec<T: Pod> {
    device: Device,
    /// Memory owned by this vector, initialized for its lifetime.
    elements: HostRange<T>,
    /// Copies from the memory that may be in progress.
    reads: Mutex<Vec<Box<dyn Transfer>>>,
    /// Copies to the memory that may be in progress.
    writes: Mutex<Vec<Box<dyn Transfer>>>,
}

impl Device {
    /// Allocates page-locked host memory for `len` elements, with all bits zero.
    ///
    /// # Errors
    ///
    /// If there is too little memory, the system refuses to lock it, or the device was lost.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedVec<T>, DeviceError> {
        let mut vector = PinnedVec {
            device: self.clone(),
            elements: HostRange::new(&mut []),
            reads: Mutex::default(),
            writes: Mutex::default(),
        };
        let Some(layout) = layout::<T>(len)? else { return Ok(vector) };
        // SAFETY: the layout has a size.
        let Some(first) = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }) else {
            return Err(DeviceError::HostOutOfMemory { requested: layout.size() as u64 });
        };
        if let Backend::Machine(machine) = self.backend() {
            // SAFETY: the memory is unlocked before it is freed.
            if let Err(error) = unsafe { machine.pin(first.as_ptr(), layout.size()) } {
                // SAFETY: it was just allocated with this layout, and is not used.
                unsafe { std::alloc::dealloc(first.as_ptr(), layout) };
                return Err(error);
            }
        }
        // SAFETY: the memory holds `len` zeroed elements, which is valid for `Pod`.
        vector.elements =
            HostRange::new(unsafe { NonNull::slice_from_raw_parts(first.cast(), len).as_mut() });
        Ok(vector)
    }
}

/// Layout of `len` elements, rounded up to whole pages; `None` if `len` is zero.
fn layout<T>(len: usize) -> Result<Option<Layout>, DeviceError> {
    let too_large = DeviceError::TooLarge { elements: len, element_bytes: size_of::<T>() };
    let bytes = byte_count::<T>(len)? as usize;
    let Some(bytes) = bytes.checked_next_multiple_of(PAGE) else { return Err(too_large) };
    match Layout::from_size_align(bytes, PAGE.max(align_of::<T>())) {
        Ok(layout) => Ok((bytes > 0).then_some(layout)),
        Err(_) => Err(too_large),
    }
}

impl<T: Pod> PinnedVec<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device that copies asynchronously.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the elements, after waiting for all copies to them.
    ///
    /// # Errors
    ///
    /// If the device was lost before they were copied, or this thread captures a graph.
    pub fn as_slice(&self) -> Result<&[T], DeviceError> {
        self.device.refuse_in_graph("the host waits for a copy")?;
        wait_for(&self.writes)?;
        // No copy to them can start while they are borrowed: that takes `&mut self`.
        Ok(self.elements.get())
    }

    /// Returns the elements mutably, after waiting for all copies from and to them.
    ///
    /// # Errors
    ///
    /// The same as for [`as_slice`](Self::as_slice).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DeviceError> {
        self.device.refuse_in_graph("the host waits for a copy")?;
        wait_for(&self.writes)?;
        wait_for(&self.reads)?;
        Ok(self.elements.get_mut())
    }

    /// The `len` elements starting at `start`.
    fn part(&self, start: usize, len: usize) -> Result<HostRange<T>, DeviceError> {
        let range = check_range(&(start..start.saturating_add(len)), self.len())?;
        Ok(self.elements.part(range.start, range.len()))
    }
}

/// Waits for copies. Failed ones stay in the list, and are reported again.
fn wait_for(transfers: &Mutex<Vec<Box<dyn Transfer>>>) -> Result<(), DeviceError> {
    let mut transfers = transfers.lock();
    while let Some(transfer) = transfers.last() {
        transfer.wait()?;
        transfers.pop();
    }
    Ok(())
}

/// Adds a copy to the list, and removes completed ones.
fn note(transfers: &Mutex<Vec<Box<dyn Transfer>>>, transfer: Option<Box<dyn Transfer>>) {
    let mut transfers = transfers.lock();
    transfers.retain(|transfer| !transfer.is_done());
    transfers.extend(transfer);
}

impl<T: Pod> Drop for PinnedVec<T> {
    fn drop(&mut self) {
        // A copy that cannot be waited for has ended with its device.
        let _ = (wait_for(&self.reads), wait_for(&self.writes));
        if let Ok(Some(layout)) = layout::<T>(self.len()) {
            let first = self.elements.first().cast();
            if let Backend::Machine(machine) = self.device.backend() {
                // SAFETY: it was locked when the vector was made.
                unsafe { machine.unpin(first) };
            }
            // SAFETY: it was allocated with this layout, and is not used again.
            unsafe { std::alloc::dealloc(first, layout) };
        }
    }
}

impl<T: Pod> DeviceSlice<T> {
    /// Replaces all elements by those of a page-locked vector, starting at its index `start`. The call does
    /// not wait for the copy, which runs in the order of the calling thread's stream.
    ///
    /// # Errors
    ///
    /// If the source has too few elements or is of another device (then nothing is written), the device was
    /// lost, or a graph is captured.
    pub fn copy_from_pinned(&mut self, source: &PinnedVec<T>, start: usize) -> Result<(), DeviceError> {
        self.parts.device.refuse_in_graph("a vector is copied from the host")?;
        self.parts.device.check_same(&source.device)?;
        let from = source.part(start, self.len())?;
        match &mut self.parts.memory {
            // On the CPU no copy is pending, so the source is not being written.
            SliceMemory::Host(own) => own.get_mut().copy_from_slice(from.get()),
            SliceMemory::Machine { allocation, offset, .. } => {
                let bytes = from.len() * size_of::<T>();
                let stream = self.parts.device.stream_number();
                // SAFETY: both have that many bytes. The source keeps its memory until the copy, recorded there, is
                // done.
                let transfer =
                    unsafe { allocation.begin_write(stream, *offset, from.first().cast(), bytes) }?;
                note(&source.reads, transfer);
            }
        }
        Ok(())
    }

    /// Copies all elements to a page-locked vector, starting at its index `start`. The call does not wait for
    /// the copy, which runs in the order of the calling thread's stream.
    ///
    /// # Errors
    ///
    /// The same as for [`copy_from_pinned`](Self::copy_from_pinned).
    pub fn copy_to_pinned(&self, destination: &mut PinnedVec<T>, start: usize) -> Result<(), DeviceError> {
        self.parts.device.refuse_in_graph("a vector is copied to the host")?;
        self.parts.device.check_same(&destination.device)?;
        let mut to = destination.part(start, self.len())?;
        match &self.parts.memory {
            SliceMemory::Host(own) => to.get_mut().copy_from_slice(own.get()),
            SliceMemory::Machine { allocation, offset, .. } => {
                let bytes = to.len() * size_of::<T>();
                let stream = self.parts.device.stream_number();
                // SAFETY: both have that many bytes. The destination keeps its memory until the copy, recorded there,
                // is done.
                let transfer = unsafe { allocation.begin_read(stream, *offset, to.first().cast(), bytes) }?;
                note(&destination.writes, transfer);
            }
        }
        Ok(())
    }
}

impl<T: Pod> std::fmt::Debug for PinnedVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedVec")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len())
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}
