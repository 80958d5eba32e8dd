//! Collectives of a warp.

use std::panic::Location;

use crate::host::block::{with_lane, LaneState};
use crate::host::fault::FaultKind;
use crate::host::warp::{Collective, CollectiveKind};
use crate::operation::{Shuffle, WARP_SIZE};

#[track_caller]
fn collective(kind: CollectiveKind, mask: u32, input: u64, argument: u32) -> u64 {
    let line = Location::caller();
    with_lane(|lane| {
        let own = lane.thread % WARP_SIZE;
        let call = Collective { kind, mask, input, argument, line };
        if mask >> own & 1 == 0 {
            lane.fault(FaultKind::NotInMask { what: call.what(), mask, lane: own }, line);
        }
        lane.stop(LaneState::InCollective(call))
    })
}

#[track_caller]
pub(crate) fn shuffle(kind: Shuffle, mask: u32, bits: u64, argument: u32, _size: usize) -> u64 {
    collective(CollectiveKind::Shuffle(kind), mask, bits, argument)
}

#[track_caller]
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    collective(CollectiveKind::Ballot, mask, u64::from(predicate), 0) as u32
}

#[track_caller]
pub(crate) fn match_any(mask: u32, value: u32) -> u32 {
    collective(CollectiveKind::MatchAny, mask, u64::from(value), 0) as u32
}

#[track_caller]
pub(crate) fn warp_sync(mask: u32) {
    collective(CollectiveKind::Barrier, mask, 0, 0);
}
