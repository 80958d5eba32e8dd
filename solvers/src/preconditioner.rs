//! Preconditioners that need no set-up but the diagonal.

use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Offset, Value, vector};

use crate::error::{Error, Result, check_square};

/// An approximate inverse z = M⁻¹r.
///
/// Most methods need a linear one: the same M in every step. [`Cg`](crate::Cg) needs a symmetric positive definite one.
pub trait Preconditioner<V: Value>: Sync {
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

    /// The diagonal of M⁻¹, if M is diagonal. Some methods then need fewer passes over their vectors.
    fn diagonal(&self) -> Option<&DeviceSlice<V>> {
        None
    }
}

/// No preconditioner: z = r.
#[derive(Debug, Clone, Copy, Default)]
pub struct Identity;

impl<V: Value> Preconditioner<V> for Identity {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        Ok(z.copy_from(r)?)
    }

    fn can_capture(&self) -> bool {
        true
    }
}

/// Division by the diagonal of A.
pub struct Jacobi<V: Value> {
    inverse: DeviceVec<V>,
}

impl<V: Value> Jacobi<V> {
    /// Reads the diagonal of a square matrix. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or a row's entry on the diagonal is missing, zero or not finite.
    pub fn new<O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self> {
        Ok(Self { inverse: inverse_diagonal(matrix)? })
    }
}

impl<V: Value> Preconditioner<V> for Jacobi<V> {
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
pub(crate) fn check_linear<V: Value>(
    preconditioner: &dyn Preconditioner<V>,
    method: &'static str,
) -> Result<()> {
    if preconditioner.is_linear() { Ok(()) } else { Err(Error::NotLinear { method }) }
}

/// The reciprocals of the diagonal of a square matrix.
pub(crate) fn inverse_diagonal<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<DeviceVec<V>> {
    check_square(matrix.shape())?;
    let mut diagonal = matrix.diagonal()?;
    vector::map(vector::Map::Reciprocal, &mut diagonal)?;
    let reciprocals = diagonal.download()?;
    let usable = |value: &V| value.to_f64().is_finite() && *value != V::ZERO;
    match reciprocals.iter().position(|value| !usable(value)) {
        Some(row) => Err(Error::Diagonal { row, needed: "finite and nonzero" }),
        None => Ok(diagonal),
    }
}
