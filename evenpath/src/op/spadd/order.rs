//! Whether the columns of every row increase, which is looked at once for each pattern.

use crate::Offset;
use crate::matrix::first_descent;
use crate::op::OpError;
use crate::op::device_csr::Pattern;

/// Checks a pattern on the CPU.
pub(super) fn check<O: Offset>(operand: &'static str, pattern: &Pattern<O>) -> Result<(), OpError> {
    if pattern.canonical.get().is_some() {
        return Ok(());
    }
    let offsets = pattern.row_offsets.host_slice().unwrap_or_default();
    let descent = first_descent(offsets, pattern.column_indices.host_slice().unwrap_or_default());
    report(operand, pattern, descent)
}

/// Keeps what the device found; where that is a row out of order, finds out which.
pub(super) fn conclude<O: Offset>(
    operand: &'static str,
    pattern: &Pattern<O>,
    is_canonical: bool,
) -> Result<(), OpError> {
    if is_canonical {
        return report(operand, pattern, None);
    }
    let (offsets, columns) = (pattern.row_offsets.to_vec()?, pattern.column_indices.to_vec()?);
    report(operand, pattern, first_descent(&offsets, &columns))
}

fn report<O: Offset>(
    operand: &'static str,
    pattern: &Pattern<O>,
    descent: Option<(usize, u32, u32)>,
) -> Result<(), OpError> {
    let Some((row, previous, column)) = descent else {
        // Another thread may have found out the same meanwhile.
        let _ = pattern.canonical.set(());
        return Ok(());
    };
    Err(OpError::NotCanonical { operand, row, previous, column })
}
