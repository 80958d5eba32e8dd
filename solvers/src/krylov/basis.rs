//! Orthonormal vectors of a Krylov space.

use evenpath::{Complex, DeviceDense, DeviceSlice, DeviceVec, RealStorage, Scalar, vector};

use crate::columns::{aligned_columns, column, column_mut};
use crate::error::Result;
use crate::number::{rounded, wide};
use crate::vectors::divide;
use crate::work::Work;

/// Vectors as the columns of a dense matrix, and what makes others orthogonal to them.
pub(crate) struct Basis<V: Scalar> {
    columns: DeviceDense<V>,
    /// The coefficients of the first and the second pass, and two norms.
    scalars: DeviceVec<V>,
}

/// A vector made orthogonal to a basis.
pub(crate) struct Orthogonalized {
    /// The parts along the vectors of the basis.
    pub(crate) coefficients: Vec<Complex<f64>>,
    /// The norm of the vector before.
    pub(crate) before: f64,
    /// The norm of what is left.
    pub(crate) norm: f64,
}

impl<V: Scalar> Basis<V> {
    /// Allocates `count` vectors.
    pub(crate) fn new(work: &Work<V>, count: usize) -> Result<Self> {
        let columns = aligned_columns(work.device(), work.len(), count)?;
        Ok(Self { columns, scalars: work.device().zeros(2 * count + 2)? })
    }

    /// Replaces vector `at` by `w` / `norm`.
    pub(crate) fn set(&mut self, at: usize, w: &DeviceSlice<V>, norm: f64) -> Result<()> {
        let mut column = column_mut(&mut self.columns, at)?;
        column.copy_from(w)?;
        divide(&mut column, norm)
    }

    /// Calls a function with vector `at`.
    pub(crate) fn with<R>(&self, at: usize, run: impl FnOnce(&DeviceSlice<V>) -> Result<R>) -> Result<R> {
        run(&*column(&self.columns, at)?)
    }

    /// Replaces vector `at` by a function.
    pub(crate) fn write(
        &mut self,
        at: usize,
        run: impl FnOnce(&mut DeviceSlice<V>) -> Result<()>,
    ) -> Result<()> {
        run(&mut *column_mut(&mut self.columns, at)?)
    }

    /// Makes `w` orthogonal to the first `count` vectors by classical Gram–Schmidt, twice (Giraud, Langou and Rozložník,
    /// Comput. Math. Appl. 50, 2005). On one rank, waits for the device once.
    pub(crate) fn orthogonalize(
        &mut self,
        work: &Work<V>,
        count: usize,
        w: &mut DeviceSlice<V>,
    ) -> Result<Orthogonalized> {
        let Self { columns, scalars } = self;
        let norms = 2 * count;
        let norm_into = |scalars: &mut DeviceSlice<V>, at: usize, w: &DeviceSlice<V>| {
            vector::norm2_into(w, &mut scalars.slice_mut(at..=at)?.as_parts_mut().slice_mut(..1)?)
        };
        norm_into(scalars, norms, w)?;
        project(work, columns, w, &mut *scalars.slice_mut(..count)?)?;
        subtract(columns, &*scalars.slice(..count)?, w)?;
        norm_into(scalars, norms + 1, w)?;
        project(work, columns, w, &mut *scalars.slice_mut(count..norms)?)?;
        subtract(columns, &*scalars.slice(count..norms)?, w)?;

        let read: Vec<Complex<f64>> = scalars.slice(..norms + 2)?.download()?.into_iter().map(wide).collect();
        let before = work.operator.norm_over_ranks(read[norms].re)?;
        let norm = work.operator.norm_over_ranks(read[norms + 1].re)?;
        let (first, second) = (&read[..count], &read[count..norms]);
        let removed = second.iter().fold(0.0_f64, |norm, part| norm.hypot(part.re).hypot(part.im));
        // By Pythagoras, unless that cancels.
        let cancels = removed > 0.5 * norm;
        let norm = if cancels { work.norm2(w)? } else { ((norm - removed) * (norm + removed)).sqrt() };
        let coefficients = first.iter().zip(second).map(|(first, second)| first + second).collect();
        Ok(Orthogonalized { coefficients, before, norm })
    }

    /// y += `scale` · Σ `coefficients`ᵢ · vᵢ.
    pub(crate) fn add(
        &mut self,
        scale: f64,
        coefficients: &[Complex<f64>],
        y: &mut DeviceSlice<V>,
    ) -> Result<()> {
        let values: Vec<V> = coefficients.iter().map(|&coefficient| rounded(coefficient)).collect();
        let mut on_device = self.scalars.slice_mut(..values.len())?;
        on_device.copy_from_slice(&values)?;
        Ok(self.columns.add_columns(rounded::<V>(scale.into()), &on_device, y)?)
    }
}

/// The inner products of `w` with leading columns, over all ranks.
pub(crate) fn project<V: Scalar>(
    work: &Work<V>,
    columns: &DeviceDense<V>,
    w: &DeviceSlice<V>,
    coefficients: &mut DeviceSlice<V>,
) -> Result<()> {
    columns.dots_conjugated_into(w, coefficients)?;
    if work.ranks() > 1 {
        let mut parts = coefficients.as_parts_mut();
        let mut sums: Vec<f64> = parts.download()?.iter().map(|part| part.to_f64()).collect();
        work.operator.sum_over_ranks(&mut sums)?;
        let sums: Vec<V::Real> = sums.into_iter().map(V::Real::from_f64).collect();
        parts.copy_from_slice(&sums)?;
    }
    Ok(())
}

/// w −= Σ `coefficients`ᵢ · vᵢ.
pub(crate) fn subtract<V: Scalar>(
    columns: &DeviceDense<V>,
    coefficients: &DeviceSlice<V>,
    w: &mut DeviceSlice<V>,
) -> Result<()> {
    Ok(columns.add_columns(-V::ONE, coefficients, w)?)
}
