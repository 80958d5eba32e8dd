//! Linear operators.

use evenpath::spmv::{
    SpmvOptions, SpmvPlan, SpmvTransposedMethod, SpmvTransposedOptions, SpmvTransposedPlan,
};
use evenpath::{Device, DeviceCsr, DeviceSlice, Offset, Scalar, vector};

use crate::RealCsr;
use crate::error::{Error, Result};
use crate::vectors::copied;

/// A linear map y = Ax of real or complex vectors on a device. Implement it to solve systems whose matrix is not stored, or is
/// stored in a format of your own.
///
/// The same x must give the same bits in every call if solutions shall be repeatable.
pub trait LinearOperator<V: Scalar>: Sync {
    /// The device of the vectors.
    fn device(&self) -> &Device;

    /// Number of elements of y, on this rank.
    fn nrows(&self) -> usize;

    /// Number of elements of x, on this rank.
    fn ncols(&self) -> usize;

    /// Computes y = Ax. `x` has [`ncols`](Self::ncols) elements, `y` [`nrows`](Self::nrows), whose old contents are
    /// not read.
    ///
    /// # Errors
    ///
    /// If the device failed, or an operand does not fit.
    fn apply(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()>;

    /// Computes y = Aᵀx. `x` has [`nrows`](Self::nrows) elements, `y` [`ncols`](Self::ncols).
    ///
    /// # Errors
    ///
    /// [`Error::NoTranspose`] if the operator does not have it, which is the default. Also those of
    /// [`apply`](Self::apply).
    fn apply_transposed(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        let (_, _) = (x, y);
        Err(Error::NoTranspose)
    }

    /// Computes y = Aᴴx, with the conjugate transpose. `x` has [`nrows`](Self::nrows) elements, `y` [`ncols`](Self::ncols). The default
    /// is [`apply_transposed`](Self::apply_transposed) for real numbers.
    ///
    /// # Errors
    ///
    /// [`Error::NoTranspose`] if the operator does not have it, which is the default for complex numbers. Also those of
    /// [`apply`](Self::apply).
    fn apply_conjugate_transposed(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        if V::IS_COMPLEX { Err(Error::NoTranspose) } else { self.apply_transposed(x, y) }
    }

    /// Adds numbers over all ranks that have a part of the vectors. The default, for vectors on one device,
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    fn sum_over_ranks(&self, numbers: &mut [f64]) -> Result<()> {
        let _ = numbers;
        Ok(())
    }

    /// Returns the Euclidean norm of a vector over all ranks from the norm of this rank's part. The default, for
    /// vectors on one device, returns `norm`.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    fn norm_over_ranks(&self, norm: f64) -> Result<f64> {
        Ok(norm)
    }

    /// The matrix, if [`apply`](Self::apply) multiplies by a real one in CSR and there are no other ranks. [`Cg`](crate::Cg) then treats
    /// small systems by themselves.
    fn csr(&self) -> Option<RealCsr<'_, V::Real>> {
        None
    }

    /// Returns whether [`apply`](Self::apply) can be captured in a graph: it does not wait for the device, nor
    /// for other ranks. Solvers that capture their iterations then do so.
    fn can_capture(&self) -> bool {
        false
    }
}

/// A matrix in CSR as an operator. The matrix is analyzed once, and its values may change afterwards.
pub struct CsrOperator<V: Scalar, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    plan: SpmvPlan<V, O>,
    transposed: Option<SpmvTransposedPlan<V, O>>,
}

impl<V: Scalar, O: Offset> CsrOperator<V, O> {
    /// Analyzes the matrix for products with default options. Keeps the matrix, whose memory is shared.
    ///
    /// # Errors
    ///
    /// If there is no memory for the workspace, or the device was lost.
    pub fn new(matrix: &DeviceCsr<V, O>) -> Result<Self> {
        Self::with_options(matrix, SpmvOptions::default())
    }

    /// Analyzes the matrix for products with `options`.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceCsr::plan_spmv`].
    pub fn with_options(matrix: &DeviceCsr<V, O>, options: SpmvOptions) -> Result<Self> {
        Ok(Self { matrix: matrix.clone(), plan: matrix.plan_spmv(options)?, transposed: None })
    }

    /// Analyzes the transpose too, which least squares need.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceCsr::plan_spmv_transposed`].
    pub fn with_transpose(mut self) -> Result<Self> {
        let mut options = SpmvTransposedOptions::default();
        if V::IS_COMPLEX {
            options = options.with_method(SpmvTransposedMethod::Copied); // the only one on GPUs
        }
        self.transposed = Some(self.matrix.plan_spmv_transposed(options)?);
        Ok(self)
    }

    /// The matrix.
    pub fn matrix(&self) -> &DeviceCsr<V, O> {
        &self.matrix
    }

    /// The plan of products with it.
    pub fn plan(&self) -> &SpmvPlan<V, O> {
        &self.plan
    }
}

impl<V: Scalar, O: Offset> LinearOperator<V> for CsrOperator<V, O> {
    fn device(&self) -> &Device {
        self.matrix.device()
    }

    fn nrows(&self) -> usize {
        self.matrix.nrows()
    }

    fn ncols(&self) -> usize {
        self.matrix.ncols()
    }

    fn apply(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        Ok(self.plan.run(V::ONE, x, V::ZERO, y)?)
    }

    fn apply_transposed(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        let plan = self.transposed.as_ref().ok_or(Error::NoTranspose)?;
        Ok(plan.run(V::ONE, x, V::ZERO, y)?)
    }

    fn apply_conjugate_transposed(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        if !V::IS_COMPLEX {
            return self.apply_transposed(x, y);
        }
        // The conjugate of Aᵀ times the conjugate of x.
        let mut conjugate = copied(x)?;
        vector::conjugate(&mut conjugate)?;
        self.apply_transposed(&conjugate, y)?;
        Ok(vector::conjugate(y)?)
    }

    fn csr(&self) -> Option<RealCsr<'_, V::Real>> {
        RealCsr::new(&self.matrix)
    }

    fn can_capture(&self) -> bool {
        true
    }
}
