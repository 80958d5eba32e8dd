//! Preconditioners that need no set-up but the diagonal.

use evenpath::{Complex, DeviceCsr, DeviceSlice, DeviceVec, Offset, Scalar, vector};

use crate::error::{Error, Result, check_square};
use crate::number::{quotient, rounded, wide};

/// An approximate inverse z = M⁻¹r.
///
/// Most methods need a linear one: the same M in every step. [`Cg`](crate::Cg) needs a symmetric positive definite one, or a
/// Hermitian one for complex numbers.
pub trait Preconditioner<V: Scalar>: Sync {
    /// Computes z = M⁻¹r. `r` and `z` have as many elements as the matrix has rows; old contents of `z` are not
    /// read.
    ///
    /// # Errors
    ///
    /// If the device failed, or an operand does not fit.
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()>;

    /// Returns whether [`apply`](Self::apply) can be captured in a graph: it does not wait for the device.
    fn can_capture(&self) -> bool {
        false
    }

    /// Returns whether M is the same linear map in every application. Methods that need one refuse another: only
    /// [`Fgmres`](crate::Fgmres), [`Lobpcg`](crate::Lobpcg), and [`Cg`](crate::Cg) with
    /// [`SolverOptions::with_flexible`](crate::SolverOptions::with_flexible) take it.
    fn is_linear(&self) -> bool {
        true
    }

    /// Returns whether M is the identity, so that z is r. Some methods then need no z.
    fn is_identity(&self) -> bool {
        false
    }

    /// The diagonal of M⁻¹, if M is diagonal. Some methods then need fewer passes over their vectors.
    fn diagonal(&self) -> Option<&DeviceSlice<V>> {
        None
    }
}

/// No preconditioner: z = r.
#[derive(Debug, Clone, Copy, Default)]
pub struct Identity;

impl<V: Scalar> Preconditioner<V> for Identity {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        Ok(z.copy_from(r)?)
    }

    fn can_capture(&self) -> bool {
        true
    }

    fn is_identity(&self) -> bool {
        true
    }
}

/// Division by the diagonal of A.
pub struct Jacobi<V: Scalar> {
    inverse: DeviceVec<V>,
}

impl<V: Scalar> Jacobi<V> {
    /// Reads the diagonal of a square matrix. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or a row's entry on the diagonal is missing, zero or not finite.
    pub fn new<O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self> {
        Ok(Self { inverse: inverse_diagonal(matrix)? })
    }
}

impl<V: Scalar> Preconditioner<V> for Jacobi<V> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        Ok(vector::multiply_elements(&self.inverse, r, z)?)
    }

    fn can_capture(&self) -> bool {
        true
    }

    fn diagonal(&self) -> Option<&DeviceSlice<V>> {
        Some(&self.inverse)
    }
}

/// Checks that a preconditioner is linear, for a method that needs one.
pub(crate) fn check_linear<V: Scalar>(
    preconditioner: &dyn Preconditioner<V>,
    method: &'static str,
) -> Result<()> {
    if preconditioner.is_linear() { Ok(()) } else { Err(Error::NotLinear { method }) }
}

/// The reciprocals of the diagonal of a square matrix.
pub(crate) fn inverse_diagonal<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<DeviceVec<V>> {
    check_square(matrix.shape())?;
    let mut diagonal = matrix.diagonal()?;
    let reciprocals = if V::IS_COMPLEX {
        let mut reciprocals = diagonal.download()?;
        for value in &mut reciprocals {
            *value = rounded(quotient(Complex::new(1.0, 0.0), wide(*value)));
        }
        diagonal.copy_from_slice(&reciprocals)?;
        reciprocals
    } else {
        vector::map(vector::Map::Reciprocal, &mut diagonal.as_parts_mut())?;
        diagonal.download()?
    };
    match reciprocals.iter().position(|value| !value.is_finite() || *value == V::ZERO) {
        Some(row) => Err(Error::Diagonal { row, needed: "finite and nonzero" }),
        None => Ok(diagonal),
    }
}
