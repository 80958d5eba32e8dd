//! Loads and stores of one word of memory, at most 8 bytes, in its low bytes.

use std::panic::Location;

use super::checks::checked;
use crate::host::block::with_lane;
use crate::host::fault::AccessKind;
use crate::host::read_only::Use;

/// The line of the kernel that makes an access.
pub(super) type Line = &'static Location<'static>;

/// Notes how the launch uses bytes of memory.
pub(super) fn note_use(how: Use, address: u64, bytes: usize, line: Line) {
    with_lane(|lane| checked(lane, lane.block.launch.read_only.note(how, address, bytes), line));
}

pub(super) fn load(address: u64, size: usize, line: Line) -> u64 {
    with_lane(|lane| {
        let (launch, by) = (&lane.block.launch, &lane.block.observer);
        checked(lane, launch.weak.before_plain_access(by, address), line);
        checked(lane, launch.memory.block_load(address, size, by), line)
    })
}

pub(super) fn load_read_only(address: u64, size: usize, line: Line) -> u64 {
    note_use(Use::ReadOnlyLoad, address, size, line);
    load_for_operation(address, size, line)
}

/// Loads for the launch's operation.
pub(super) fn load_for_operation(address: u64, size: usize, line: Line) -> u64 {
    with_lane(|lane| {
        let launch = &lane.block.launch;
        checked(lane, launch.memory.operation_load(address, size, launch.operation), line)
    })
}

pub(super) fn store(address: u64, size: usize, bits: u64, line: Line) {
    note_use(Use::Write, address, size, line);
    with_lane(|lane| {
        let (launch, by) = (&lane.block.launch, &lane.block.observer);
        checked(lane, launch.weak.before_plain_access(by, address), line);
        checked(lane, launch.memory.block_store(address, size, bits, by), line);
    });
}

pub(super) fn shared_load(address: u32, size: usize, line: Line) -> u64 {
    shared_access(AccessKind::Read, address, size, line, |old| old)
}

pub(super) fn shared_store(address: u32, size: usize, bits: u64, line: Line) {
    shared_access(AccessKind::Write, address, size, line, |_| bits);
}

pub(super) fn shared_access(
    kind: AccessKind,
    address: u32,
    size: usize,
    line: Line,
    update: impl FnOnce(u64) -> u64,
) -> u64 {
    with_lane(|lane| {
        let result = lane.block.shared.borrow_mut().access(kind, address, size, lane.stamp(), update);
        checked(lane, result, line)
    })
}
