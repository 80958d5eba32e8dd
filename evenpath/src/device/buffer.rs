//! Vectors in a device's memory.

use std::sync::Arc;

use bytemuck::Pod;
use evenpath_simt::{Element, Global, GlobalMut};

use super::allocation::Allocation;
use super::memory_limit::Reservation;
use super::{Backend, Device, DeviceError, Upload};

/// A vector in a device's memory.
///
/// Everything done with it happens in the order in which it is asked, also by several [streams](super::Stream). Functions that take or
/// give host data wait for the copy; the others return at once. It may be dropped while kernels use it: they keep the memory until
/// they are through.
///
/// ```
/// let device = evenpath::Device::best()?;
/// let mut x = device.zeros::<f32>(3)?;
/// x.copy_from_slice(&[1.0, 2.0, 3.0])?;
/// assert_eq!((x.len(), x.get(1)?, x.download()?), (3, 2.0, vec![1.0, 2.0, 3.0]));
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
pub struct DeviceVec<T: Pod> {
    storage: Storage<T>,
    reservation: Reservation,
}

/// Where the elements are.
enum Storage<T> {
    /// On the CPU, and nothing where there are no elements.
    Host(Vec<T>),
    Machine(Arc<Allocation>, usize),
}

impl Device {
    /// A buffer of `len` elements with all bits zero.
    ///
    /// # Errors
    ///
    /// As for [`upload`](Self::upload).
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>, DeviceError> {
        let mut buffer = self.uninitialized(len)?;
        buffer.set_zero()?;
        Ok(buffer)
    }

    /// A buffer of `len` elements that hold whatever was there: for outputs. The simulated GPU reports reads before
    /// something is written.
    ///
    /// # Errors
    ///
    /// As for [`upload`](Self::upload).
    pub fn uninitialized<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>, DeviceError> {
        let bytes = byte_count::<T>(len)?;
        let reservation = Reservation::new(self, bytes)?;
        let storage = match self.backend() {
            Backend::Machine(machine) if len > 0 => Storage::Machine(Allocation::new(machine, bytes)?, len),
            _ => Storage::Host(host_zeros(len)?),
        };
        self.budget().record_peak();
        Ok(DeviceVec { storage, reservation })
    }
}

impl<T: Pod> Upload for [T] {
    type OnDevice = DeviceVec<T>;

    fn upload_to(&self, device: &Device) -> Result<DeviceVec<T>, DeviceError> {
        let mut buffer = device.uninitialized(self.len())?;
        buffer.copy_from_slice(self)?;
        Ok(buffer)
    }
}

impl<T: Pod, const N: usize> Upload for [T; N] {
    type OnDevice = DeviceVec<T>;

    fn upload_to(&self, device: &Device) -> Result<DeviceVec<T>, DeviceError> {
        self.as_slice().upload_to(device)
    }
}

impl<T: Pod> Upload for Vec<T> {
    type OnDevice = DeviceVec<T>;

    fn upload_to(&self, device: &Device) -> Result<DeviceVec<T>, DeviceError> {
        self.as_slice().upload_to(device)
    }
}

impl<T: Pod> DeviceVec<T> {
    /// Elements.
    pub fn len(&self) -> usize {
        match &self.storage {
            Storage::Host(values) => values.len(),
            Storage::Machine(_, len) => *len,
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shortens the vector to its first `len` elements; nothing happens if it has no more. Nothing is copied, and the
    /// memory of the whole is kept until the vector is dropped: see [`shrink_to_fit`](Self::shrink_to_fit).
    pub fn truncate(&mut self, len: usize) {
        match &mut self.storage {
            Storage::Host(values) => values.truncate(len),
            Storage::Machine(_, own) if len > 0 => *own = len.min(*own),
            Storage::Machine(..) => self.storage = Storage::Host(Vec::new()),
        }
    }

    /// Copies the elements to memory of just their size, and gives back the rest.
    ///
    /// # Errors
    ///
    /// If there is no memory for the copy beside the whole, within the device or its limit, or the device was lost;
    /// then the vector is as before.
    pub fn shrink_to_fit(&mut self) -> Result<(), DeviceError> {
        let mut fitting = self.device().uninitialized(self.len())?;
        fitting.copy_from(self)?;
        *self = fitting;
        Ok(())
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        self.reservation.device()
    }

    /// Bytes of device memory that it holds, also behind what [`truncate`](Self::truncate) left.
    pub(crate) fn bytes(&self) -> u64 {
        self.reservation.bytes()
    }

    /// Copies all elements to a new vector on the host.
    ///
    /// # Errors
    ///
    /// If the device was lost, the host has no memory, or, on the simulated GPU, an element was never written.
    pub fn download(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = host_zeros(self.len())?;
        self.copy_to_slice(&mut values)?;
        Ok(values)
    }

    /// Copies all elements to a slice of the same length.
    ///
    /// # Errors
    ///
    /// If the lengths differ, and as for [`download`](Self::download).
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<(), DeviceError> {
        self.device().refuse_in_graph("a vector is copied to the host")?;
        check_len(self.len(), values.len())?;
        match &self.storage {
            Storage::Host(own) => values.copy_from_slice(own),
            Storage::Machine(allocation, _) => {
                // SAFETY: the range is the whole buffer.
                unsafe {
                    allocation.read(self.device().stream_number(), 0, bytemuck::cast_slice_mut(values))
                }?;
            }
        }
        Ok(())
    }

    /// Copies the first elements to the host.
    ///
    /// # Errors
    ///
    /// If there are fewer, and as for [`download`](Self::download).
    pub(crate) fn first<const N: usize>(&self) -> Result<[T; N], DeviceError> {
        self.device().refuse_in_graph("a vector is copied to the host")?;
        if self.len() < N {
            return Err(DeviceError::LengthMismatch { source_len: self.len(), destination_len: N });
        }
        let mut values = [T::zeroed(); N];
        match &self.storage {
            Storage::Host(own) => values.copy_from_slice(&own[..N]),
            Storage::Machine(allocation, _) => {
                // SAFETY: the elements are the buffer's.
                unsafe {
                    allocation.read(self.device().stream_number(), 0, bytemuck::cast_slice_mut(&mut values))
                }?;
            }
        }
        Ok(values)
    }

    /// Copies one element to the host.
    ///
    /// # Errors
    ///
    /// If the buffer has no such element, and as for [`download`](Self::download).
    pub fn get(&self, index: usize) -> Result<T, DeviceError> {
        self.device().refuse_in_graph("a vector is copied to the host")?;
        if index >= self.len() {
            return Err(DeviceError::OutOfBounds { index, len: self.len() });
        }
        match &self.storage {
            Storage::Host(own) => Ok(own[index]),
            Storage::Machine(allocation, _) => {
                let mut value = T::zeroed();
                let offset = (index * size_of::<T>()) as u64;
                // SAFETY: the element is one of the buffer's.
                unsafe {
                    allocation.read(self.device().stream_number(), offset, bytemuck::bytes_of_mut(&mut value))
                }?;
                Ok(value)
            }
        }
    }

    /// Replaces all elements by those of a slice of the same length.
    ///
    /// # Errors
    ///
    /// If the lengths differ (then nothing is written), or the device was lost.
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.device().refuse_in_graph("a vector is copied from the host")?;
        check_len(values.len(), self.len())?;
        match &mut self.storage {
            Storage::Host(own) => own.copy_from_slice(values),
            Storage::Machine(allocation, _) => {
                // SAFETY: the range is the whole buffer.
                unsafe {
                    allocation.write(self.reservation.device().stream_number(), bytemuck::cast_slice(values))
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
        match &mut self.storage {
            Storage::Host(own) => own.fill(T::zeroed()),
            Storage::Machine(allocation, len) => {
                // SAFETY: the range is the whole buffer.
                unsafe { self.reservation.device().zero_memory(allocation, byte_count::<T>(*len)?) }?;
            }
        }
        Ok(())
    }

    /// Replaces all elements by those of another buffer of the same length on the same device.
    ///
    /// # Errors
    ///
    /// If the lengths or the devices differ (then nothing is written), or the device was lost.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.device().check_same(source.device())?;
        check_len(source.len(), self.len())?;
        match (&source.storage, &mut self.storage) {
            (Storage::Host(from), Storage::Host(to)) => to.copy_from_slice(from),
            (Storage::Machine(from, len), Storage::Machine(to, _)) => {
                let bytes = byte_count::<T>(*len)?;
                // SAFETY: both ranges are whole buffers, of the same device and length, and different ones since one
                // is borrowed mutably.
                unsafe { self.reservation.device().copy_memory(to, 0, from, bytes) }?;
            }
            _ => return Err(self.device().different_from(source.device())),
        }
        Ok(())
    }

    /// Replaces the elements from `start` on by all those of another buffer on the same device.
    ///
    /// # Errors
    ///
    /// If there are not as many from `start` on or the devices differ (then nothing is written), or the device was lost.
    pub(crate) fn copy_from_at(&mut self, start: usize, source: &Self) -> Result<(), DeviceError> {
        self.device().check_same(source.device())?;
        let end = start.checked_add(source.len()).filter(|&end| end <= self.len());
        let Some(end) = end else {
            return Err(DeviceError::LengthMismatch {
                source_len: source.len(),
                destination_len: self.len().saturating_sub(start),
            });
        };
        match (&source.storage, &mut self.storage) {
            (Storage::Host(from), Storage::Host(to)) => to[start..end].copy_from_slice(from),
            (Storage::Machine(from, len), Storage::Machine(to, _)) => {
                let (offset, bytes) = (byte_count::<T>(start)?, byte_count::<T>(*len)?);
                // SAFETY: the ranges are the whole source and a part of this buffer, of the same device, and different
                // ones since one buffer is borrowed mutably.
                unsafe { self.reservation.device().copy_memory(to, offset, from, bytes) }?;
            }
            // Empty buffers are the host's on every device.
            (Storage::Host(from), Storage::Machine(..)) if from.is_empty() => {}
            _ => return Err(self.device().different_from(source.device())),
        }
        Ok(())
    }

    /// The elements, if the device is the CPU; nothing to see elsewhere, but for empty buffers.
    pub fn host_slice(&self) -> Option<&[T]> {
        match &self.storage {
            Storage::Host(values) => Some(values),
            Storage::Machine(..) => None,
        }
    }

    /// The elements, if the device is the CPU; nothing to see elsewhere, but for empty buffers.
    pub fn host_slice_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.storage {
            Storage::Host(values) => Some(values),
            Storage::Machine(..) => None,
        }
    }

    /// Whether a graph writes to the vector: then its elements may change while it is borrowed.
    pub(crate) fn is_in_graph(&self) -> bool {
        matches!(&self.storage, Storage::Machine(allocation, _) if allocation.is_in_graph())
    }

    /// Has the graph that this thread captures keep the memory.
    fn keep(&self, is_written: bool) {
        if let Storage::Machine(allocation, _) = &self.storage {
            self.device().keep(allocation, is_written);
        }
    }

    /// The device address; 0 for an empty buffer and on the CPU, where no kernel runs.
    pub(crate) fn address(&self) -> u64 {
        match &self.storage {
            Storage::Host(_) => 0,
            Storage::Machine(allocation, _) => allocation.address(),
        }
    }
}

impl<T: Pod + Element> DeviceVec<T> {
    /// The buffer as a kernel's input. The view is not tied to the buffer's lifetime.
    #[doc(hidden)]
    pub fn as_global(&self) -> Global<T> {
        self.keep(false);
        Global::from_device(self.address(), self.len() as u64)
    }

    /// The buffer as a kernel's output. The view is not tied to the buffer's lifetime.
    #[doc(hidden)]
    pub fn as_global_mut(&mut self) -> GlobalMut<T> {
        self.keep(true);
        GlobalMut::from_device(self.address(), self.len() as u64)
    }
}

impl<T: Pod> std::fmt::Debug for DeviceVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceVec")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len())
            .field("device", self.device())
            .finish()
    }
}

fn byte_count<T>(len: usize) -> Result<u64, DeviceError> {
    const { assert!(size_of::<T>() > 0, "a buffer's elements have a size") };
    let element_bytes = size_of::<T>();
    match len.checked_mul(element_bytes) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes as u64),
        _ => Err(DeviceError::TooLarge { elements: len, element_bytes }),
    }
}

/// So many zeros in host memory, or the error that there is not enough of it.
pub(crate) fn host_zeros<T: Pod>(len: usize) -> Result<Vec<T>, DeviceError> {
    let requested = byte_count::<T>(len)?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| DeviceError::HostOutOfMemory { requested })
}

fn check_len(source_len: usize, destination_len: usize) -> Result<(), DeviceError> {
    if source_len == destination_len {
        Ok(())
    } else {
        Err(DeviceError::LengthMismatch { source_len, destination_len })
    }
}
