//! Factors of products with dense matrices.

use evenpath_kernels::spmm::SpmmCombine;
use evenpath_simt::Element;

use crate::device::Device;
use crate::error::MatrixError;
use crate::format::{DeviceDense, Layout};
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
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
