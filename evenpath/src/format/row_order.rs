//! Row permutations on a device.

use std::sync::Arc;

use evenpath_kernels::RowMap;
use evenpath_kernels::vector::Gather;

use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Upload, no_input};
use crate::operand::check::check_vector;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{MatrixError, RowOrder, Value, cpu};

/// A row permutation in a device's memory, uploaded by [`Device::upload`]. Clones share the memory.
///
/// ```
/// use evenpath::spmv::SpmvOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0)])?;
/// let (sorted, order) = a.sort_rows_by_length();
/// let device = Device::best()?;
/// let (sorted, order) = (device.upload(&sorted)?, device.upload(&order)?);
/// let (x, mut y, mut restored) = (device.upload(&[1.0, 1.0])?, device.zeros(2)?, device.zeros(2)?);
/// sorted.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// order.restore(1.0, &y, 0.0, &mut restored)?; // as the rows of `a` are
/// assert_eq!(restored.download()?, [1.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeviceRowOrder {
    order: Arc<DeviceVec<u32>>,
    inverse: Arc<DeviceVec<u32>>,
}

impl Upload for RowOrder {
    type OnDevice = DeviceRowOrder;

    fn upload_to(&self, device: &Device) -> Result<DeviceRowOrder, DeviceError> {
        Ok(DeviceRowOrder {
            order: Arc::new(device.upload(self.order())?),
            inverse: Arc::new(device.upload(self.inverse())?),
        })
    }
}

impl DeviceRowOrder {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.order.len()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.order.device()
    }

    /// Copies the permutation to the host.
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<RowOrder, DeviceError> {
        Ok(RowOrder::from_valid(self.order.download()?, self.inverse.download()?))
    }

    /// Computes y = `alpha`·P⁻¹·`permuted` + `beta`·y: moves results for permuted rows to their original
    /// positions. For m rows, `permuted` and `y` have m elements each. A product with a matrix whose rows are
    /// in this order, by any method, thus becomes one with the original matrix. If `beta` is zero, y is
    /// overwritten without being read.
    ///
    /// ```
    /// use evenpath::spmv::SpmvOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 1, 3.0), (1, 0, 1.0), (1, 2, 2.0)])?;
    /// let (sorted, order) = a.sort_rows_by_length();
    /// let device = Device::cpu();
    /// let (sorted, order) = (device.upload(&sorted)?, device.upload(&order)?);
    /// let x = device.upload(&[1.0, 10.0, 100.0])?;
    /// let mut permuted = device.zeros(2)?;
    /// sorted.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut permuted)?;
    /// assert_eq!(permuted.download()?, [201.0, 30.0]);
    /// let mut y = device.zeros(2)?;
    /// order.restore(1.0, &permuted, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [30.0, 201.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector does not have one element per row, a factor is not one element, or any of them is on
    /// another device; then nothing is written. If the device was lost.
    pub fn restore<'f, V: Value>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        permuted: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            self.restore_with_numbers(alpha, permuted, beta, y)
        })
    }

    fn restore_with_numbers<V: Value>(
        &self,
        alpha: V,
        permuted: &DeviceSlice<V>,
        beta: V,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        check_vector(self.device(), ("permuted", permuted), self.nrows())?;
        check_vector(self.device(), ("y", y), self.nrows())?;
        if let (Some(positions), Some(permuted), Some(y)) =
            (self.inverse.host_slice(), permuted.host_slice(), y.host_slice_mut())
        {
            cpu::gather(permuted, positions, alpha, beta, y);
            return Ok(());
        }
        let launch = self.device().kernel().threads(self.nrows())?;
        let kernel = Gather {
            source: permuted.as_global(),
            positions: self.inverse.as_global(),
            update: update(alpha, beta, y),
            len: self.nrows() as u32,
        };
        // SAFETY: all views have one element per row, and positions are a permutation of the rows, on this device.
        // Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Checks that the order applies to a matrix of `rows` rows on `device`.
    pub(crate) fn check(&self, device: &Device, rows: usize) -> Result<(), OpError> {
        device.check_same(self.device())?;
        if rows == self.nrows() {
            return Ok(());
        }
        Err(MatrixError::RowOrderLength { rows, found: self.nrows() }.into())
    }

    /// The order as a kernel argument; without one, rows are not permuted.
    pub(crate) fn view(order: Option<&Self>) -> RowMap {
        row_map(order.map(|order| &*order.order))
    }

    /// Position of each row, if the device is the CPU.
    pub(crate) fn host_positions(&self) -> Option<&[u32]> {
        self.inverse.host_slice()
    }
}

/// The row at each position as a kernel argument; without a list, rows are not permuted.
pub(crate) fn row_map(rows: Option<&DeviceVec<u32>>) -> RowMap {
    match rows {
        Some(rows) => RowMap { rows: rows.as_global(), is_mapped: 1 },
        None => RowMap { rows: no_input(), is_mapped: 0 },
    }
}
