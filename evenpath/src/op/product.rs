//! The operands of products with vectors, checked once, and their factors.

use evenpath_kernels::{GlobalCsr, spmv as kernels};
use evenpath_simt::kernel::Kernel;
use evenpath_simt::{Aligned16, Global};

use crate::device::{DeviceError, DeviceSlice, Launch};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operand::check::{check_product, check_vector};
use crate::sequence::vector::update;
use crate::{Compute, Offset, Scalar, Storage};

/// The operands of y = αAx + βy, or of y = αAᵀx + βy.
///
/// Only its constructors create one, so the conditions that kernels rely on always hold:
///
/// * A is valid: row offsets ascend to the number of nonzeros, and column indices are below the number of columns.
/// * x has as many elements as A, or Aᵀ, has columns, and y as many as it has rows.
/// * All are on one device. Buffers are freed in the order of its stream, so a launch may outlive their
///   owners.
pub(super) struct SpmvCall<'a, S: Storage, O: Offset, T: Storage = S> {
    pub(super) matrix: &'a DeviceCsr<S, O>,
    pub(super) alpha: Compute<T>,
    pub(super) x: &'a DeviceSlice<T>,
    pub(super) beta: Compute<T>,
    pub(super) y: &'a mut DeviceSlice<T>,
    /// Values in place of the matrix's own, one per nonzero, for kernels.
    values: Option<Global<S, Aligned16>>,
    _checked: Checked,
}

/// Prevents other modules from creating a product.
struct Checked;

impl<'a, S: Storage, O: Offset, T: Storage> SpmvCall<'a, S, O, T> {
    /// The operands of y = αAx + βy.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length, or is on another device.
    pub(super) fn new(
        matrix: &'a DeviceCsr<S, O>,
        (alpha, x): (Compute<T>, &'a DeviceSlice<T>),
        (beta, y): (Compute<T>, &'a mut DeviceSlice<T>),
    ) -> Result<Self, OpError> {
        let device = matrix.device();
        check_product(device, matrix.shape(), x, y)?;
        Ok(Self { matrix, alpha, x, beta, y, values: None, _checked: Checked })
    }
}

impl<S: Storage, O: Offset, T: Storage> SpmvCall<'_, S, O, T> {
    /// The product with `values`, one per nonzero, in place of the matrix's own, by methods that keep no copy of these.
    pub(super) fn with_values(self, values: Global<S, Aligned16>) -> Self {
        Self { values: Some(values), ..self }
    }
}

impl<S: Storage, O: Offset, V: Scalar> SpmvCall<'_, S, O, V> {
    /// Launches the kernel that `kernel` creates from the product y = αAx + βy.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    ///
    /// # Safety
    ///
    /// The kernel's other views are of live buffers of the device that were made for the matrix, as was the launch.
    pub(super) unsafe fn launch<K: Kernel>(
        &mut self,
        launch: &Launch<K>,
        kernel: impl FnOnce(kernels::MixedArguments<S, V, O>) -> K,
    ) -> Result<(), DeviceError> {
        let values = self.matrix.values_now();
        let own = self.matrix.pattern().with_values(&values);
        let product = kernels::MixedArguments {
            matrix: GlobalCsr { values: self.values.unwrap_or(own.values), ..own },
            x: self.x.as_global(),
            update: update(self.alpha, self.beta, self.y),
        };
        // SAFETY: an `SpmvCall` guarantees its operands; the caller guarantees the rest.
        unsafe { launch.launch(kernel(product)) }
    }
}

impl<'a, V: Scalar, O: Offset> SpmvCall<'a, V, O> {
    /// The operands of y = αAᵀx + βy.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new).
    pub(super) fn transposed(
        matrix: &'a DeviceCsr<V, O>,
        (alpha, x): (V, &'a DeviceSlice<V>),
        (beta, y): (V, &'a mut DeviceSlice<V>),
    ) -> Result<Self, OpError> {
        let device = matrix.device();
        check_vector(device, ("x", x), matrix.nrows())?;
        check_vector(device, ("y", y), matrix.ncols())?;
        Ok(Self { matrix, alpha, x, beta, y, values: None, _checked: Checked })
    }
}
