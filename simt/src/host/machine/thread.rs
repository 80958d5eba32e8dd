//! The calling thread, its block, and their time.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::host::block::{with_lane, LaneState};

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
    with_lane(|lane| lane.stop(LaneState::AtBarrier(line)));
}

pub(crate) fn spin_hint() {
    with_lane(|lane| lane.stop(LaneState::Spinning));
}

pub(crate) fn prefetch(_: u64) {}

pub(crate) fn opaque(value: u32) -> u32 {
    value
}

pub(crate) fn clock() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Relaxed)
}
