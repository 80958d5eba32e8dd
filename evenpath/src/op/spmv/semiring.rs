//! Products with vectors in a semiring, without a plan, by merge path.

use evenpath_kernels::spmv::{SemiringFixup, SemiringTile};

use crate::cpu::semiring_spmv;
use crate::device::{DeviceKind, DeviceSlice};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operand::check::{check_product, check_slices};
use crate::semiring::Semiring;
use crate::{Csr, CsrView, Entry, Offset};

impl<V: Entry, O: Offset> DeviceCsr<V, O> {
    /// Computes y = A·`x` in a [semiring](crate::semiring): the sum of the products of a row is its minimum, for instance. A has m
    /// rows and n columns, `x` has n elements, `y` has m. The matrix need not be canonical: products of duplicates are summed
    /// too.
    ///
    /// Divided like [`spmv`](Self::spmv), by merge path without a plan, whatever the lengths of rows. Runs in the order of the
    /// device's stream; the call does not wait, and may be captured in a graph. Results are the same to the bit in every run.
    ///
    /// ```
    /// use evenpath::semiring::MinPlus;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let edges = Csr::try_new(2, 2, vec![0_u32, 2, 3], vec![0, 1, 0], vec![5_u32, 1, 7])?;
    /// let edges = device.upload(&edges)?;
    /// let x = device.upload(&[2_u32, 10])?;
    /// let mut y = device.zeros(2)?;
    /// edges.spmv_over::<MinPlus>(&x, &mut y)?;
    /// assert_eq!(y.download()?, [7, 9]); // min(5 + 2, 1 + 10) and 7 + 2
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, either is on another device, the matrix is too large for
    /// one launch, or there is no memory for the parts of rows that tiles cut; then nothing is written. If the device was lost.
    pub fn spmv_over<S: Semiring<V>>(
        &self,
        x: &DeviceSlice<V>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        multiply::<S, V, O>(self, x, y, false)
    }

    /// Computes y = y + A·`x` in a [semiring](crate::semiring), like [`spmv_over`](Self::spmv_over): each element of y is the first of
    /// the sum.
    ///
    /// # Errors
    ///
    /// The same as for [`spmv_over`](Self::spmv_over).
    pub fn add_spmv_over<S: Semiring<V>>(
        &self,
        x: &DeviceSlice<V>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        multiply::<S, V, O>(self, x, y, true)
    }
}

impl<V: Entry, O: Offset> CsrView<'_, V, O> {
    /// Computes y = A·`x` in a [semiring](crate::semiring). A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::semiring::MaxPlus;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// let mut y = [0.0; 2];
    /// a.view().spmv_over::<MaxPlus>(&[5.0, 3.0], &mut y)?;
    /// assert_eq!(y, [6.0, f64::NEG_INFINITY]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length; then nothing is written.
    pub fn spmv_over<S: Semiring<V>>(self, x: &[V], y: &mut [V]) -> Result<(), OpError> {
        check_slices(self.shape(), x, y)?;
        semiring_spmv::<S, V, O>(self, x, y, false);
        Ok(())
    }

    /// Computes y = y + A·`x` in a [semiring](crate::semiring), like [`spmv_over`](Self::spmv_over).
    ///
    /// # Errors
    ///
    /// The same as for [`spmv_over`](Self::spmv_over).
    pub fn add_spmv_over<S: Semiring<V>>(self, x: &[V], y: &mut [V]) -> Result<(), OpError> {
        check_slices(self.shape(), x, y)?;
        semiring_spmv::<S, V, O>(self, x, y, true);
        Ok(())
    }
}

impl<V: Entry, O: Offset> Csr<V, O> {
    /// Computes y = A·`x` in a [semiring](crate::semiring), like [`CsrView::spmv_over`].
    ///
    /// # Errors
    ///
    /// The same as for [`CsrView::spmv_over`].
    pub fn spmv_over<S: Semiring<V>>(&self, x: &[V], y: &mut [V]) -> Result<(), OpError> {
        self.view().spmv_over::<S>(x, y)
    }

    /// Computes y = y + A·`x` in a [semiring](crate::semiring), like [`CsrView::add_spmv_over`].
    ///
    /// # Errors
    ///
    /// The same as for [`CsrView::spmv_over`].
    pub fn add_spmv_over<S: Semiring<V>>(&self, x: &[V], y: &mut [V]) -> Result<(), OpError> {
        self.view().add_spmv_over::<S>(x, y)
    }
}

fn multiply<S: Semiring<V>, V: Entry, O: Offset>(
    a: &DeviceCsr<V, O>,
    x: &DeviceSlice<V>,
    y: &mut DeviceSlice<V>,
    adds: bool,
) -> Result<(), OpError> {
    check_product(a.device(), a.shape(), x, y)?;
    if a.device().kind() != DeviceKind::Cpu {
        return launch::<S, V, O>(a, x, y, adds);
    }
    let values = a.values_now();
    if let (Some(a), Some(x), Some(y)) = (a.pattern().host_view(&values), x.host_slice(), y.host_slice_mut())
    {
        semiring_spmv::<S, V, O>(a, x, y, adds);
    }
    Ok(())
}

/// Launches the tiles, and the fix-up if there are several.
fn launch<S: Semiring<V>, V: Entry, O: Offset>(
    a: &DeviceCsr<V, O>,
    x: &DeviceSlice<V>,
    y: &mut DeviceSlice<V>,
    adds: bool,
) -> Result<(), OpError> {
    let device = a.device();
    let tiles = device.kernel().items(a.nrows() + a.nnz())?.room_for(u32::MAX);
    // Nothing follows the last tile.
    let count = (tiles.grid() as usize).saturating_sub(1);
    let fixup = device.kernel().threads(count)?;
    let mut carry_rows = device.uninitialized(count)?;
    let mut carries = device.uninitialized::<V>(count)?;
    let values = a.values_now();
    let kernel = SemiringTile::<S::Element, O> {
        matrix: a.pattern().with_values_as(&values),
        x: x.as_global_of(),
        y: y.as_global_mut_of(),
        carry_rows: carry_rows.as_global_mut(),
        carries: carries.as_global_mut_of(),
        adds: u32::from(adds),
    };
    // SAFETY: the operands were checked, there is a block for each tile, and memory for a carry of each but the last. Buffers are
    // freed in the stream's order.
    unsafe { tiles.launch(kernel) }?;
    let kernel = SemiringFixup::<S::Element> {
        carry_rows: carry_rows.as_global(),
        carries: carries.as_global_of(),
        y: y.as_global_mut_of(),
        count: count as u32,
    };
    // SAFETY: there are `count` carries, and a row with nonzeros or an end after each tile, so that it has an element of y.
    unsafe { fixup.launch(kernel) }?;
    Ok(())
}
