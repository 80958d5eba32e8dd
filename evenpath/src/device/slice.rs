//! Slices: the common interface of vectors and parts of them.

use crate::memory::try_zeroed;
use std::ops::{Bound, Range, RangeBounds};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;

use super::allocation::Allocation;
use super::error::DeviceError;
use super::handle::Device;
use crate::Scalar;

/// Elements in a device's memory: a [`DeviceVec`](super::DeviceVec) or a [part](Self::slice) of one. It
/// relates to `DeviceVec<T>` as `[T]` does to `Vec<T>`: operations take it, and a reference to a vector or
/// part dereferences to it.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let x = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// let mut y = device.zeros(6)?;
/// vector::axpby(10.0, &x.slice(2..)?, 0.0, &mut y.slice_mut(1..3)?)?;
/// assert_eq!(y.download()?, [0.0, 30.0, 40.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), evenpath::Error>(())
/// ```
///
/// The type has no size, so there are only references to it.
#[repr(transparent)]
pub struct DeviceSlice<T: Pod> {
    pub(super) parts: Parts<T>,
}

/// The parts of a slice. The tail is empty; while its length is open, the type has no size.
pub(super) struct Parts<T: Pod, Tail: ?Sized = [()]> {
    pub(super) device: Device,
    pub(super) memory: SliceMemory<T>,
    _tail: Tail,
}

/// Location of elements.
pub(super) enum SliceMemory<T> {
    /// Host memory: on the CPU, and on any device if there are no elements.
    Host(HostRange<T>),
    Machine {
        allocation: Arc<Allocation>,
        offset: u64,
        len: usize,
    },
}

/// Elements in host memory. The creator guarantees that they outlive the range, and that its use respects the
/// borrow that it stands for.
pub(super) struct HostRange<T> {
    first: NonNull<T>,
    len: usize,
}

// SAFETY: a range is used like a slice, shared or mutable, of elements that may be sent.
unsafe impl<T: Send> Send for HostRange<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostRange<T> {}

impl<T> HostRange<T> {
    pub(super) fn new(elements: &mut [T]) -> Self {
        let len = elements.len();
        Self { first: NonNull::from(elements).cast(), len }
    }

    /// The part of `len` elements starting at `start`, which must be in bounds.
    pub(super) fn part(&self, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= self.len);
        // SAFETY: the first element is in the range or at its end.
        Self { first: unsafe { self.first.add(start) }, len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Address of the first element; valid also while a copy writes the elements.
    pub(super) fn first(&self) -> *mut T {
        self.first.as_ptr()
    }

    pub(super) fn get(&self) -> &[T] {
        // SAFETY: the elements are valid and are not written during the borrow, as the type requires.
        unsafe { NonNull::slice_from_raw_parts(self.first, self.len).as_ref() }
    }

    pub(super) fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: the elements are valid, and only this borrow accesses them, as the type requires.
        unsafe { NonNull::slice_from_raw_parts(self.first, self.len).as_mut() }
    }
}

impl<T> SliceMemory<T> {
    /// No elements.
    pub(super) fn empty() -> Self {
        Self::Host(HostRange::new(&mut []))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Host(range) => range.len,
            Self::Machine { len, .. } => *len,
        }
    }

    /// The part of `len` elements starting at `start`, which must be in bounds.
    pub(super) fn part(&self, start: usize, len: usize) -> Self {
        match self {
            Self::Host(range) => Self::Host(range.part(start, len)),
            Self::Machine { .. } if len == 0 => Self::empty(),
            Self::Machine { allocation, offset, .. } => {
                let offset = offset + (start * size_of::<T>()) as u64;
                Self::Machine { allocation: Arc::clone(allocation), offset, len }
            }
        }
    }
}

impl<V: Scalar> SliceMemory<V> {
    /// The same memory, as the real and imaginary parts of its numbers.
    pub(super) fn real(&self) -> SliceMemory<V::Real> {
        let parts = const { size_of::<V>() / size_of::<V::Real>() };
        match self {
            Self::Host(HostRange { first, len }) => {
                SliceMemory::Host(HostRange { first: first.cast(), len: parts * len })
            }
            Self::Machine { allocation, offset, len } => {
                SliceMemory::Machine { allocation: Arc::clone(allocation), offset: *offset, len: parts * len }
            }
        }
    }
}

/// The parts of a slice, by value.
pub(super) type Elements<T> = Parts<T, [(); 0]>;

impl<T: Pod> Elements<T> {
    pub(super) fn new(device: Device, memory: SliceMemory<T>) -> Self {
        Self { device, memory, _tail: [] }
    }

    pub(super) fn as_slice(&self) -> &DeviceSlice<T> {
        let parts: &Parts<T> = self;
        // SAFETY: a slice has the layout of its parts.
        unsafe { &*(std::ptr::from_ref(parts) as *const DeviceSlice<T>) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut DeviceSlice<T> {
        let parts: &mut Parts<T> = self;
        // SAFETY: as above.
        unsafe { &mut *(std::ptr::from_mut(parts) as *mut DeviceSlice<T>) }
    }
}

impl<T: Pod> DeviceSlice<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.parts.memory.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device that has the elements.
    pub fn device(&self) -> &Device {
        &self.parts.device
    }

    /// Copies all elements to a new vector on the host.
    ///
    /// # Errors
    ///
    /// If the device was lost, the host has too little memory, or, on the simulated GPU, an element was never
    /// written.
    pub fn download(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = host_zeros(self.len())?;
        self.copy_to_slice(&mut values)?;
        Ok(values)
    }

    /// Copies all elements to a slice of the same length.
    ///
    /// # Errors
    ///
    /// If the lengths differ; otherwise the same as for [`download`](Self::download).
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<(), DeviceError> {
        check_len(self.len(), values.len())?;
        self.read(0, values)
    }

    /// Copies the first elements to the host.
    ///
    /// # Errors
    ///
    /// If there are fewer; otherwise the same as for [`download`](Self::download).
    pub(crate) fn first<const N: usize>(&self) -> Result<[T; N], DeviceError> {
        if self.len() < N {
            return Err(DeviceError::LengthMismatch { source_len: self.len(), destination_len: N });
        }
        let mut values = [T::zeroed(); N];
        self.read(0, &mut values)?;
        Ok(values)
    }

    /// Copies one element, counted from 0, to the host.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let x = device.upload(&[1.0, 2.0, 4.0])?;
    /// let mut square = device.zeros(1)?;
    /// vector::dot_into(&x, &x, &mut square)?;
    /// assert_eq!(square.get(0)?, 21.0);
    /// assert!(square.get(1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the index is out of bounds; otherwise the same as for [`download`](Self::download).
    pub fn get(&self, index: usize) -> Result<T, DeviceError> {
        if index >= self.len() {
            return Err(DeviceError::OutOfBounds { index, len: self.len() });
        }
        let mut value = [T::zeroed()];
        self.read(index, &mut value)?;
        Ok(value[0])
    }

    /// Copies the elements starting at `start`, which must be in bounds.
    pub(super) fn read(&self, start: usize, values: &mut [T]) -> Result<(), DeviceError> {
        self.parts.device.refuse_in_graph("a vector is copied to the host")?;
        match &self.parts.memory {
            SliceMemory::Host(own) => values.copy_from_slice(&own.get()[start..start + values.len()]),
            SliceMemory::Machine { allocation, offset, .. } => {
                let offset = offset + (start * size_of::<T>()) as u64;
                // SAFETY: the elements are the slice's.
                unsafe {
                    allocation.read(
                        self.parts.device.stream_number(),
                        offset,
                        bytemuck::cast_slice_mut(values),
                    )
                }?;
            }
        }
        Ok(())
    }

    /// Replaces all elements by those of `values`, a slice of the same length.
    ///
    /// ```
    /// let mut x = evenpath::Device::best()?.upload(&[1.0, 2.0, 3.0])?;
    /// x.slice_mut(1..)?.copy_from_slice(&[20.0, 30.0])?;
    /// assert_eq!(x.download()?, [1.0, 20.0, 30.0]);
    /// assert!(x.copy_from_slice(&[4.0]).is_err()); // of another length
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the lengths differ (then nothing is written), or the device was lost.
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.parts.device.refuse_in_graph("a vector is copied from the host")?;
        check_len(values.len(), self.len())?;
        match &mut self.parts.memory {
            SliceMemory::Host(own) => own.get_mut().copy_from_slice(values),
            SliceMemory::Machine { allocation, offset, .. } => {
                // SAFETY: the range is the slice's.
                unsafe {
                    allocation.write(self.parts.device.stream_number(), *offset, bytemuck::cast_slice(values))
                }?;
            }
        }
        Ok(())
    }

    /// Sets all bits of all elements to zero.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn set_zero(&mut self) -> Result<(), DeviceError> {
        match &mut self.parts.memory {
            SliceMemory::Host(own) => own.get_mut().fill(T::zeroed()),
            SliceMemory::Machine { allocation, offset, len } => {
                // SAFETY: the range is the slice's.
                unsafe { self.parts.device.zero_memory(allocation, *offset, byte_count::<T>(*len)?) }?;
            }
        }
        Ok(())
    }

    /// Sets the first element, which consists of whole words. Unlike
    /// [`copy_from_slice`](Self::copy_from_slice), does not wait and can be captured.
    ///
    /// # Errors
    ///
    /// If there are no elements, or the device was lost.
    pub(crate) fn set_first(&mut self, value: T) -> Result<(), DeviceError> {
        const { assert!(size_of::<T>().is_multiple_of(4) && align_of::<T>() >= 4) };
        if self.is_empty() {
            return Err(DeviceError::OutOfBounds { index: 0, len: 0 });
        }
        match &mut self.parts.memory {
            SliceMemory::Host(own) => own.get_mut()[0] = value,
            SliceMemory::Machine { allocation, offset, .. } => {
                let (words, _) = bytemuck::bytes_of(&value).as_chunks();
                for (at, &word) in (0..).zip(words) {
                    // SAFETY: the word is part of the first element, whose address is a multiple of its
                    // alignment.
                    unsafe {
                        self.parts.device.store_word(allocation, *offset + 4 * at, u32::from_ne_bytes(word))
                    }?;
                }
            }
        }
        Ok(())
    }

    /// Replaces all elements by those of `source`, a slice of the same length on the same device.
    ///
    /// ```
    /// let device = evenpath::Device::best()?;
    /// let x = device.upload(&[1.0, 2.0])?;
    /// let mut y = device.zeros(4)?;
    /// y.slice_mut(2..)?.copy_from(&x)?; // does not leave the device
    /// assert_eq!(y.download()?, [0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the lengths or the devices differ (then nothing is written), or the device was lost.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.parts.device.check_same(&source.parts.device)?;
        check_len(source.len(), self.len())?;
        match (&source.parts.memory, &mut self.parts.memory) {
            (SliceMemory::Host(from), SliceMemory::Host(to)) => to.get_mut().copy_from_slice(from.get()),
            (
                SliceMemory::Machine { allocation: from, offset: from_offset, len },
                SliceMemory::Machine { allocation: to, offset, .. },
            ) => {
                let bytes = byte_count::<T>(*len)?;
                // SAFETY: both ranges are slices of one length and device. They do not overlap, since one is borrowed mutably.
                unsafe { self.parts.device.copy_memory((to, *offset), (from, *from_offset), bytes) }?;
            }
            _ => return Err(self.parts.device.different_from(&source.parts.device)),
        }
        Ok(())
    }

    /// Returns the elements on the CPU, or if there are none; `None` on other devices.
    pub fn host_slice(&self) -> Option<&[T]> {
        match &self.parts.memory {
            SliceMemory::Host(values) => Some(values.get()),
            SliceMemory::Machine { .. } => None,
        }
    }

    /// Returns the elements mutably on the CPU, or if there are none; `None` on other devices.
    pub fn host_slice_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.parts.memory {
            SliceMemory::Host(values) => Some(values.get_mut()),
            SliceMemory::Machine { .. } => None,
        }
    }

    /// Returns whether a graph writes to the memory: then the elements may change during a borrow.
    pub(crate) fn is_in_graph(&self) -> bool {
        matches!(&self.parts.memory, SliceMemory::Machine { allocation, .. } if allocation.is_in_graph())
    }

    /// Device address; 0 if there are no elements, and on the CPU, which runs no kernels. A captured graph
    /// does not track it: kernels get [views](super::kernel_view).
    pub(super) fn address(&self) -> u64 {
        match &self.parts.memory {
            SliceMemory::Host(_) => 0,
            SliceMemory::Machine { allocation, offset, .. } => allocation.address() + offset,
        }
    }
}

impl<T: Pod> std::fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSlice")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len())
            .field("device", &self.parts.device)
            .finish()
    }
}

pub(super) fn byte_count<T>(len: usize) -> Result<u64, DeviceError> {
    const { assert!(size_of::<T>() > 0, "elements have a size") };
    let element_bytes = size_of::<T>();
    match len.checked_mul(element_bytes) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes as u64),
        _ => Err(DeviceError::TooLarge { elements: len, element_bytes }),
    }
}

/// Allocates `len` zeros in host memory.
pub(crate) fn host_zeros<T: Pod>(len: usize) -> Result<Vec<T>, DeviceError> {
    let requested = byte_count::<T>(len)?;
    try_zeroed(len).map_err(|()| DeviceError::HostOutOfMemory { requested })
}

/// Converts to a range of indices, and checks that it is within `len` elements.
pub(super) fn check_range(range: &impl RangeBounds<usize>, len: usize) -> Result<Range<usize>, DeviceError> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
    if start > end || end > len {
        return Err(DeviceError::RangeOutOfBounds { start, end, len });
    }
    Ok(start..end)
}

pub(super) fn check_len(source_len: usize, destination_len: usize) -> Result<(), DeviceError> {
    if source_len == destination_len {
        Ok(())
    } else {
        Err(DeviceError::LengthMismatch { source_len, destination_len })
    }
}
