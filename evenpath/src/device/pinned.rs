//! Page-locked host memory, and copies that the host does not wait for.

use std::alloc::Layout;
use std::ptr::NonNull;

use bytemuck::Pod;
use parking_lot::Mutex;

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::Transfer;
use super::slice::{DeviceSlice, HostRange, Memory, byte_count, check_range};

/// The unit in which host memory is page-locked.
const PAGE: usize = 4096;

/// A vector in page-locked host memory, which a GPU copies from and to while the host goes on.
///
/// [`copy_from_pinned`](DeviceSlice::copy_from_pinned) and [`copy_to_pinned`](DeviceSlice::copy_to_pinned) begin copies and return. They
/// happen in the order of the stream that the calling thread uses, so several [streams](super::Stream) upload, compute and download
/// at once. The elements are reached through [`as_slice`](Self::as_slice) and [`as_mut_slice`](Self::as_mut_slice), which wait for
/// the copies that they must come after; so does dropping the vector.
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
/// Page-locking takes the system time, and memory that it cannot use otherwise: make such a vector once and use it often. On the CPU and
/// the simulated GPU it is memory as any other.
pub struct PinnedVec<T: Pod> {
    device: Device,
    /// Memory of this vector alone, initialized as long as it lives.
    elements: HostRange<T>,
    /// Copies from it that may be under way.
    reads: Mutex<Vec<Box<dyn Transfer>>>,
    /// Copies to it that may be under way.
    writes: Mutex<Vec<Box<dyn Transfer>>>,
}

impl Device {
    /// Page-locked host memory for `len` elements, with all bits zero.
    ///
    /// # Errors
    ///
    /// If there is no memory, the system refuses to lock it, or the device was lost.
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
        // SAFETY: there are as many elements, all zero, which a `Pod` may be.
        vector.elements =
            HostRange::new(unsafe { NonNull::slice_from_raw_parts(first.cast(), len).as_mut() });
        Ok(vector)
    }
}

/// The layout of `len` elements, rounded up to whole pages; `None` if `len` is zero.
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
    /// Elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device whose copies the host need not wait for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The elements, after all copies to them.
    ///
    /// # Errors
    ///
    /// If the device was lost before they were copied, or a thread asks while it captures a graph.
    pub fn as_slice(&self) -> Result<&[T], DeviceError> {
        self.device.refuse_in_graph("the host waits for a copy")?;
        wait_for(&self.writes)?;
        // No copy to them can begin while they are borrowed: that takes `&mut self`.
        Ok(self.elements.get())
    }

    /// The elements, after all copies from and to them.
    ///
    /// # Errors
    ///
    /// As for [`as_slice`](Self::as_slice).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DeviceError> {
        self.device.refuse_in_graph("the host waits for a copy")?;
        wait_for(&self.writes)?;
        wait_for(&self.reads)?;
        Ok(self.elements.get_mut())
    }

    /// The `len` elements from `start` on.
    fn part(&self, start: usize, len: usize) -> Result<HostRange<T>, DeviceError> {
        let range = check_range(&(start..start.saturating_add(len)), self.len())?;
        Ok(self.elements.part(range.start, range.len()))
    }
}

/// Waits for copies. Those that cannot be waited for stay, and are told again.
fn wait_for(transfers: &Mutex<Vec<Box<dyn Transfer>>>) -> Result<(), DeviceError> {
    let mut transfers = transfers.lock();
    while let Some(transfer) = transfers.last() {
        transfer.wait()?;
        transfers.pop();
    }
    Ok(())
}

/// Notes a copy, and forgets those that are done.
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
    /// Replaces all elements by as many of a page-locked vector, from index `start` on. The call does not wait for the copy, which
    /// happens in the order of the stream that the calling thread uses.
    ///
    /// # Errors
    ///
    /// If the other does not have them or is of another device (then nothing is written), the device was lost, or a graph is
    /// captured.
    pub fn copy_from_pinned(&mut self, source: &PinnedVec<T>, start: usize) -> Result<(), DeviceError> {
        self.parts.device.refuse_in_graph("a vector is copied from the host")?;
        self.parts.device.check_same(&source.device)?;
        let from = source.part(start, self.len())?;
        match &mut self.parts.memory {
            // On the CPU no copy is pending, so the source is not being written.
            Memory::Host(own) => own.get_mut().copy_from_slice(from.get()),
            Memory::Machine { allocation, offset, .. } => {
                let bytes = from.len() * size_of::<T>();
                let stream = self.parts.device.stream_number();
                // SAFETY: both have as many bytes. The source keeps its own until the copy is done, which is noted there.
                let transfer =
                    unsafe { allocation.begin_write(stream, *offset, from.first().cast(), bytes) }?;
                note(&source.reads, transfer);
            }
        }
        Ok(())
    }

    /// Copies all elements to a page-locked vector, to index `start` and on. The call does not wait for the copy, which happens in
    /// the order of the stream that the calling thread uses.
    ///
    /// # Errors
    ///
    /// As for [`copy_from_pinned`](Self::copy_from_pinned).
    pub fn copy_to_pinned(&self, destination: &mut PinnedVec<T>, start: usize) -> Result<(), DeviceError> {
        self.parts.device.refuse_in_graph("a vector is copied to the host")?;
        self.parts.device.check_same(&destination.device)?;
        let mut to = destination.part(start, self.len())?;
        match &self.parts.memory {
            Memory::Host(own) => to.get_mut().copy_from_slice(own.get()),
            Memory::Machine { allocation, offset, .. } => {
                let bytes = to.len() * size_of::<T>();
                let stream = self.parts.device.stream_number();
                // SAFETY: both have as many bytes. The destination keeps its own until the copy is done, which is noted there.
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
