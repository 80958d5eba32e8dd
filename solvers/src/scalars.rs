//! Inner products and norms that the host reads together, so that it waits once.

use evenpath::{Device, DeviceSlice, DeviceVec, Value, vector};

use crate::LinearOperator;
use crate::error::Result;

/// Memory for scalars on the device.
pub(crate) struct Scalars<V: Value> {
    values: DeviceVec<V>,
}

impl<V: Value> Scalars<V> {
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
pub(crate) struct Batch<'a, V: Value> {
    values: &'a mut DeviceSlice<V>,
    is_norm: Vec<bool>,
}

impl<V: Value> Batch<'_, V> {
    /// Computes xᵀy. Does not wait.
    pub(crate) fn dot(&mut self, x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<()> {
        let at = self.is_norm.len();
        vector::dot_into(x, y, &mut self.values.slice_mut(at..=at)?)?;
        self.is_norm.push(false);
        Ok(())
    }

    /// Computes ‖x‖₂, without overflow of squares. Does not wait.
    pub(crate) fn norm2(&mut self, x: &DeviceSlice<V>) -> Result<()> {
        let at = self.is_norm.len();
        vector::norm2_into(x, &mut self.values.slice_mut(at..=at)?)?;
        self.is_norm.push(true);
        Ok(())
    }

    /// Reads all scalars, over all ranks, in the order in which they were computed. Waits for the device.
    pub(crate) fn read_all(self, operator: &dyn LinearOperator<V>) -> Result<Vec<f64>> {
        let values = self.values.slice(..self.is_norm.len())?.download()?;
        let mut sums: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
        let norms: Vec<f64> = sums.clone();
        operator.sum_over_ranks(&mut sums)?;
        for (at, is_norm) in self.is_norm.into_iter().enumerate() {
            if is_norm {
                sums[at] = operator.norm_over_ranks(norms[at])?;
            }
        }
        Ok(sums)
    }

    /// Like [`read_all`](Self::read_all), for a known number of scalars.
    pub(crate) fn read<const N: usize>(self, operator: &dyn LinearOperator<V>) -> Result<[f64; N]> {
        let mut result = [0.0; N];
        for (result, value) in result.iter_mut().zip(self.read_all(operator)?) {
            *result = value;
        }
        Ok(result)
    }
}

/// The least positive number of the type that is not subnormal.
pub(crate) fn min_positive<V: Value>() -> f64 {
    if size_of::<V>() == size_of::<f32>() { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE }
}

/// The distance from 1 to the next number of the type.
pub(crate) fn epsilon<V: Value>() -> f64 {
    if size_of::<V>() == size_of::<f32>() { f64::from(f32::EPSILON) } else { f64::EPSILON }
}
