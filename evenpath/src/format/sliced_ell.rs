//! Sliced ELL on a device.

use std::fmt;
use std::sync::Arc;

use evenpath_kernels::ell;

use super::DeviceRowOrder;
use super::ell::slots;
use crate::cpu::{self, PaddedRows};
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Upload};
use crate::operand::check::check_product;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{SlicedEll, Value};

/// A matrix in sliced ELL form in a device's memory, uploaded by [`Device::upload`]. Clones share the memory.
///
/// ```
/// use evenpath::ell::SlicedEllOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 1, 3.0), (1, 0, 1.0), (1, 2, 2.0)])?;
/// let sell_32_512 = SlicedEllOptions::default().with_sorting_scope(512);
/// let device = Device::cpu();
/// let a = device.upload(&a.to_sliced_ell(sell_32_512)?)?;
/// let x = device.upload(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [30.0, 201.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceSlicedEll<V: Value> {
    arrays: Arc<DeviceSlicedEllArrays<V>>,
}

/// Arrays of a valid matrix.
struct DeviceSlicedEllArrays<V: Value> {
    rows: usize,
    cols: usize,
    nnz: usize,
    slice_height: u32,
    /// Offsets in units of `slice_height` slots.
    slice_offsets: DeviceVec<u64>,
    column_indices: DeviceVec<u32>,
    values: DeviceVec<V>,
    row_order: Option<DeviceRowOrder>,
}

impl<V: Value> Upload for SlicedEll<V> {
    type OnDevice = DeviceSlicedEll<V>;

    fn upload_to(&self, device: &Device) -> Result<DeviceSlicedEll<V>, DeviceError> {
        let slice_height = self.slice_height();
        let in_rows = |&offset: &u64| offset / u64::from(slice_height);
        let slice_offsets: Vec<u64> = self.slice_offsets().iter().map(in_rows).collect();
        let arrays = DeviceSlicedEllArrays {
            rows: self.nrows(),
            cols: self.ncols(),
            nnz: self.nnz(),
            slice_height,
            slice_offsets: device.upload(&slice_offsets)?,
            column_indices: device.upload(self.column_indices())?,
            values: device.upload(self.values())?,
            row_order: self.row_order().map(|order| device.upload(order)).transpose()?,
        };
        Ok(DeviceSlicedEll { arrays: Arc::new(arrays) })
    }
}

impl<V: Value> DeviceSlicedEll<V> {
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
    pub fn download(&self) -> Result<SlicedEll<V>, DeviceError> {
        let DeviceSlicedEllArrays {
            rows,
            cols,
            slice_height,
            slice_offsets,
            column_indices,
            values,
            row_order,
            ..
        } = &*self.arrays;
        let in_slots = |offset| offset * u64::from(*slice_height);
        let offsets = slice_offsets.download()?.into_iter().map(in_slots).collect();
        let (columns, values) = (column_indices.download()?, values.download()?);
        let order = row_order.as_ref().map(DeviceRowOrder::download).transpose()?;
        let matrix = SlicedEll::try_new(*rows, *cols, *slice_height, offsets, columns, values, order);
        // The arrays are valid: only memory for the row lengths can be missing.
        matrix.map_err(|_| DeviceError::HostOutOfMemory { requested: 4 * *rows as u64 })
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// There is one thread per row; y is in the original order of the rows. Runs in the order of the device's
    /// stream; the call does not wait. Results are the same to the bit in every run. If `beta` is zero, y is
    /// overwritten without being read.
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
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| self.multiply(alpha, x, beta, y))
    }

    fn multiply(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
        let DeviceSlicedEllArrays {
            rows,
            cols,
            slice_height,
            slice_offsets,
            column_indices,
            values,
            row_order,
            ..
        } = &*self.arrays;
        check_product(self.device(), (*rows, *cols), x, y)?;
        let host_rows = slice_offsets.host_slice().and_then(|offsets| {
            PaddedRows::new(self.device(), column_indices, values, *slice_height as usize, offsets)
        });
        if let Some(rows) = host_rows {
            if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
                let positions = row_order.as_ref().and_then(DeviceRowOrder::host_positions);
                cpu::spmv_padded(rows, positions, alpha, x, beta, y);
            }
            return Ok(());
        }
        let launch = self.device().kernel().threads(*rows)?;
        let kernel = ell::SlicedEll {
            slice_offsets: slice_offsets.as_global(),
            slots: slots(column_indices, values),
            row_order: DeviceRowOrder::view(row_order.as_ref()),
            x: x.as_global(),
            update: update(alpha, beta, y),
            rows: *rows as u32,
            slice_height: *slice_height,
        };
        // SAFETY: the views are of a valid matrix's arrays, of an order of as many rows, and of vectors whose lengths were
        // checked, on this device; columns are below x's length, or padding, for which x is not read. Buffers are freed
        // in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

impl<V: Value> fmt::Debug for DeviceSlicedEll<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceSlicedEllArrays { rows, cols, nnz, slice_height, .. } = &*self.arrays;
        let device = self.device();
        write!(
            f,
            "DeviceSlicedEll<{}>({rows} x {cols}, {nnz} nonzeros, slices of {slice_height} rows, on {device})",
            V::NAME
        )
    }
}
