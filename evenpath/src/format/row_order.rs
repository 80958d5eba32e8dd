//! Row permutations on a device.

use std::sync::Arc;

use evenpath_kernels::RowMap;
use evenpath_kernels::permute::{FinishInverse, InvertOrder};
use evenpath_kernels::vector::Gather;

use crate::device::{Device, DeviceError, DeviceKind, DeviceSlice, DeviceVec, Upload, no_input};
use crate::matrix::check_dimensions;
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
    /// Creates an order of as many rows as `order` has elements: `order[i]` is the row at position i. It is checked on the device, for
    /// which the call waits. [`RowOrder::try_new`] does the same on the host.
    ///
    /// ```
    /// use evenpath::row_order::DeviceRowOrder;
    /// use evenpath::sort::{self, SortOptions};
    /// use evenpath::{Device, key::Pairs};
    ///
    /// let device = Device::best()?;
    /// let (keys, rows) = (device.upload(&[0.5, 0.1, 0.3])?, device.upload(&[0_u32, 1, 2])?);
    /// let (_, sorted) = sort::pairs(Pairs::new(&keys, &rows), SortOptions::default())?;
    /// let order = DeviceRowOrder::try_new(sorted)?.download()?;
    /// assert_eq!((order.order(), order.inverse()), (&[1, 2, 0][..], &[2, 0, 1][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Unless `order` has every row below its length exactly once; the error names the first that is not. If a graph writes it, this thread
    /// captures one, there is too little memory, or the device was lost.
    pub fn try_new(order: DeviceVec<u32>) -> Result<Self, OpError> {
        let device = order.device();
        device.refuse_in_graph("the order of rows is checked")?;
        if order.is_in_graph() {
            return Err(DeviceError::WrittenByGraph { what: "an order of rows" }.into());
        }
        check_dimensions(order.len(), 0)?;
        if device.kind() == DeviceKind::Cpu {
            return Ok(device.upload(&RowOrder::try_new(order.download()?)?)?);
        }
        let (mut inverse, mut faults) = (device.zeros(order.len())?, device.zeros(1)?);
        let (launch, len) = (device.kernel().threads(order.len())?, order.len() as u32);
        let kernel = InvertOrder {
            order: order.as_global(),
            inverse: inverse.as_global_mut(),
            faults: faults.as_global_mut(),
            len,
        };
        // SAFETY: the views are of the order, of as many words and of another, all zero; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        if faults.get(0)? > 0 {
            // Finds the reason.
            RowOrder::try_new(order.download()?)?;
        }
        let launch = device.kernel().threads(order.len())?;
        // SAFETY: the inverse has `len` elements, all positive, since the order has no faults.
        unsafe { launch.launch(FinishInverse { inverse: inverse.as_global_mut(), len }) }?;
        Ok(Self { order: Arc::new(order), inverse: Arc::new(inverse) })
    }

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

    /// The row at each position.
    pub(crate) fn order(&self) -> &DeviceSlice<u32> {
        &self.order
    }

    /// The position of each row.
    pub(crate) fn inverse(&self) -> &DeviceSlice<u32> {
        &self.inverse
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
