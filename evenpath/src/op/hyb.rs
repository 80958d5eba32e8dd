//! HYB on a device.

use super::{DeviceCoo, DeviceEll, OpError};
use crate::device::{Device, DeviceError, DeviceVec};
use crate::{Hyb, Value};

/// A matrix in hybrid form in a device's memory, uploaded by [`Device::upload_hyb`]. Clones share the memory.
///
/// ```
/// use evenpath::{Csr, Device, HybOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload_hyb(&a.to_hyb(HybOptions::default())?)?;
/// let x = device.upload_slice(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.to_vec()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeviceHyb<V: Value> {
    ell: DeviceEll<V>,
    coo: DeviceCoo<V>,
}

impl Device {
    /// Copies a matrix in hybrid form to the device.
    ///
    /// # Errors
    ///
    /// As for [`upload_coo`](Self::upload_coo).
    pub fn upload_hyb<V: Value>(&self, matrix: &Hyb<V>) -> Result<DeviceHyb<V>, DeviceError> {
        Ok(DeviceHyb { ell: self.upload_ell(matrix.ell())?, coo: self.upload_coo(matrix.coo())? })
    }
}

impl<V: Value> DeviceHyb<V> {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.ell.rows()
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.ell.cols()
    }

    /// Stored entries, without padding.
    pub fn nnz(&self) -> usize {
        self.ell.nnz() + self.coo.nnz()
    }

    /// The device whose memory it is in.
    pub fn device(&self) -> &Device {
        self.ell.device()
    }

    /// y = `alpha`·A·`x` + `beta`·y: the ELL part, then the COO part added (Bell and Garland, SC 2009). Ordered on the
    /// device's stream; the call does not wait for it. Bitwise the same from run to run. With `beta` zero, y is
    /// overwritten, whatever it held. `alpha` multiplies the parts of a row, not their sum.
    ///
    /// # Errors
    ///
    /// As for [`DeviceCoo::spmv`].
    pub fn spmv(&self, alpha: V, x: &DeviceVec<V>, beta: V, y: &mut DeviceVec<V>) -> Result<(), OpError> {
        self.coo.check(x, y)?;
        self.ell.spmv(alpha, x, beta, y)?;
        self.coo.add_product(alpha, x, V::ONE, y)
    }
}
