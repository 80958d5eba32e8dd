//! Factors of products with dense matrices.

use evenpath_simt::Element;

use crate::device::Device;
use crate::error::MatrixError;
use crate::format::{DeviceDense, Layout};
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::combine_lines;
use crate::{Compute, Scalar, Storage};

/// Calls `product` for C = `alpha`·(…) + `beta`·C, with numbers for both. If only the device knows one, the
/// product is computed alone, rounded to the elements of C, and added in another launch.
///
/// # Errors
///
/// The errors of [`factors`] and of `product`, and if there is too little memory for another C or it has too
/// many elements for a launch. Nothing is written to C before `product` writes.
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
    let elements = device.uninitialized(c.nrows() * c.ncols())?;
    let only_product = DeviceDense::try_new(elements, c.nrows(), c.ncols(), c.layout());
    let mut only_product = only_product.map_err(MatrixError::from)?;
    product(Compute::<T>::ONE, Compute::<T>::ZERO, &mut only_product)?;
    let line = match c.layout() {
        Layout::RowMajor => c.ncols(),
        Layout::ColumnMajor => c.nrows(),
    };
    let stride = c.leading_dimension();
    combine_lines((alpha, beta), only_product.as_vec(), c.as_aligned_mut(), (line, stride))
}
