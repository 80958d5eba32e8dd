//! HYB on a device.

use super::{DeviceCoo, DeviceEll};
use crate::device::{Device, DeviceError, DeviceSlice, Upload};
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::{Hyb, Value};

/// A matrix in hybrid form in a device's memory, uploaded by [`Device::upload`]. Clones share the memory.
///
/// ```
/// use evenpath::hyb::HybOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a.to_hyb(HybOptions::default())?)?;
/// let x = device.upload(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeviceHyb<V: Value> {
    ell: DeviceEll<V>,
    coo: DeviceCoo<V>,
}

impl<V: Value> Upload for Hyb<V> {
    type OnDevice = DeviceHyb<V>;

    fn upload_to(&self, device: &Device) -> Result<DeviceHyb<V>, DeviceError> {
        Ok(DeviceHyb { ell: device.upload(self.ell())?, coo: device.upload(self.coo())? })
    }
}

impl<V: Value> DeviceHyb<V> {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.ell.nrows()
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.ell.ncols()
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of stored entries, without padding.
    pub fn nnz(&self) -> usize {
        self.ell.nnz() + self.coo.nnz()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.ell.device()
    }

    /// Copies the matrix to the host.
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<Hyb<V>, DeviceError> {
        Ok(Hyb::from_valid(self.ell.download()?, self.coo.download()?))
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// The product of the ELL part comes first, then that of the COO part is added (Bell and Garland, SC
    /// 2009). Runs in the order of the device's stream; the call does not wait. Results are the same to the
    /// bit in every run. If `beta` is zero, y is overwritten without being read. `alpha` multiplies the parts
    /// of a row, not their sum.
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceCoo::spmv`].
    pub fn spmv<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            self.coo.check(x, y)?;
            // Without entries in ELL only βy: α may be infinite, and times zero no number.
            let of_ell = if self.ell.nnz() == 0 { V::ZERO } else { alpha };
            self.ell.spmv(of_ell, x, beta, y)?;
            self.coo.spmv(alpha, x, V::ONE, y)
        })
    }
}
