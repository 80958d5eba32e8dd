//! Loads and stores of 16 bytes of neighbouring elements, a word of theirs at a time.

use std::panic::Location;

use super::checks::misaligned;
use super::words::{self, Line};
use crate::element::Packet;
use crate::host::block::{with_lane, Copy16};

#[track_caller]
fn check(address: u64) {
    if !address.is_multiple_of(16) {
        misaligned(address, 16, Location::caller());
    }
}

/// Returns the packet whose words of `size` bytes `load` returns, by their offsets.
fn gather(size: usize, mut load: impl FnMut(usize) -> u64) -> Packet {
    let mut packet = Packet::default();
    for offset in (0..16).step_by(size) {
        packet[offset / 8] |= load(offset) << (offset % 8 * 8);
    }
    packet
}

/// Gives the words of `size` bytes of a packet to `store`, with their offsets.
fn scatter(packet: Packet, size: usize, mut store: impl FnMut(usize, u64)) {
    let mask = u64::MAX >> (64 - 8 * size);
    for offset in (0..16).step_by(size) {
        store(offset, packet[offset / 8] >> (offset % 8 * 8) & mask);
    }
}

/// Loads a packet by words of `size` bytes, each by `word`.
#[track_caller]
pub(super) fn load(address: u64, size: usize, word: fn(u64, usize, Line) -> u64) -> Packet {
    check(address);
    let line = Location::caller();
    gather(size, |offset| word(address + offset as u64, size, line))
}

#[track_caller]
pub(super) fn store(address: u64, size: usize, packet: Packet) {
    check(address);
    let line = Location::caller();
    scatter(packet, size, |offset, bits| words::store(address + offset as u64, size, bits, line));
}

#[track_caller]
pub(super) fn shared_load(address: u32, size: usize) -> Packet {
    check(u64::from(address));
    let line = Location::caller();
    gather(size, |offset| words::shared_load(address + offset as u32, size, line))
}

#[track_caller]
pub(super) fn shared_store(address: u32, size: usize, packet: Packet) {
    check(u64::from(address));
    let line = Location::caller();
    scatter(packet, size, |offset, bits| words::shared_store(address + offset as u32, size, bits, line));
}

/// The copy arrives only when the lane waits for it, so that a missing wait is found.
#[track_caller]
pub(super) fn shared_copy(address: u32, from: u64, size: usize) {
    check(u64::from(address));
    let packet = load(from, size, words::load_for_operation);
    let line = Location::caller();
    with_lane(|lane| lane.copies.borrow_mut().push(Copy16 { address, size, packet, line }));
}

pub(crate) fn await_copies() {
    let copies = with_lane(|lane| lane.copies.take());
    for Copy16 { address, size, packet, line } in copies {
        scatter(packet, size, |offset, bits| words::shared_store(address + offset as u32, size, bits, line));
    }
}
