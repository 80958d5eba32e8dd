//! Factors such as α and β.

use std::ops::Neg;

use evenpath_kernels::factor;

use super::OpError;
use super::operands::check_vector;
use crate::Value;
use crate::device::{Device, DeviceSlice, DeviceVec, DeviceView, DeviceViewMut, no_input};

/// A factor such as α or β: a number, or the one element of a [`DeviceSlice`], which is read on the device when the operation runs.
///
/// Operations take whatever becomes one: a number, or a reference to a vector, or part of one, of exactly one element. With the latter
/// an operation may use what an earlier one computed, and the host does not wait for it, so both may be in one
/// [graph](crate::device::Graph):
///
/// ```
/// use evenpath::{Device, Factor, vector};
///
/// let device = Device::best()?;
/// let x = device.upload(&[3.0, 4.0])?;
/// let mut y = device.upload(&[1.0, 1.0])?;
/// let mut square = device.zeros(1)?;
/// vector::dot_into(&x, &x, &mut square)?;
/// vector::axpby(&square, &x, -1.0, &mut y)?;
/// assert_eq!(y.download()?, [74.0, 99.0]);
/// vector::axpby(-Factor::from(&square), &x, 1.0, &mut y)?;
/// assert_eq!(y.download()?, [-1.0, -1.0]);
/// # Ok::<(), evenpath::Error>(())
/// ```
///
/// [`axpby`](super::vector::axpby) reads such a factor as it runs. Products compute the product by itself then, into memory for another
/// y or C, and add it in a launch of its own: products with numbers, which are most, have no cost of it.
#[derive(Debug, Clone, Copy)]
pub struct Factor<'a, V: Value> {
    /// What is known here.
    value: V,
    /// One element, by which it is multiplied.
    stored: Option<&'a DeviceSlice<V>>,
}

impl<V: Value> Factor<'_, V> {
    /// The factor times a number. A factor on the device is multiplied there.
    #[must_use]
    pub fn scaled(self, by: V) -> Self {
        Self { value: self.value * by, ..self }
    }

    /// Checks a factor of an operation on `device`, by its name: it is there, and one element.
    fn check(self, device: &Device, name: &'static str) -> Result<Self, OpError> {
        if let Some(stored) = self.stored {
            check_vector(device, (name, stored), 1)?;
        }
        Ok(self)
    }

    /// The factor, unless it is in the memory of a device that runs kernels.
    pub(super) fn known(self) -> Option<V> {
        let Some(stored) = self.stored else { return Some(self.value) };
        stored.host_slice()?.first().map(|&stored| self.value * stored)
    }

    /// The factor as kernels take it.
    pub(super) fn view(self) -> factor::Factor<V> {
        factor::Factor {
            value: self.value,
            stored: self.stored.map_or_else(no_input, DeviceSlice::as_global),
        }
    }
}

/// α and β of an operation on `device`.
///
/// # Errors
///
/// If one is on another device, or does not have one element.
pub(super) fn factors<'a, 'b, V: Value>(
    device: &Device,
    alpha: impl Into<Factor<'a, V>>,
    beta: impl Into<Factor<'b, V>>,
) -> Result<(Factor<'a, V>, Factor<'b, V>), OpError> {
    Ok((alpha.into().check(device, "alpha")?, beta.into().check(device, "beta")?))
}

impl<V: Value> Neg for Factor<'_, V> {
    type Output = Self;

    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl<V: Value> From<V> for Factor<'_, V> {
    fn from(value: V) -> Self {
        Self { value, stored: None }
    }
}

impl<'a, V: Value> From<&'a DeviceSlice<V>> for Factor<'a, V> {
    fn from(stored: &'a DeviceSlice<V>) -> Self {
        Self { value: V::ONE, stored: Some(stored) }
    }
}

macro_rules! from_owner {
    ($($owner:ty),*) => {$(
        impl<'a, V: Value> From<&'a $owner> for Factor<'a, V> {
            fn from(stored: &'a $owner) -> Self {
                Self::from(&**stored)
            }
        }
    )*};
}
from_owner!(DeviceVec<V>, DeviceView<'_, V>, DeviceViewMut<'_, V>);
