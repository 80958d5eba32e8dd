use crate::operand::OpError;

/// Options of incomplete factorizations.
///
/// ```
/// use evenpath::factorization::{FactorizationOptions, Ic0Plan};
/// use evenpath::{Csr, Device};
///
/// // Not positive definite.
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0)])?;
/// let a = Device::best()?.upload(&a)?;
/// assert!(Ic0Plan::new(&a)?.factorize(&a).is_err());
/// let shifted = FactorizationOptions::default().with_shift(0.5); // 1.5 and 4.5 on the diagonal
/// Ic0Plan::new_with(&a, shifted)?.factorize(&a)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct FactorizationOptions {
    /// Part of the diagonal that is added to it, so that pivots stay away from zero; 0 by default (Manteuffel, *An Incomplete
    /// Factorization Technique for Positive Definite Linear Systems*, 1980).
    pub shift: f64,
}

impl FactorizationOptions {
    /// Sets the part of the diagonal that is added to it.
    #[must_use]
    pub fn with_shift(self, shift: f64) -> Self {
        Self { shift }
    }

    /// Checks that the shift is a number from 0.
    pub(super) fn check(self) -> Result<(), OpError> {
        let Self { shift } = self;
        if shift.is_finite() && shift >= 0.0 { Ok(()) } else { Err(OpError::Shift { shift }) }
    }
}
