use crate::op::spmv::method::SpmvMethod;
use crate::operand::OpError;

/// The number of lanes per row that a method is asked for with.
///
/// # Errors
///
/// If a warp cannot be divided into groups of as many.
pub(super) fn checked_lanes(lanes: u32, method: SpmvMethod) -> Result<u32, OpError> {
    if lanes.is_power_of_two() && lanes <= 32 {
        return Ok(lanes);
    }
    Err(OpError::Lanes { lanes, method: method.name() })
}
