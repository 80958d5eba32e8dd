//! Products whose factors are in device memory: computed alone, then added.

use evenpath_kernels::spmm::SpmmCombine;
use evenpath_simt::{Aligned16, Element, GlobalMut};

use super::vector::axpby;
use crate::device::{Device, DeviceSlice};
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
use crate::scalar::ForKind;
use crate::{Compute, Scalar, Storage, Value};

/// Calls `product` for y = `alpha`·(…) + `beta`·y, with numbers for both. If only the device knows one, the
/// product is computed alone, rounded to the elements of y, and added in another launch.
///
/// # Errors
///
/// The errors of [`factors`] and of `product`, and if there is too little memory for another y. Nothing is
/// written before `product` writes.
pub(crate) fn with_numbers<'a, 'b, T: Storage>(
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

    fn complex(self) -> Result<(), OpError>
    where
        T: Scalar,
    {
        axpby(self.alpha, self.product, self.beta, self.y)
    }

    fn half(self) -> Result<(), OpError> {
        let len = self.y.len();
        combine_lines((self.alpha, self.beta), self.product, self.y.as_part_of_aligned_mut(), (len, len))
    }
}

/// Computes C = `alpha`·P + `beta`·C, where P has lines of `line` elements without gaps, and C as many, each `stride` elements after
/// the one before.
pub(crate) fn combine_lines<T: Storage>(
    (alpha, beta): (Factor<'_, Compute<T>>, Factor<'_, Compute<T>>),
    product: &DeviceSlice<T>,
    c: GlobalMut<T, Aligned16>,
    (line, stride): (usize, usize),
) -> Result<(), OpError> {
    let launch = product.device().kernel().threads(product.len())?;
    let kernel = SpmmCombine {
        product: product.as_global(),
        c,
        alpha: alpha.view(),
        beta: beta.view(),
        line: line as u64,
        c_stride: stride as u64,
        len: product.len() as u64,
    };
    // SAFETY: C has as many elements as the product, in lines of its own stride, and there are factors of one element. All are on this
    // device, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}
