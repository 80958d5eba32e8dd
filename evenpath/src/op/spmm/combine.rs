//! Factors of products with dense matrices and vectors.

use evenpath_kernels::spmm::SpmmCombine;
use evenpath_simt::Element;

use crate::device::{Device, DeviceSlice};
use crate::error::MatrixError;
use crate::format::{DeviceDense, Layout};
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
use crate::scalar::ForKind;
use crate::sequence::vector::axpby;
use crate::{Compute, Storage, Value};

/// Calls `product` for C = `alpha`·(…) + `beta`·C, with numbers for both. If only the device knows one, the
/// product is computed alone, rounded to the elements of C, and added in another launch.
///
/// # Errors
///
/// The errors of [`factors`] and of `product`, and if there is too little memory for another C or it has too
/// many elements for a launch. Nothing is written before `product` writes.
pub(in crate::op) fn dense_with_numbers<'a, 'b, T: Storage>(
    device: &Device,
    (alpha, beta): (impl Into<Factor<'a, Compute<T>>>, impl Into<Factor<'b, Compute<T>>>),
    c: &mut DeviceDense<T>,
    product: impl FnOnce(Compute<T>, Compute<T>, &mut DeviceDense<T>) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let (alpha, beta) = factors(device, alpha, beta)?;
    if let (Some(alpha), Some(beta)) = (alpha.known(), beta.known()) {
        return product(alpha, beta, c);
    }
    device.check_same(c.device())?;
    let (len, (row_stride, column_stride)) = (c.nrows() * c.ncols(), c.strides());
    let launch = device.kernel().threads(len)?;
    let elements = device.uninitialized(len)?;
    let only_product = DeviceDense::try_new(elements, c.nrows(), c.ncols(), c.layout());
    let mut only_product = only_product.map_err(MatrixError::from)?;
    product(Compute::<T>::ONE, Compute::<T>::ZERO, &mut only_product)?;
    let (line, c_stride) = match c.layout() {
        Layout::RowMajor => (c.ncols(), row_stride),
        Layout::ColumnMajor => (c.nrows(), column_stride),
    };
    let kernel = SpmmCombine {
        product: only_product.as_vec().as_global(),
        c: c.as_aligned_mut(),
        alpha: alpha.view(),
        beta: beta.view(),
        line: line as u64,
        c_stride: c_stride as u64,
        len: len as u64,
    };
    // SAFETY: P has `len` elements, and C as many in lines of its own stride; there are factors of one element. All are on this device,
    // and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Calls `product` for y = `alpha`·(…) + `beta`·y, with numbers for both. If only the device knows one, the product is computed
/// alone, rounded to the elements of y, and added in another launch.
///
/// # Errors
///
/// The errors of [`factors`] and of `product`, and if there is too little memory for another y. Nothing is written before
/// `product` writes.
pub(in crate::op) fn vector_with_numbers<'a, 'b, T: Storage>(
    device: &Device,
    (alpha, beta): (impl Into<Factor<'a, Compute<T>>>, impl Into<Factor<'b, Compute<T>>>),
    y: &mut DeviceSlice<T>,
    product: impl FnOnce(Compute<T>, Compute<T>, &mut DeviceSlice<T>) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let (alpha, beta) = factors(device, alpha, beta)?;
    if let (Some(alpha), Some(beta)) = (alpha.known(), beta.known()) {
        return product(alpha, beta, y);
    }
    device.check_same(y.device())?;
    let mut only_product = device.uninitialized(y.len())?;
    product(Compute::<T>::ONE, Compute::<T>::ZERO, &mut only_product)?;
    T::by_kind(Combine { alpha, product: &only_product, beta, y })
}

/// y = αp + βy, with a factor in device memory.
struct Combine<'a, 'f, T: Storage> {
    alpha: Factor<'f, Compute<T>>,
    product: &'a DeviceSlice<T>,
    beta: Factor<'f, Compute<T>>,
    y: &'a mut DeviceSlice<T>,
}

impl<T: Storage> ForKind<T> for Combine<'_, '_, T> {
    type Output = Result<(), OpError>;

    fn value(self) -> Result<(), OpError>
    where
        T: Value,
    {
        axpby(self.alpha, self.product, self.beta, self.y)
    }

    fn half(self) -> Result<(), OpError> {
        let Self { alpha, product, beta, y } = self;
        let len = y.len() as u64;
        let launch = product.device().kernel().threads(y.len())?;
        let kernel = SpmmCombine {
            product: product.as_global(),
            c: y.as_part_of_aligned_mut(),
            alpha: alpha.view(),
            beta: beta.view(),
            line: len,
            c_stride: len,
            len,
        };
        // SAFETY: the product and y have `len` elements, and there are factors of one element. All are on this device, and buffers
        // are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
