//! Inner products and norms that the host reads together, so that it waits once.

use evenpath::{Complex, Device, DeviceSlice, DeviceVec, RealStorage, Scalar, vector};

use crate::LinearOperator;
use crate::error::Result;

/// Memory for scalars on the device.
pub(crate) struct Scalars<V: Scalar> {
    values: DeviceVec<V>,
}

impl<V: Scalar> Scalars<V> {
    /// Allocates memory for `capacity` scalars at a time.
    pub(crate) fn new(device: &Device, capacity: usize) -> Result<Self> {
        Ok(Self { values: device.zeros(capacity)? })
    }

    /// Begins scalars that are read together.
    pub(crate) fn batch(&mut self) -> Batch<'_, V> {
        Batch { values: &mut self.values, is_norm: Vec::new() }
    }
}

/// Scalars that are computed, in order, and not yet read.
pub(crate) struct Batch<'a, V: Scalar> {
    values: &'a mut DeviceSlice<V>,
    is_norm: Vec<bool>,
}

impl<V: Scalar> Batch<'_, V> {
    /// Computes xᴴy. Does not wait.
    pub(crate) fn dot(&mut self, x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<()> {
        let at = self.is_norm.len();
        vector::dot_conjugated_into(x, y, &mut self.values.slice_mut(at..=at)?)?;
        self.is_norm.push(false);
        Ok(())
    }

    /// Computes ‖x‖₂, without overflow of squares. Does not wait.
    pub(crate) fn norm2(&mut self, x: &DeviceSlice<V>) -> Result<()> {
        let at = self.is_norm.len();
        vector::norm2_into(x, &mut self.values.slice_mut(at..=at)?.as_parts_mut().slice_mut(..1)?)?;
        self.is_norm.push(true);
        Ok(())
    }

    /// Reads all scalars, over all ranks, in the order in which they were computed. Waits for the device.
    pub(crate) fn read_all_complex(self, operator: &dyn LinearOperator<V>) -> Result<Vec<Complex<f64>>> {
        let count = self.is_norm.len();
        let parts = self.values.slice(..count)?.as_parts().download()?;
        let mut sums: Vec<f64> = parts.iter().map(|part| part.to_f64()).collect();
        let of_rank = sums.clone();
        operator.sum_over_ranks(&mut sums)?;
        let parts = sums.len() / count.max(1);
        let mut numbers = Vec::with_capacity(count);
        for (at, is_norm) in self.is_norm.into_iter().enumerate() {
            let (first, imaginary) = (parts * at, if V::IS_COMPLEX { sums[parts * at + 1] } else { 0.0 });
            numbers.push(if is_norm {
                operator.norm_over_ranks(of_rank[first])?.into()
            } else {
                Complex::new(sums[first], imaginary)
            });
        }
        Ok(numbers)
    }

    /// Like [`read_all_complex`](Self::read_all_complex), but only the real parts.
    pub(crate) fn read_all(self, operator: &dyn LinearOperator<V>) -> Result<Vec<f64>> {
        Ok(self.read_all_complex(operator)?.into_iter().map(|number| number.re).collect())
    }

    /// Like [`read_all_complex`](Self::read_all_complex), for a known number of scalars.
    pub(crate) fn read_complex<const N: usize>(
        self,
        operator: &dyn LinearOperator<V>,
    ) -> Result<[Complex<f64>; N]> {
        let mut result = [Complex::default(); N];
        for (result, number) in result.iter_mut().zip(self.read_all_complex(operator)?) {
            *result = number;
        }
        Ok(result)
    }

    /// Like [`read_all`](Self::read_all), for a known number of scalars.
    pub(crate) fn read<const N: usize>(self, operator: &dyn LinearOperator<V>) -> Result<[f64; N]> {
        Ok(self.read_complex(operator)?.map(|number| number.re))
    }
}

/// The least positive number of the real type that is not subnormal.
pub(crate) fn min_positive<V: Scalar>() -> f64 {
    if size_of::<V::Real>() == size_of::<f32>() { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE }
}

/// The distance from 1 to the next number of the real type.
pub(crate) fn epsilon<V: Scalar>() -> f64 {
    if size_of::<V::Real>() == size_of::<f32>() { f64::from(f32::EPSILON) } else { f64::EPSILON }
}
