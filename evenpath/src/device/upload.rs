//! Copies from host memory to a device.

use super::error::DeviceError;
use super::handle::Device;

/// A type that [`Device::upload`] copies to a device: slices, arrays and vectors of numbers, and matrices in
/// every format.
///
/// | in host memory | on a device |
/// |---|---|
/// | `[T]`, `[T; N]`, `Vec<T>` | [`DeviceVec<T>`](crate::DeviceVec) |
/// | [`Csr`](crate::Csr) | [`DeviceCsr`](crate::DeviceCsr) |
/// | [`Coo`](crate::Coo) | [`DeviceCoo`](crate::coo::DeviceCoo) |
/// | [`Bsr`](crate::bsr::Bsr) | [`DeviceBsr`](crate::bsr::DeviceBsr) |
/// | [`Ell`](crate::ell::Ell) | [`DeviceEll`](crate::ell::DeviceEll) |
/// | [`EllR`](crate::ell::EllR) | [`DeviceEllR`](crate::ell::DeviceEllR) |
/// | [`SlicedEll`](crate::ell::SlicedEll) | [`DeviceSlicedEll`](crate::ell::DeviceSlicedEll) |
/// | [`Hyb`](crate::hyb::Hyb) | [`DeviceHyb`](crate::hyb::DeviceHyb) |
/// | [`HiSparse`](crate::HiSparse) | [`DeviceHiSparse`](crate::hisparse::DeviceHiSparse) |
/// | [`RowOrder`](crate::row_order::RowOrder) | [`DeviceRowOrder`](crate::row_order::DeviceRowOrder) |
///
/// Implement it for your own types to upload them too.
pub trait Upload {
    /// The corresponding type on a device.
    type OnDevice;

    /// Copies it to a device.
    ///
    /// # Errors
    ///
    /// The same as for [`Device::upload`].
    fn upload_to(&self, device: &Device) -> Result<Self::OnDevice, DeviceError>;
}

impl<T: Upload + ?Sized> Upload for &T {
    type OnDevice = T::OnDevice;

    fn upload_to(&self, device: &Device) -> Result<Self::OnDevice, DeviceError> {
        (**self).upload_to(device)
    }
}

impl Device {
    /// Copies a vector or a matrix to the device. `download` of the result copies it back.
    ///
    /// Waits until the data is copied.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let x = device.upload(&[1.0, 2.0, 3.0])?; // a DeviceVec
    /// assert_eq!(x.slice(1..)?.download()?, [2.0, 3.0]);
    /// let a = device.upload(&Csr::from_triplets(1, 2, [(0, 1, 3.0)])?)?; // a DeviceCsr
    /// assert_eq!(a.transpose()?.download()?.get(1, 0), Some(3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory, on the device or within its limit, or the device was lost.
    pub fn upload<T: Upload + ?Sized>(&self, value: &T) -> Result<T::OnDevice, DeviceError> {
        value.upload_to(self)
    }
}
