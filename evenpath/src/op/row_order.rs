//! Rows in another order, on a device.

use std::sync::Arc;

use evenpath_kernels::RowMap;
use evenpath_kernels::vector::Gather;
use evenpath_simt::Global;

use super::OpError;
use super::vector::update;
use crate::device::{Device, DeviceError, DeviceVec};
use crate::{RowOrder, Value, cpu};

/// An order of rows in a device's memory, uploaded by [`Device::upload_row_order`]. Clones share the memory.
///
/// ```
/// use evenpath::{Csr, Device, SpmvOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0)])?;
/// let (sorted, order) = a.sort_rows_by_length();
/// let device = Device::best()?;
/// let (sorted, order) = (device.upload(&sorted)?, device.upload_row_order(&order)?);
/// let (x, mut y, mut restored) = (device.upload_slice(&[1.0, 1.0])?, device.zeros(2)?, device.zeros(2)?);
/// sorted.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// order.restore(1.0, &y, 0.0, &mut restored)?; // as the rows of `a` are
/// assert_eq!(restored.to_vec()?, [1.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeviceRowOrder {
    order: Arc<DeviceVec<u32>>,
    inverse: Arc<DeviceVec<u32>>,
}

impl Device {
    /// Copies an order of rows, and its inverse, to the device.
    ///
    /// # Errors
    ///
    /// If there is no memory for it, within the device or its limit, or the device was lost.
    pub fn upload_row_order(&self, order: &RowOrder) -> Result<DeviceRowOrder, DeviceError> {
        Ok(DeviceRowOrder {
            order: Arc::new(self.upload_slice(order.order())?),
            inverse: Arc::new(self.upload_slice(order.inverse())?),
        })
    }
}

impl DeviceRowOrder {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.order.len()
    }

    /// The device whose memory it is in.
    pub fn device(&self) -> &Device {
        self.order.device()
    }

    /// y = `alpha`·P⁻¹`permuted` + `beta`·y: what is computed for rows in this order, at the places of the rows. A product
    /// with any method for a matrix whose rows are in this order becomes one for the matrix as it was. With `beta` zero,
    /// y is overwritten, whatever it held.
    ///
    /// ```
    /// use evenpath::{Csr, Device, SpmvOptions};
    ///
    /// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 1, 3.0), (1, 0, 1.0), (1, 2, 2.0)])?;
    /// let (sorted, order) = a.sort_rows_by_length();
    /// let device = Device::cpu();
    /// let (sorted, order) = (device.upload(&sorted)?, device.upload_row_order(&order)?);
    /// let x = device.upload_slice(&[1.0, 10.0, 100.0])?;
    /// let mut permuted = device.zeros(2)?;
    /// sorted.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut permuted)?;
    /// assert_eq!(permuted.to_vec()?, [201.0, 30.0]);
    /// let mut y = device.zeros(2)?;
    /// order.restore(1.0, &permuted, 0.0, &mut y)?;
    /// assert_eq!(y.to_vec()?, [30.0, 201.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector has not one element a row, or is on another device; then nothing is written. If the device was lost.
    pub fn restore<V: Value>(
        &self,
        alpha: V,
        permuted: &DeviceVec<V>,
        beta: V,
        y: &mut DeviceVec<V>,
    ) -> Result<(), OpError> {
        for (what, vector) in [("the row order and permuted", permuted), ("the row order and y", &*y)] {
            self.device().check_same(vector.device())?;
            check_lengths(what, self.rows(), vector.len())?;
        }
        if let (Some(positions), Some(permuted), Some(y)) =
            (self.inverse.host_slice(), permuted.host_slice(), y.host_slice_mut())
        {
            cpu::gather(permuted, positions, alpha, beta, y);
            return Ok(());
        }
        let launch = self.device().kernel().threads(self.rows())?;
        let kernel = Gather {
            source: permuted.as_global(),
            positions: self.inverse.as_global(),
            update: update(alpha, beta, y),
            len: self.rows() as u32,
        };
        // SAFETY: all views have one element per row, and positions are a permutation of the rows, on this device.
        // Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Checks that a matrix of `rows` rows on `device` may have its rows in this order.
    pub(super) fn check(&self, device: &Device, rows: usize) -> Result<(), OpError> {
        device.check_same(self.device())?;
        check_lengths("the matrix's rows and the row order", rows, self.rows())
    }

    /// The order as kernels take it; without one, rows are stored in their own order.
    pub(super) fn view(order: Option<&Self>) -> RowMap {
        match order {
            Some(order) => RowMap { rows: order.order.as_global(), is_mapped: 1 },
            None => RowMap { rows: Global::from_device(0, 0), is_mapped: 0 },
        }
    }

    /// The position of each row, if the device is the CPU.
    pub(super) fn host_positions(&self) -> Option<&[u32]> {
        self.inverse.host_slice()
    }
}

fn check_lengths(what: &'static str, left: usize, right: usize) -> Result<(), OpError> {
    if left == right { Ok(()) } else { Err(OpError::Lengths { what, left, right }) }
}
