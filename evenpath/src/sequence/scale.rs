//! y = βy, before a product is added to y.

use evenpath_kernels::vector::Scale;

use super::complex;
use crate::device::{DeviceError, DeviceSlice};
use crate::scalar::ForKind;
use crate::{Scalar, Value, cpu};

/// Computes y = `beta`·y; if `beta` is zero, y becomes zero without being read. There are fewer than 2³²
/// elements, like in all vectors of matrices.
pub(crate) fn scale<V: Scalar>(beta: V, y: &mut DeviceSlice<V>) -> Result<(), DeviceError> {
    if beta == V::ZERO {
        return y.set_zero();
    }
    if beta == V::ONE {
        return Ok(());
    }
    if let Some(y) = y.host_slice_mut() {
        cpu::scale(beta, y);
        return Ok(());
    }
    V::by_kind(OnKernels { beta, y })
}

/// Operands of [`scale`] on a device with kernels.
struct OnKernels<'a, V: Scalar> {
    beta: V,
    y: &'a mut DeviceSlice<V>,
}

impl<V: Scalar> ForKind<V> for OnKernels<'_, V> {
    type Output = Result<(), DeviceError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        let Self { beta, y } = self;
        let launch = y.device().kernel().threads(y.len())?;
        let kernel = Scale { y: y.as_global_mut(), len: y.len() as u32, beta };
        // SAFETY: the view is of y, of this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    fn complex(self) -> Self::Output {
        complex::scale(self.beta, self.y)
    }

    fn half(self) -> Self::Output {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}
