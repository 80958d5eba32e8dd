//! Checks of segments before a sort.

use super::options::SortOptions;
use crate::device::DeviceSlice;
use crate::keys::{Comparison, SortKey};
use crate::offset::Offset;
use crate::operand::OpError;
use crate::operand::check::check_countable;
use crate::sequence::row_marks::check_row_offsets;

/// Name of a sort of too many elements, for errors.
pub(super) const SEGMENTED: &str = "a sort by segments";

/// Checks segments of keys before a sort, and returns their comparison.
pub(super) fn check_segments<O: Offset, K: SortKey>(
    row_offsets: &DeviceSlice<O>,
    keys: &DeviceSlice<K>,
    options: SortOptions,
) -> Result<Comparison<K::Bits>, OpError> {
    let comparison = options.resolve::<K>()?;
    check_countable(SEGMENTED, keys.len())?;
    check_row_offsets(row_offsets, keys)?;
    Ok(comparison)
}
