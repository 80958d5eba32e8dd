//! Phases of a product by two-level sorting.

use crate::op::{SpgemmPhases, measure_two_level_sort};
use crate::operand::OpError;
use crate::spgemm::SpgemmOptions;
use crate::{DeviceCsr, Offset, Value};

/// Returns how long each phase of a product A·B by
/// [`SpgemmMethod::TwoLevelSort`](crate::spgemm::SpgemmMethod::TwoLevelSort) takes on a GPU, real or simulated: computes the
/// product, and drops it. On the CPU there are no such phases, and all times are zero.
///
/// # Errors
///
/// The same as for [`DeviceCsr::spgemm_with_offsets`].
pub fn two_level_sort_phases<V: Value, O: Offset>(
    a: &DeviceCsr<V, O>,
    b: &DeviceCsr<V, O>,
    options: SpgemmOptions,
) -> Result<SpgemmPhases, OpError> {
    measure_two_level_sort(a, b, options)
}
