//! Vectors in a device's memory.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use evenpath_simt::{Aligned16, Element, Global, GlobalMut};

use super::allocation::Allocation;
use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::owner::Owner;
use super::properties::DeviceKind;
use super::slice::{DeviceSlice, Elements, HostRange, SliceMemory, byte_count, host_zeros};
use super::upload::Upload;

/// A vector in a device's memory.
///
/// Operations on it run in the order of their calls, also from several [streams](super::Stream). Functions
/// with host data wait for the copy; the others return at once. A vector may be dropped while kernels use it:
/// the memory is kept until they complete. Operations on all elements are in [`DeviceSlice`], which also
/// covers parts of a vector.
///
/// ```
/// let device = evenpath::Device::best()?;
/// let mut x = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// x.slice_mut(1..3)?.set_zero()?;
/// assert_eq!(x.download()?, [1.0, 0.0, 0.0, 4.0]);
/// x.truncate(2);
/// assert_eq!((x.len(), x.get(1)?), (2, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceVec<T: Pod> {
    elements: Elements<T>,
    owner: Owner<T>,
}

impl Device {
    /// Allocates a vector of `len` elements with all bits zero.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let mut sum = device.zeros(2)?;
    /// for x in [[1.0, 2.0], [10.0, 20.0]] {
    ///     vector::axpby(1.0, &device.upload(&x)?, 1.0, &mut sum)?;
    /// }
    /// assert_eq!(sum.download()?, [11.0, 22.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`upload`](Self::upload).
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>, DeviceError> {
        let mut vector = self.uninitialized(len)?;
        vector.set_zero()?;
        Ok(vector)
    }

    /// Allocates a vector of `len` elements with arbitrary contents, for outputs. The simulated GPU reports
    /// reads of elements before they are written.
    ///
    /// # Errors
    ///
    /// The same as for [`upload`](Self::upload).
    pub fn uninitialized<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>, DeviceError> {
        self.check_threads()?;
        let bytes = byte_count::<T>(len)?;
        let reservation = self.reserve(bytes)?;
        let (memory, owner) = match self.backend() {
            Backend::Machine(machine) if len > 0 => {
                let allocation = Allocation::new(machine, bytes, reservation)?;
                (SliceMemory::Machine { allocation, offset: 0, len }, Owner::Device)
            }
            _ => {
                let mut elements = host_zeros(len)?;
                let memory = SliceMemory::Host(HostRange::new(&mut elements));
                (memory, Owner::Host { elements, counted: reservation })
            }
        };
        self.budget().record_peak();
        Ok(DeviceVec::of_parts(Elements::new(self.clone(), memory), owner))
    }

    /// Returns a vector that takes over the memory of `elements` on the CPU, or a copy on other devices.
    ///
    /// # Errors
    ///
    /// The same as for [`upload`](Self::upload).
    pub(crate) fn adopt<T: Pod>(&self, mut elements: Vec<T>) -> Result<DeviceVec<T>, DeviceError> {
        if self.kind() != DeviceKind::Cpu {
            return self.upload(&elements);
        }
        let reservation = self.reserve(byte_count::<T>(elements.len())?)?;
        self.budget().record_peak();
        let memory = SliceMemory::Host(HostRange::new(&mut elements));
        let owner = Owner::Host { elements, counted: reservation };
        Ok(DeviceVec::of_parts(Elements::new(self.clone(), memory), owner))
    }
}

impl<T: Pod> Upload for [T] {
    type OnDevice = DeviceVec<T>;

    fn upload_to(&self, device: &Device) -> Result<DeviceVec<T>, DeviceError> {
        let mut vector = device.uninitialized(self.len())?;
        vector.copy_from_slice(self)?;
        Ok(vector)
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
    /// Elements that `owner` keeps.
    pub(super) fn of_parts(elements: Elements<T>, owner: Owner<T>) -> Self {
        Self { elements, owner }
    }

    /// Shortens the vector to its first `len` elements; no effect on a vector with `len` or fewer elements.
    /// Nothing is copied, and the whole memory is kept until the vector is dropped: see
    /// [`shrink_to_fit`](Self::shrink_to_fit).
    pub fn truncate(&mut self, len: usize) {
        let len = len.min(self.len());
        self.elements.memory = self.elements.memory.part(0, len);
    }

    /// Copies the elements to memory of the exact size, and frees the rest.
    ///
    /// # Errors
    ///
    /// If there is too little memory for both copies, on the device or within its limit, or the device was
    /// lost; then the vector is unchanged.
    pub fn shrink_to_fit(&mut self) -> Result<(), DeviceError> {
        *self = self.copied()?;
        Ok(())
    }

    /// Bytes of device memory that it holds, including elements removed by [`truncate`](Self::truncate).
    pub(crate) fn bytes(&self) -> u64 {
        match (&self.elements.memory, &self.owner) {
            (SliceMemory::Machine { allocation, .. }, _) => allocation.counted_bytes(),
            (SliceMemory::Host(_), Owner::Host { counted, .. }) => counted.bytes(),
            (SliceMemory::Host(_), Owner::Device | Owner::Foreign(_)) => 0,
        }
    }
}

impl<T: Pod + Element> DeviceVec<T> {
    /// [`as_global`](DeviceSlice::as_global) for kernels that load several elements at once.
    #[doc(hidden)]
    pub fn as_aligned(&self) -> Global<T, Aligned16> {
        // Every vector is created with memory that is aligned to 16 bytes.
        let view = self.as_global();
        Global::from_aligned_device(view.address(), view.len())
    }

    /// [`as_global_mut`](DeviceSlice::as_global_mut) for kernels that store several elements at once.
    #[doc(hidden)]
    pub fn as_aligned_mut(&mut self) -> GlobalMut<T, Aligned16> {
        let view = self.as_global_mut();
        GlobalMut::from_aligned_device(view.address(), view.len())
    }
}

impl<T: Pod> DeviceSlice<T> {
    /// Copies the elements to a new vector on the same device.
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub(crate) fn copied(&self) -> Result<DeviceVec<T>, DeviceError> {
        let mut copy = self.device().uninitialized(self.len())?;
        copy.copy_from(self)?;
        Ok(copy)
    }
}

impl<T: Pod> Deref for DeviceVec<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        self.elements.as_slice()
    }
}

impl<T: Pod> DerefMut for DeviceVec<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        self.elements.as_mut_slice()
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
