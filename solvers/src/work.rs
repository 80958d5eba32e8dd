//! The operator and preconditioner of a solve, and the time spent in them.

use std::time::{Duration, Instant};

use evenpath::{Device, DeviceSlice, DeviceVec, RealStorage, Scalar, vector};

use crate::error::{Result, check_square};
use crate::vectors::axpby;
use crate::{LinearOperator, Preconditioner, Times};

/// Operands of a method: products, preconditioner, inner products.
pub(crate) struct Work<'a, V: Scalar> {
    pub(crate) operator: &'a dyn LinearOperator<V>,
    pub(crate) preconditioner: &'a dyn Preconditioner<V>,
    ranks: usize,
    /// Times of products and of the preconditioner, if they are measured.
    times: Option<[Duration; 2]>,
}

impl<'a, V: Scalar> Work<'a, V> {
    /// # Errors
    ///
    /// If the operator is not square, or a rank failed.
    pub(crate) fn new(
        operator: &'a dyn LinearOperator<V>,
        preconditioner: &'a dyn Preconditioner<V>,
    ) -> Result<Self> {
        check_square((operator.nrows(), operator.ncols()))?;
        let mut ranks = [1.0];
        operator.sum_over_ranks(&mut ranks)?;
        Ok(Self { operator, preconditioner, ranks: ranks[0] as usize, times: None })
    }

    /// For operators of any shape, without a preconditioner.
    pub(crate) fn rectangular(operator: &'a dyn LinearOperator<V>, identity: &'a crate::Identity) -> Self {
        Self { operator, preconditioner: identity, ranks: 1, times: None }
    }

    pub(crate) fn device(&self) -> &Device {
        self.operator.device()
    }

    pub(crate) fn len(&self) -> usize {
        self.operator.nrows()
    }

    /// Number of ranks that have a part of the vectors.
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Number of rows on all ranks.
    pub(crate) fn global_len(&self) -> Result<usize> {
        let mut rows = [self.len() as f64];
        self.operator.sum_over_ranks(&mut rows)?;
        Ok(rows[0] as usize)
    }

    pub(crate) fn zeros(&self) -> Result<DeviceVec<V>> {
        Ok(self.device().zeros(self.len())?)
    }

    /// Begins to measure, or stops to.
    pub(crate) fn set_profiled(&mut self, is_profiled: bool) {
        self.times = is_profiled.then_some([Duration::ZERO; 2]);
    }

    /// The times of a solve that began at `start`. Waits for the device.
    pub(crate) fn times(&self, start: Instant) -> Result<Times> {
        self.device().synchronize()?;
        Ok(Times {
            total: start.elapsed(),
            products: self.times.map(|[products, _]| products),
            preconditioner: self.times.map(|[_, preconditioner]| preconditioner),
        })
    }

    /// y = Ax.
    pub(crate) fn apply(&mut self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        let operator = self.operator;
        self.timed(0, || operator.apply(x, y))
    }

    /// y = Aᴴx.
    pub(crate) fn apply_adjoint(&mut self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        let operator = self.operator;
        self.timed(0, || operator.apply_conjugate_transposed(x, y))
    }

    /// z = M⁻¹r.
    pub(crate) fn precondition(&mut self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        let preconditioner = self.preconditioner;
        self.timed(1, || preconditioner.apply(r, z))
    }

    fn timed(&mut self, part: usize, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let device = self.operator.device();
        let Some(times) = &mut self.times else { return run() };
        device.synchronize()?;
        let start = Instant::now();
        run()?;
        device.synchronize()?;
        times[part] += start.elapsed();
        Ok(())
    }

    /// r = b − Ax, and its norm.
    pub(crate) fn residual(
        &mut self,
        b: &DeviceSlice<V>,
        x: &DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
    ) -> Result<f64> {
        self.apply(x, r)?;
        axpby(1.0, b, -1.0, r)?;
        self.norm2(r)
    }

    /// The real part of xᴴy on all ranks: all of it if y is Ax, or M⁻¹x, for a Hermitian matrix.
    pub(crate) fn dot(&self, x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<f64> {
        let mut sum = [vector::dot(&x.as_parts(), &y.as_parts())?.to_f64()];
        self.operator.sum_over_ranks(&mut sum)?;
        Ok(sum[0])
    }

    /// ‖x‖₂ on all ranks, without overflow of squares.
    pub(crate) fn norm2(&self, x: &DeviceSlice<V>) -> Result<f64> {
        norm2(self.operator, x)
    }
}

/// ‖x‖₂ on all ranks, without overflow of squares.
pub(crate) fn norm2<V: Scalar>(operator: &dyn LinearOperator<V>, x: &DeviceSlice<V>) -> Result<f64> {
    operator.norm_over_ranks(vector::norm2(x)?.to_f64())
}
