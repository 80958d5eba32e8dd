//! ELL-R on a device.

use std::fmt;
use std::sync::Arc;

use evenpath_kernels::ell;

use super::arrays::DeviceEllArrays;
use super::plain::{DeviceEll, slots};
use super::variant::Variant;
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Upload};
use crate::format::DeviceRowOrder;
use crate::operand::check::check_product;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{Ell, Value, cpu};

/// An [`Ell`] matrix to be uploaded with its row lengths: in ELL-R form.
///
/// ```
/// use evenpath::ell::{EllR, PaddingLimit};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
/// let ell = a.to_ell(PaddingLimit::default())?;
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&[10.0, 1.0])?, device.zeros(2)?);
/// device.upload(&EllR(&ell))?.spmv(1.0, &x, 0.0, &mut y)?; // `&ell` would be ELL without lengths
/// assert_eq!(y.download()?, [12.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct EllR<'a, V: Value>(pub &'a Ell<V>);

impl<V: Value> Upload for EllR<'_, V> {
    type OnDevice = DeviceEllR<V>;

    fn upload_to(&self, device: &Device) -> Result<DeviceEllR<V>, DeviceError> {
        let row_lengths = Arc::new(device.upload(self.0.row_lengths())?);
        Ok(DeviceEllR { ell: device.upload(self.0)?, row_lengths, row_order: None })
    }
}

/// A matrix in ELL-R form in a device's memory, uploaded by [`Device::upload`]: [`DeviceEll`] and the row
/// lengths. Its rows may be in a different order than those of the product. Clones share the memory.
///
/// ```
/// use evenpath::ell::{EllR, PaddingLimit};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
/// let device = Device::best()?;
/// let ell = device.upload(&EllR(&a.to_ell(PaddingLimit::default())?))?;
/// let (x, mut y) = (device.upload(&[10.0, 1.0])?, device.zeros(2)?);
/// ell.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [12.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceEllR<V: Value> {
    ell: DeviceEll<V>,
    row_lengths: Arc<DeviceVec<u32>>,
    row_order: Option<DeviceRowOrder>,
}

impl<V: Value> DeviceEllR<V> {
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
        self.ell.nnz()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.ell.device()
    }

    /// Copies the matrix to the host, with its rows in their stored order.
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<Ell<V>, DeviceError> {
        self.ell.download()
    }

    /// Sets the order of the stored rows: products have the elements of y in the order of the matrix before
    /// it was permuted.
    ///
    /// ```
    /// use evenpath::ell::{EllR, PaddingLimit};
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 1, 3.0), (1, 0, 1.0), (1, 2, 2.0)])?;
    /// let (sorted, order) = a.sort_rows_by_length();
    /// let device = Device::cpu();
    /// let order = device.upload(&order)?;
    /// let a = device.upload(&EllR(&sorted.to_ell(PaddingLimit::default())?))?.with_row_order(&order)?;
    /// let x = device.upload(&[1.0, 10.0, 100.0])?;
    /// let mut y = device.zeros(2)?;
    /// a.spmv(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [30.0, 201.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the order has a different number of rows, or is on another device.
    pub fn with_row_order(self, order: &DeviceRowOrder) -> Result<Self, OpError> {
        order.check(self.device(), self.nrows())?;
        Ok(Self { row_order: Some(order.clone()), ..self })
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// One thread per row stops at the row's end (Vázquez et al., 2011). Runs in the order of the device's
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
        let DeviceEllArrays { rows, cols, column_indices, values, .. } = &*self.ell.arrays;
        let launcher = variant.launcher(self.device(), "ELL-R")?;
        check_product(self.device(), (*rows, *cols), x, y)?;
        if let Some(rows) = self.ell.host_rows() {
            let rows = rows.with_x_in_sequence(variant.x_in_sequence);
            if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
                let positions = self.row_order.as_ref().and_then(DeviceRowOrder::host_positions);
                cpu::spmv_padded(rows, positions, alpha, x, beta, y);
            }
            return Ok(());
        }
        let launch = launcher.threads(*rows)?;
        let kernel = ell::EllR {
            row_lengths: self.row_lengths.as_global(),
            slots: slots(column_indices, values),
            row_order: DeviceRowOrder::view(self.row_order.as_ref()),
            x: x.as_global(),
            update: update(alpha, beta, y),
            rows: *rows as u32,
        };
        // SAFETY: the views are of a valid matrix's arrays, of an order of as many rows, and of vectors whose lengths were
        // checked, on this device; columns are below x's length. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

impl<V: Value> fmt::Debug for DeviceEllR<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.row_order.is_some() { ", rows permuted" } else { "" };
        write!(f, "DeviceEllR({:?}{order})", self.ell)
    }
}
