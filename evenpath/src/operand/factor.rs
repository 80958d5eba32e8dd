//! Factors such as α and β.

use std::ops::Neg;

use evenpath_kernels::factor;

use super::OpError;
use crate::Scalar;
use crate::device::{Device, DeviceSlice, DeviceVec, DeviceView, DeviceViewMut, no_input};
use crate::operand::check::check_vector;
use crate::scale::Scale;

/// A factor such as α or β: a number, or the one element of a [`DeviceSlice`], which is read on the device when the operation runs.
///
/// Operations accept anything that converts to a factor: a number, or a reference to a vector or slice of
/// exactly one element. With the latter an operation may use the result of an earlier one without the host
/// waiting for it, so both may be in one [graph](crate::device::Graph):
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
/// [`axpby`](crate::sequence::vector::axpby) reads such a factor directly. Products compute the product alone
/// into separate memory, and add it to y or C in another launch; with numbers, the common case, there is no
/// such cost.
#[derive(Debug, Clone, Copy)]
pub struct Factor<'a, V: Scalar> {
    /// The part of the factor known on the host.
    scale: Scale<V>,
    /// The element on the device, multiplied by `scale`.
    stored: Option<&'a DeviceSlice<V>>,
}

impl<V: Scalar> Factor<'_, V> {
    /// Multiplies the factor by a number. A factor on the device is multiplied there. The product of several
    /// numbers may be out of range if that with the element on the device is not.
    ///
    /// ```
    /// use evenpath::{Device, Factor, vector};
    ///
    /// let device = Device::best()?;
    /// let (alpha, x) = (device.upload(&[3.0])?, device.upload(&[1.0, 2.0])?);
    /// let mut y = device.zeros(2)?;
    /// vector::axpby(Factor::from(&alpha).scaled(10.0), &x, 0.0, &mut y)?; // y = 3·10·x
    /// assert_eq!(y.download()?, [30.0, 60.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn scaled(self, by: V) -> Self {
        Self { scale: self.scale.times(by), ..self }
    }

    /// Returns the factor if an operation on `device` can use it: it is a number, or one element on the
    /// device. Operations check their factors themselves; this is for code that must know before it begins.
    ///
    /// # Errors
    ///
    /// If the factor is on another device, or does not have one element; the error names it `name`.
    pub fn check(self, device: &Device, name: &'static str) -> Result<Self, OpError> {
        if let Some(stored) = self.stored {
            check_vector(device, (name, stored), 1)?;
        }
        Ok(self)
    }

    /// The factor, unless it is in the memory of a device that runs kernels.
    pub(crate) fn known(self) -> Option<V> {
        let stored = match self.stored {
            Some(stored) => *stored.host_slice()?.first()?,
            None => V::ONE,
        };
        let (value, power) = self.scale.number_and_power();
        Some(value * stored * power * power)
    }

    /// The factor as a kernel argument.
    pub(crate) fn view(self) -> factor::Factor<V> {
        let (value, power) = self.scale.number_and_power();
        factor::Factor { value, stored: self.stored.map_or_else(no_input, DeviceSlice::as_global), power }
    }
}

/// α and β of an operation on `device`.
///
/// # Errors
///
/// If one is on another device, or does not have one element.
pub(crate) fn factors<'a, 'b, V: Scalar>(
    device: &Device,
    alpha: impl Into<Factor<'a, V>>,
    beta: impl Into<Factor<'b, V>>,
) -> Result<(Factor<'a, V>, Factor<'b, V>), OpError> {
    Ok((alpha.into().check(device, "alpha")?, beta.into().check(device, "beta")?))
}

impl<V: Scalar> Neg for Factor<'_, V> {
    type Output = Self;

    fn neg(self) -> Self {
        Self { scale: self.scale.times(-V::ONE), ..self }
    }
}

impl<V: Scalar> From<V> for Factor<'_, V> {
    fn from(value: V) -> Self {
        Self { scale: Scale::new(value), stored: None }
    }
}

impl<'a, V: Scalar> From<&'a DeviceSlice<V>> for Factor<'a, V> {
    fn from(stored: &'a DeviceSlice<V>) -> Self {
        Self { scale: Scale::ONE, stored: Some(stored) }
    }
}

macro_rules! from_owner {
    ($($owner:ty),*) => {$(
        impl<'a, V: Scalar> From<&'a $owner> for Factor<'a, V> {
            fn from(stored: &'a $owner) -> Self {
                Self::from(&**stored)
            }
        }
    )*};
}
from_owner!(DeviceVec<V>, DeviceView<'_, V>, DeviceViewMut<'_, V>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedOptions;

    /// Products of an element on the device with numbers, one after another.
    fn product<V: Scalar>(stored: V, numbers: &[V]) -> Vec<V> {
        let devices = [Device::cpu(), Device::simulated(SimulatedOptions::default())];
        let on_each = devices.map(|device| {
            let stored = device.upload(&[stored]).unwrap();
            let factor = numbers.iter().fold(Factor::from(&stored), |factor, &number| factor.scaled(number));
            let (x, mut y) = (device.upload(&[V::ONE]).unwrap(), device.zeros(1).unwrap());
            crate::sequence::vector::axpby(factor, &x, V::ZERO, &mut y).unwrap();
            y.get(0).unwrap()
        });
        on_each.to_vec()
    }

    #[allow(clippy::float_cmp)] // infinities and zeros are exact
    #[test]
    fn intermediate_products_may_leave_the_range() {
        for (stored, numbers, expected) in [
            (1e300, &[1e-200, 1e-200][..], 1e-100),
            (1e-300, &[1e200, -1e200], -1e100),
            (1e300, &[1e-300, 1e-300, 1e300], 1.0),
            (5e-324, &[f64::MAX, 1e300, 1e-300], 5e-324 * f64::MAX),
            (f64::MAX, &[5e-324, 1e-308, 1e308], f64::MAX * 5e-324),
            (1e-200, &[1e-200, 1e-200], 0.0),
            (1.0, &[1e300, 1e300], f64::INFINITY),
            (1e300, &[1e-200, 1e-200, 0.0], 0.0),
            (2.0, &[3.0, -0.5], -3.0),
        ] {
            for found in product(stored, numbers) {
                let error = (found - expected).abs();
                assert!(
                    found == expected || error <= 1e-15 * expected.abs(),
                    "{stored} {numbers:?}: {found}"
                );
            }
        }
        let power = |exponent: i32| 2.0_f64.powi(exponent) as f32;
        for (stored, numbers, expected) in [
            (f32::from_bits(1), &[power(100), power(100), power(76)][..], power(127)),
            (power(127), &[power(-100), power(-100), power(-76)], f32::from_bits(1)),
            (power(-100), &[power(127), power(127)], f32::INFINITY),
            (1e30, &[1e-30, 1e-30], 1e-30),
        ] {
            for found in product(stored, numbers) {
                assert!(
                    found == expected || (found / expected - 1.0).abs() < 1e-6,
                    "{stored} {numbers:?}: {found}"
                );
            }
        }
        assert!(product(1.0, &[f64::NAN, 1e-200, 1e-200]).iter().all(|value| value.is_nan()));
        assert!(product(f64::NAN, &[1e-200, 1e-200]).iter().all(|value| value.is_nan()));
    }
}
