//! ELL on a device.

use std::fmt;
use std::sync::Arc;

use evenpath_kernels::ell;

use super::arrays::DeviceEllArrays;
use super::variant::Variant;
use crate::cpu::PaddedRows;
use crate::device::{Device, DeviceError, DeviceSlice, Upload};
use crate::operand::check::check_product;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{Ell, Value, cpu};

/// A matrix in ELL form in a device's memory, uploaded by [`Device::upload`]. Clones share the memory.
///
/// ```
/// use evenpath::ell::PaddingLimit;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a.to_ell(PaddingLimit::default())?)?;
/// let x = device.upload(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceEll<V: Value> {
    pub(super) arrays: Arc<DeviceEllArrays<V>>,
}

impl<V: Value> Upload for Ell<V> {
    type OnDevice = DeviceEll<V>;

    fn upload_to(&self, device: &Device) -> Result<DeviceEll<V>, DeviceError> {
        let arrays = DeviceEllArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            nnz: self.nnz(),
            width: self.width(),
            host_slice: [0, self.width() as u64],
            column_indices: device.upload(self.column_indices())?,
            values: device.upload(self.values())?,
        };
        Ok(DeviceEll { arrays: Arc::new(arrays) })
    }
}

impl<V: Value> DeviceEll<V> {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.arrays.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.arrays.cols
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of stored entries, without padding.
    pub fn nnz(&self) -> usize {
        self.arrays.nnz
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.arrays.values.device()
    }

    /// Copies the matrix to the host.
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<Ell<V>, DeviceError> {
        let DeviceEllArrays { rows, cols, width, column_indices, values, .. } = &*self.arrays;
        let matrix = Ell::try_new(*rows, *cols, *width, column_indices.download()?, values.download()?);
        // The arrays are valid: only memory for the row lengths can be missing.
        matrix.map_err(|_| DeviceError::HostOutOfMemory { requested: 4 * *rows as u64 })
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// One thread per row also visits its padding (Bell and Garland, SC 2009). Runs in the order of the
    /// device's stream; the call does not wait. Results are the same to the bit in every run. If `beta` is
    /// zero, y is overwritten without being read.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, or if a factor is not one element, or any of them
    /// is on another device; then nothing is written. If the device was lost.
    pub fn spmv<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.spmv_by(Variant::default(), alpha, x, beta, y)
    }

    /// [`spmv`](Self::spmv) by a variant of the kernel.
    pub(crate) fn spmv_by<'f>(
        &self,
        variant: Variant,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            self.multiply(variant, (alpha, x), (beta, y))
        })
    }

    fn multiply(
        &self,
        variant: Variant,
        (alpha, x): (V, &DeviceSlice<V>),
        (beta, y): (V, &mut DeviceSlice<V>),
    ) -> Result<(), OpError> {
        let DeviceEllArrays { rows, cols, width, column_indices, values, .. } = &*self.arrays;
        let launcher = variant.launcher(self.device(), "ELL")?;
        check_product(self.device(), (*rows, *cols), x, y)?;
        if let Some(rows) = self.host_rows() {
            if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
                cpu::spmv_padded(rows, None, alpha, x, beta, y);
            }
            return Ok(());
        }
        let launch = launcher.threads(*rows)?;
        let kernel = ell::Ell {
            slots: slots(column_indices, values),
            x: x.as_global(),
            update: update(alpha, beta, y),
            rows: *rows as u32,
            width: *width as u32,
        };
        // SAFETY: the views are of a valid matrix's arrays, and of vectors whose lengths were checked, on this device;
        // columns are below x's length, or padding, for which x is not read. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// The rows, if the device is the CPU.
    pub(super) fn host_rows(&self) -> Option<PaddedRows<'_, V>> {
        let DeviceEllArrays { rows, host_slice, column_indices, values, .. } = &*self.arrays;
        PaddedRows::new(self.device(), column_indices, values, *rows, host_slice)
    }
}

/// The slots of a padded matrix as a kernel argument.
pub(crate) fn slots<V: Value>(column_indices: &DeviceSlice<u32>, values: &DeviceSlice<V>) -> ell::Slots<V> {
    ell::Slots { column_indices: column_indices.as_global(), values: values.as_global() }
}

impl<V: Value> fmt::Debug for DeviceEll<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceEllArrays { rows, cols, nnz, width, .. } = &*self.arrays;
        let device = self.device();
        write!(
            f,
            "DeviceEll<{}>({rows} x {cols}, {nnz} nonzeros, {width} slots per row, on {device})",
            V::NAME
        )
    }
}
