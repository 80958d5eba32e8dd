//! Options of scans.

use crate::operand::OpError;
use crate::operation::Operator;

/// Options of a scan: its operator, inclusive or exclusive, and an initial value.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let values = Device::cpu().upload(&[3_u32, 0, 2, 5])?;
/// let from_100 = ScanOptions::exclusive(Operator::Sum).with_initial(100);
/// assert_eq!(scan::values(&values, from_100)?.download()?, [100, 103, 103, 105]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ScanOptions<T> {
    /// The operator.
    pub operator: Operator,
    /// True if the scan is exclusive.
    pub is_exclusive: bool,
    /// Value to combine with, in place of the operator's identity; for exclusive scans of all values only.
    pub initial: Option<T>,
}

impl<T> ScanOptions<T> {
    /// Options of an inclusive scan: element i of the result combines the values from the first of its segment
    /// to i.
    #[must_use]
    pub fn inclusive(operator: Operator) -> Self {
        Self { operator, is_exclusive: false, initial: None }
    }

    /// Options of an exclusive scan: element i of the result combines the values from the first of its segment
    /// to i − 1; that of the first is the operator's [identity](Operator::identity).
    #[must_use]
    pub fn exclusive(operator: Operator) -> Self {
        Self { operator, is_exclusive: true, initial: None }
    }

    /// Sets an initial value to combine with, in place of the operator's identity. Only exclusive scans of all
    /// values take one; others are refused. A GPU copies the values once.
    #[must_use]
    pub fn with_initial(self, initial: T) -> Self {
        Self { initial: Some(initial), ..self }
    }

    /// Returns an error if there is an initial value, unless the scan is exclusive and of all values.
    pub(super) fn check_initial(&self, is_segmented: bool) -> Result<(), OpError> {
        if self.initial.is_some() && (is_segmented || !self.is_exclusive) {
            return Err(OpError::InitialValue { is_segmented });
        }
        Ok(())
    }
}
