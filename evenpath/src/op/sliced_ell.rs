//! Sliced ELL on a device.

use std::fmt;
use std::sync::Arc;

use evenpath_kernels::ell;

use super::ell::slots;
use super::operands::check_product;
use super::vector::update;
use super::{DeviceRowOrder, OpError};
use crate::cpu::{self, PaddedRows};
use crate::device::{Device, DeviceError, DeviceVec};
use crate::{SlicedEll, Value};

/// A matrix in sliced ELL form in a device's memory, uploaded by [`Device::upload_sliced_ell`]. Clones share the memory.
///
/// ```
/// use evenpath::{Csr, Device, SlicedEllOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 1, 3.0), (1, 0, 1.0), (1, 2, 2.0)])?;
/// let sell_32_512 = SlicedEllOptions { sorting_scope: 512, ..Default::default() };
/// let device = Device::cpu();
/// let a = device.upload_sliced_ell(&a.to_sliced_ell(sell_32_512)?)?;
/// let x = device.upload_slice(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.to_vec()?, [30.0, 201.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceSlicedEll<V: Value> {
    arrays: Arc<Arrays<V>>,
}

/// The arrays of a valid matrix.
struct Arrays<V: Value> {
    rows: usize,
    cols: usize,
    nnz: usize,
    slice_height: u32,
    /// In units of `slice_height` slots.
    slice_offsets: DeviceVec<u64>,
    column_indices: DeviceVec<u32>,
    values: DeviceVec<V>,
    row_order: Option<DeviceRowOrder>,
}

impl Device {
    /// Copies a matrix in sliced ELL form to the device.
    ///
    /// # Errors
    ///
    /// If there is no memory for it, within the device or its limit, or the device was lost.
    pub fn upload_sliced_ell<V: Value>(
        &self,
        matrix: &SlicedEll<V>,
    ) -> Result<DeviceSlicedEll<V>, DeviceError> {
        let slice_height = matrix.slice_height();
        let in_rows = |&offset: &u64| offset / u64::from(slice_height);
        let slice_offsets: Vec<u64> = matrix.slice_offsets().iter().map(in_rows).collect();
        let arrays = Arrays {
            rows: matrix.rows(),
            cols: matrix.cols(),
            nnz: matrix.nnz(),
            slice_height,
            slice_offsets: self.upload_slice(&slice_offsets)?,
            column_indices: self.upload_slice(matrix.column_indices())?,
            values: self.upload_slice(matrix.values())?,
            row_order: matrix.row_order().map(|order| self.upload_row_order(order)).transpose()?,
        };
        Ok(DeviceSlicedEll { arrays: Arc::new(arrays) })
    }
}

impl<V: Value> DeviceSlicedEll<V> {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.arrays.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.arrays.cols
    }

    /// Stored entries, without padding.
    pub fn nnz(&self) -> usize {
        self.arrays.nnz
    }

    /// The device whose memory it is in.
    pub fn device(&self) -> &Device {
        self.arrays.values.device()
    }

    /// y = `alpha`·A·`x` + `beta`·y, one thread a row; y has the order of the matrix, whatever that of its rows in
    /// memory. Ordered on the device's stream; the call does not wait for it. Bitwise the same from run to run. With
    /// `beta` zero, y is overwritten, whatever it held.
    ///
    /// # Errors
    ///
    /// If `x` has not one element a column, or `y` one a row, or either is on another device; then nothing is
    /// written. If the device was lost.
    pub fn spmv(&self, alpha: V, x: &DeviceVec<V>, beta: V, y: &mut DeviceVec<V>) -> Result<(), OpError> {
        let Arrays { rows, cols, slice_height, slice_offsets, column_indices, values, row_order, .. } =
            &*self.arrays;
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
        let Arrays { rows, cols, nnz, slice_height, .. } = &*self.arrays;
        let device = self.device();
        write!(
            f,
            "DeviceSlicedEll<{}>({rows} x {cols}, {nnz} nonzeros, slices of {slice_height} rows, on {device})",
            V::NAME
        )
    }
}
