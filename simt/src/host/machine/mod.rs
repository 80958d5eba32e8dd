//! Simulated operations of the machine: each finds the calling lane, checks, and acts.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::block::{with_lane, LaneContext, Request};
use super::fault::FaultKind;
use super::warp::{Collective, Kind};
use crate::element::ScalarType;
use crate::thread::WARP_SIZE;
use crate::warp::Shuffle;

mod atomic;
mod memory;

pub(crate) use atomic::*;
pub(crate) use memory::*;

/// Returns the value of an operation; ends the lane with a report if it failed.
#[inline]
fn checked<T>(lane: &LaneContext<'_>, result: Result<T, FaultKind>, line: &'static Location<'static>) -> T {
    match result {
        Ok(value) => value,
        Err(kind) => lane.fault(kind, line),
    }
}

#[inline]
#[track_caller]
pub(crate) fn check_view(address: u64, len: u64, index: usize, count: usize, element: ScalarType) {
    if (index as u64).checked_add(count as u64).is_none_or(|end| end > len) {
        let line = Location::caller();
        let address = address.wrapping_add((index as u64).wrapping_mul(element.size() as u64));
        with_lane(|lane| lane.fault(FaultKind::OutsideView { address, index, count, len, element }, line));
    }
}

#[inline]
#[track_caller]
pub(crate) fn check_shared_view(address: u32, len: u32, index: usize, element: ScalarType) {
    if index >= len as usize {
        let line = Location::caller();
        let address = address.wrapping_add((index as u32).wrapping_mul(element.size() as u32));
        with_lane(|lane| lane.fault(FaultKind::OutsideSharedView { address, index, len, element }, line));
    }
}

#[track_caller]
pub(crate) fn check_arena(padding: u32, len: usize, element: ScalarType, left: u32) {
    let asked = (len as u64).saturating_mul(element.size() as u64).saturating_add(u64::from(padding));
    if asked > u64::from(left) {
        let line = Location::caller();
        with_lane(|lane| lane.fault(FaultKind::ArenaExhausted { asked, left }, line));
    }
}

pub(crate) fn thread_index() -> u32 {
    with_lane(|lane| lane.thread)
}

pub(crate) fn block_index() -> u32 {
    with_lane(|lane| lane.block.index)
}

pub(crate) fn block_size() -> u32 {
    with_lane(|lane| lane.block.launch.kernel.block_size)
}

pub(crate) fn grid_size() -> u32 {
    with_lane(|lane| lane.block.launch.grid)
}

#[track_caller]
pub(crate) fn barrier() {
    let line = Location::caller();
    with_lane(|lane| lane.stop(Request::Barrier(line)));
}

pub(crate) fn spin_hint() {
    with_lane(|lane| lane.stop(Request::Spin));
}

pub(crate) fn prefetch(_: u64) {}

pub(crate) fn opaque(value: u32) -> u32 {
    value
}

pub(crate) fn clock() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Relaxed)
}

#[inline]
#[track_caller]
fn collective(kind: Kind, mask: u32, input: u64, argument: u32) -> u64 {
    let line = Location::caller();
    with_lane(|lane| {
        let own = lane.thread % WARP_SIZE;
        let call = Collective { kind, mask, input, argument, line };
        if mask >> own & 1 == 0 {
            lane.fault(FaultKind::NotInMask { what: call.what(), mask, lane: own }, line);
        }
        lane.stop(Request::Collective(call))
    })
}

#[track_caller]
pub(crate) fn shuffle(kind: Shuffle, mask: u32, bits: u64, argument: u32, _size: usize) -> u64 {
    collective(Kind::Shuffle(kind), mask, bits, argument)
}

#[track_caller]
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    collective(Kind::Ballot, mask, u64::from(predicate), 0) as u32
}

#[track_caller]
pub(crate) fn match_any(mask: u32, value: u32) -> u32 {
    collective(Kind::MatchAny, mask, u64::from(value), 0) as u32
}

#[track_caller]
pub(crate) fn warp_sync(mask: u32) {
    collective(Kind::Barrier, mask, 0, 0);
}

pub(crate) fn widen_f16(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Every NaN becomes the NaN that the GPU's instruction returns.
pub(crate) fn narrow_f16(value: f32) -> u16 {
    if value.is_nan() {
        0x7fff
    } else {
        half::f16::from_f32(value).to_bits()
    }
}

pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

#[track_caller]
pub(crate) fn times_f32(value: f32, address: u64) -> f32 {
    if address == 0 {
        value
    } else {
        value * load_read_only::<f32>(address)
    }
}

#[track_caller]
pub(crate) fn times_f64(value: f64, address: u64) -> f64 {
    if address == 0 {
        value
    } else {
        value * load_read_only::<f64>(address)
    }
}

pub(crate) fn sqrt_f32(value: f32) -> f32 {
    value.sqrt()
}

pub(crate) fn sqrt_f64(value: f64) -> f64 {
    value.sqrt()
}

#[inline]
pub(crate) fn count_ones(word: u64) -> u32 {
    word.count_ones()
}

#[inline]
pub(crate) fn leading_zeros(word: u64) -> u32 {
    word.leading_zeros()
}

#[inline]
pub(crate) fn trailing_zeros(word: u64) -> u32 {
    word.trailing_zeros()
}
