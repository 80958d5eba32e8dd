//! Checks of views and of results.

use std::panic::Location;

use crate::element::ScalarType;
use crate::host::block::{with_lane, LaneContext};
use crate::host::fault::FaultKind;

/// Returns the value of an operation; ends the lane with a report if it failed.
#[inline]
pub(super) fn checked<T>(
    lane: &LaneContext<'_>,
    result: Result<T, FaultKind>,
    line: &'static Location<'static>,
) -> T {
    match result {
        Ok(value) => value,
        Err(kind) => lane.fault(kind, line),
    }
}

/// Ends the lane: an address is not a multiple of the bytes of its access.
#[cold]
pub(super) fn misaligned(address: u64, bytes: usize, line: &'static Location<'static>) -> ! {
    with_lane(|lane| lane.fault(FaultKind::Misaligned { address, bytes: bytes as u64 }, line))
}

#[inline]
#[track_caller]
pub(crate) fn check_view(address: u64, len: u64, index: usize, count: usize, element: ScalarType) {
    if (index as u64).checked_add(count as u64).is_none_or(|end| end > len) {
        outside_view(address, len, index, count, element);
    }
}

#[cold]
#[track_caller]
fn outside_view(address: u64, len: u64, index: usize, count: usize, element: ScalarType) -> ! {
    let line = Location::caller();
    let address = address.wrapping_add((index as u64).wrapping_mul(element.size() as u64));
    with_lane(|lane| lane.fault(FaultKind::OutsideView { address, index, count, len, element }, line))
}

#[inline]
#[track_caller]
pub(crate) fn check_shared_view(address: u32, len: u32, index: usize, element: ScalarType) {
    if index >= len as usize {
        outside_shared_view(address, len, index, element);
    }
}

#[cold]
#[track_caller]
fn outside_shared_view(address: u32, len: u32, index: usize, element: ScalarType) -> ! {
    let line = Location::caller();
    let address = address.wrapping_add((index as u32).wrapping_mul(element.size() as u32));
    with_lane(|lane| lane.fault(FaultKind::OutsideSharedView { address, index, len, element }, line))
}

#[track_caller]
pub(crate) fn check_arena(padding: u32, len: usize, element: ScalarType, left: u32) {
    let asked = (len as u64).saturating_mul(element.size() as u64).saturating_add(u64::from(padding));
    if asked > u64::from(left) {
        let line = Location::caller();
        with_lane(|lane| lane.fault(FaultKind::ArenaExhausted { asked, left }, line));
    }
}
