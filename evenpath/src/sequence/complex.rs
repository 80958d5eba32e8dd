//! Functions of every element of a vector that complex numbers have too.

use evenpath_kernels::complex::{Conjugate, FillElements, ScaleComplex};
use evenpath_kernels::map::{Mapping, code};

use super::map;
use crate::device::{DeviceError, DeviceSlice};
use crate::operation::Map;
use crate::scalar::ForKind;
use crate::{Scalar, Value, parallel};

/// Elements per task.
const GRAIN: usize = 1 << 14;

/// Sets every element to `value`.
pub(crate) fn fill<V: Scalar>(value: V, y: &mut DeviceSlice<V>) -> Result<(), DeviceError> {
    V::by_kind(Filling { value, y })
}

/// Operands of [`fill`].
struct Filling<'a, V: Scalar> {
    value: V,
    y: &'a mut DeviceSlice<V>,
}

impl<V: Scalar> ForKind<V> for Filling<'_, V> {
    type Output = Result<(), DeviceError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        map::apply(Mapping { code: code::FILL, first: self.value, second: V::ZERO }, self.y)
    }

    fn complex(self) -> Self::Output {
        let Self { value, y } = self;
        if let Some(y) = y.host_slice_mut() {
            replace(y, |_| value);
            return Ok(());
        }
        let launch = y.device().kernel().threads(y.len())?;
        let kernel = FillElements { y: y.as_global_mut(), value, len: y.len() as u64 };
        // SAFETY: the view is of `len` elements on this device; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    fn half(self) -> Self::Output {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}

/// Multiplies every element by `factor`.
pub(crate) fn scale<V: Scalar>(factor: V, y: &mut DeviceSlice<V>) -> Result<(), DeviceError> {
    V::by_kind(Scaling { factor, y })
}

/// Operands of [`scale`].
struct Scaling<'a, V: Scalar> {
    factor: V,
    y: &'a mut DeviceSlice<V>,
}

impl<V: Scalar> ForKind<V> for Scaling<'_, V> {
    type Output = Result<(), DeviceError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        map::apply(Map::Scale(self.factor).mapping(), self.y)
    }

    fn complex(self) -> Self::Output {
        let Self { factor, y } = self;
        if let Some(y) = y.host_slice_mut() {
            replace(y, |element| factor * element);
            return Ok(());
        }
        let launch = y.device().kernel().threads(y.len())?;
        let kernel = ScaleComplex { y: y.as_global_mut(), beta: factor, len: y.len() as u64 };
        // SAFETY: the view is of `len` elements on this device; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    fn half(self) -> Self::Output {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}

/// Replaces every element of a complex vector by its conjugate.
pub(crate) fn conjugate<V: Scalar>(y: &mut DeviceSlice<V>) -> Result<(), DeviceError> {
    if let Some(y) = y.host_slice_mut() {
        replace(y, V::conj);
        return Ok(());
    }
    let launch = y.device().kernel().threads(y.len())?;
    let kernel = Conjugate { y: y.as_global_mut(), len: y.len() as u64 };
    // SAFETY: the view is of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
}

/// Replaces every element by a function of it.
fn replace<V: Scalar>(elements: &mut [V], function: impl Fn(V) -> V + Sync) {
    parallel::parts_mut(elements, GRAIN, |_, part| {
        for element in part {
            *element = function(*element);
        }
    });
}
