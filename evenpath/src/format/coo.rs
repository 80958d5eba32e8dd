//! Coordinates on a device.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use evenpath_kernels::GlobalCoo;
use evenpath_kernels::coo::{CarryFixup, CooInterval};

use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, MAX_GRID, Upload};
use crate::operand::check::check_product;
use crate::operand::{Factor, OpError};
use crate::policy::COO_INTERVAL;
use crate::sequence::combine::with_numbers;
use crate::sequence::scale::scale;
use crate::sequence::vector;
use crate::{Coo, Scalar, cpu};

/// A matrix of coordinates in a device's memory, uploaded by [`Device::upload`]. Clones share the memory.
///
/// ```
/// use evenpath::{Coo, Device};
///
/// let a: Coo<f64> = Coo::from_triplets(2, 3, [(1, 1, 3.0), (0, 0, 1.0), (0, 2, 2.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let x = device.upload(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [201.0, 30.0]);
/// assert_eq!(a.download()?.row_indices(), [0, 0, 1]); // sorted by row
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceCoo<V: Scalar> {
    arrays: Arc<DeviceCooArrays<V>>,
}

/// Arrays of a valid matrix, sorted by row, and workspace that products keep between launches.
struct DeviceCooArrays<V: Scalar> {
    rows: usize,
    cols: usize,
    row_indices: DeviceVec<u32>,
    column_indices: DeviceVec<u32>,
    values: DeviceVec<V>,
    /// Locked from the launch over intervals to that of the fix-up, which belong together.
    carries: Mutex<Carries<V>>,
}

impl<V: Scalar> DeviceCooArrays<V> {
    /// The matrix as a kernel argument.
    fn view(&self) -> GlobalCoo<V> {
        GlobalCoo {
            row_indices: self.row_indices.as_aligned(),
            column_indices: self.column_indices.as_aligned(),
            values: self.values.as_aligned(),
            nonzeros: self.values.len() as u64,
        }
    }
}

/// One element per interval, on devices that run kernels.
struct Carries<V: Scalar> {
    rows: DeviceVec<u32>,
    sums: DeviceVec<V>,
}

/// Number of intervals for `entries` entries.
fn intervals(entries: usize) -> usize {
    entries.div_ceil(COO_INTERVAL as usize)
}

/// The matrix is sorted by row; the entries of a row keep their order. Beside it there are 4 bytes plus a
/// value per 512 entries.
impl<V: Scalar> Upload for Coo<V> {
    type OnDevice = DeviceCoo<V>;

    fn upload_to(&self, device: &Device) -> Result<DeviceCoo<V>, DeviceError> {
        if !self.is_sorted_by_row() {
            let mut sorted = self.clone();
            sorted.sort_by_row();
            return sorted.upload_to(device);
        }
        DeviceCoo::from_valid(
            self.shape(),
            device.upload(self.row_indices())?,
            device.upload(self.column_indices())?,
            device.upload(self.values())?,
        )
    }
}

impl<V: Scalar> DeviceCoo<V> {
    /// Creates a matrix from the arrays of a valid one, sorted by row.
    pub(crate) fn from_valid(
        (rows, cols): (usize, usize),
        row_indices: DeviceVec<u32>,
        column_indices: DeviceVec<u32>,
        values: DeviceVec<V>,
    ) -> Result<Self, DeviceError> {
        let device = values.device();
        let carries = if device.kind() == crate::DeviceKind::Cpu { 0 } else { intervals(values.len()) };
        let carries = Carries { rows: device.uninitialized(carries)?, sums: device.uninitialized(carries)? };
        let carries = Mutex::new(carries);
        Ok(Self {
            arrays: Arc::new(DeviceCooArrays { rows, cols, row_indices, column_indices, values, carries }),
        })
    }

    /// Row indices, column indices and values.
    pub(crate) fn arrays(&self) -> (&DeviceVec<u32>, &DeviceVec<u32>, &DeviceVec<V>) {
        (&self.arrays.row_indices, &self.arrays.column_indices, &self.arrays.values)
    }

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

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.arrays.values.len()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.arrays.values.device()
    }

    /// Copies the matrix to the host, sorted by row.
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<Coo<V>, DeviceError> {
        let (rows, columns, values) = self.arrays();
        Ok(Coo::from_valid(
            self.nrows(),
            self.ncols(),
            rows.download()?,
            columns.download()?,
            values.download()?,
        ))
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// Every thread has the same number of entries (Bell and Garland, SC 2009). Runs in the order of the
    /// device's stream; the call does not wait. Results are the same to the bit in every run. If `beta` is
    /// zero, y is overwritten without being read. In a row that is cut, `alpha` multiplies the parts and not
    /// their sum.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, or if a factor is not one element, or
    /// any of them is on another device, or there are more entries than one launch can handle; then nothing
    /// is written. If the device was lost.
    pub fn spmv<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            self.check(x, y)?;
            scale(beta, y)?;
            // After y was set to zero, rows that end in an interval are stored without being added.
            self.add_product(alpha, x, if beta == V::ZERO { V::ZERO } else { V::ONE }, y)
        })
    }

    /// Checks the operands of [`spmv`](Self::spmv).
    pub(crate) fn check(&self, x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<(), OpError> {
        check_product(self.device(), self.shape(), x, y)?;
        let limit = MAX_GRID as usize;
        if intervals(self.nnz()) > limit {
            let limit = limit.saturating_mul(COO_INTERVAL as usize);
            return Err(OpError::TooLong { what: "coordinates", len: self.nnz(), limit });
        }
        Ok(())
    }

    /// Computes y = `alpha`·A·`x` + y, for operands that were checked. With `beta` zero instead of one, y is
    /// known to be zero.
    fn add_product(
        &self,
        alpha: V,
        x: &DeviceSlice<V>,
        beta: V,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let DeviceCooArrays { row_indices, column_indices, values, carries, .. } = &*self.arrays;
        if let (Some(rows), Some(columns), Some(values), Some(x), Some(y)) = (
            row_indices.host_slice(),
            column_indices.host_slice(),
            values.host_slice(),
            x.host_slice(),
            y.host_slice_mut(),
        ) {
            cpu::add_coo((rows, columns, values), alpha, x, y);
            return Ok(());
        }
        let count = intervals(self.nnz()) as u32;
        let mut carries = carries.lock().unwrap_or_else(PoisonError::into_inner);
        let interval_launch = self.device().kernel().warps(count as usize)?;
        let fixup_launch = self.device().kernel().threads(count as usize)?;
        let interval = CooInterval {
            matrix: self.arrays.view(),
            x: x.as_global(),
            update: vector::update(alpha, beta, y),
            carry_rows: carries.rows.as_global_mut(),
            carries: carries.sums.as_global_mut(),
            interval_len: COO_INTERVAL,
        };
        let fixup = CarryFixup {
            carry_rows: carries.rows.as_global(),
            carries: carries.sums.as_global(),
            y: y.as_global_mut(),
            count,
            alpha,
        };
        // SAFETY: the views are of a valid matrix's arrays, sorted by row, of vectors whose lengths were checked, and of
        // buffers with one element per interval; all are on this device, and buffers are freed in the stream's order. The
        // lock keeps other products from coming between the launches.
        unsafe {
            interval_launch.launch(interval)?;
            fixup_launch.launch(fixup)?;
        }
        Ok(())
    }
}

impl<V: Scalar> fmt::Debug for DeviceCoo<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz, device) = (self.nrows(), self.ncols(), self.nnz(), self.device());
        write!(f, "DeviceCoo<{}>({rows} x {cols}, {nnz} entries, on {device})", V::NAME)
    }
}
