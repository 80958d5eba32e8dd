//! Loads and stores of global and shared memory.

use std::panic::Location;

use super::checks::checked;
use crate::element::{Element, Packet};
use crate::host::block::{with_lane, Copy16};
use crate::host::fault::{AccessKind, FaultKind};
use crate::host::read_only::Use;

/// Loads and stores of an element type on the GPU; empty here.
pub trait Access {}
impl<T> Access for T {}

#[inline]
#[track_caller]
pub(crate) fn load<T: Element>(address: u64) -> T {
    let line = Location::caller();
    with_lane(|lane| {
        let (memory, by) = (lane.block.launch.memory, &lane.block.observer);
        checked(lane, lane.block.launch.weak.before_plain_access(by, address), line);
        T::from_bits(checked(lane, memory.block_load(address, T::SIZE, by), line))
    })
}

#[inline]
#[track_caller]
pub(crate) fn load_read_only<T: Element>(address: u64) -> T {
    let line = Location::caller();
    note_use(Use::ReadOnlyLoad, address, T::SIZE);
    with_lane(|lane| {
        let (memory, operation) = (lane.block.launch.memory, lane.block.launch.operation);
        T::from_bits(checked(lane, memory.operation_load(address, T::SIZE, operation), line))
    })
}

#[inline]
#[track_caller]
pub(crate) fn load_read_only_if<T: Element>(address: u64, condition: bool) -> T {
    if condition {
        load_read_only(address)
    } else {
        T::ZERO
    }
}

#[inline]
#[track_caller]
pub(super) fn note_use(how: Use, address: u64, bytes: usize) {
    let line = Location::caller();
    with_lane(|lane| checked(lane, lane.block.launch.read_only.note(how, address, bytes), line));
}

#[inline]
#[track_caller]
pub(crate) fn load_streaming<T: Element>(address: u64) -> T {
    load_read_only(address)
}

#[inline]
#[track_caller]
fn check_alignment<T: Element, const N: usize>(address: u64) {
    let bytes = (N * T::SIZE).min(16) as u64;
    if !address.is_multiple_of(bytes) {
        let line = Location::caller();
        with_lane(|lane| lane.fault(FaultKind::Misaligned { address, bytes }, line));
    }
}

#[inline]
#[track_caller]
fn load_vector<T: Element, const N: usize>(address: u64) -> [T; N] {
    check_alignment::<T, N>(address);
    let mut values = [T::ZERO; N];
    for (i, value) in values.iter_mut().enumerate() {
        *value = load_read_only(address + (i * T::SIZE) as u64);
    }
    values
}

#[inline]
#[track_caller]
pub(crate) fn load_streaming_2<T: Element>(address: u64) -> [T; 2] {
    load_vector(address)
}

#[inline]
#[track_caller]
pub(crate) fn load_streaming_4<T: Element>(address: u64) -> [T; 4] {
    load_vector(address)
}

#[inline]
#[track_caller]
pub(crate) fn store<T: Element>(address: u64, value: T) {
    note_use(Use::Write, address, T::SIZE);
    let line = Location::caller();
    with_lane(|lane| {
        let (memory, by) = (lane.block.launch.memory, &lane.block.observer);
        checked(lane, lane.block.launch.weak.before_plain_access(by, address), line);
        checked(lane, memory.block_store(address, T::SIZE, value.to_bits(), by), line);
    });
}

#[inline]
#[track_caller]
pub(crate) fn store_streaming<T: Element>(address: u64, value: T) {
    store(address, value);
}

/// Position of element `index` of `T` in a packet: its word, and its shift within the word.
fn in_packet<T: Element>(index: usize) -> (usize, usize) {
    (index * T::SIZE / 8, index * T::SIZE % 8 * 8)
}

#[track_caller]
fn check_packet(address: u64) {
    if !address.is_multiple_of(16) {
        let line = Location::caller();
        with_lane(|lane| lane.fault(FaultKind::Misaligned { address, bytes: 16 }, line));
    }
}

#[track_caller]
fn gather_packet<T: Element>(mut load: impl FnMut(usize) -> T) -> Packet {
    let mut packet = [0; 2];
    for index in 0..16 / T::SIZE {
        let (word, shift) = in_packet::<T>(index);
        packet[word] |= load(index).to_bits() << shift;
    }
    packet
}

#[track_caller]
fn scatter_packet<T: Element>(packet: Packet, mut store: impl FnMut(usize, T)) {
    for index in 0..16 / T::SIZE {
        let (word, shift) = in_packet::<T>(index);
        store(index, T::from_bits(packet[word] >> shift));
    }
}

#[track_caller]
pub(crate) fn load_16<T: Element>(address: u64) -> Packet {
    check_packet(address);
    gather_packet(|index| load::<T>(address + (index * T::SIZE) as u64))
}

#[track_caller]
pub(crate) fn load_read_only_16<T: Element>(address: u64) -> Packet {
    check_packet(address);
    gather_packet(|index| load_read_only::<T>(address + (index * T::SIZE) as u64))
}

#[track_caller]
pub(crate) fn load_read_only_16_if<T: Element>(address: u64, condition: bool) -> Packet {
    if condition {
        load_read_only_16::<T>(address)
    } else {
        Packet::default()
    }
}

#[track_caller]
pub(crate) fn load_streaming_16<T: Element>(address: u64) -> Packet {
    check_packet(address);
    let line = Location::caller();
    gather_packet(|index| {
        let address = address + (index * T::SIZE) as u64;
        with_lane(|lane| {
            let (memory, operation) = (lane.block.launch.memory, lane.block.launch.operation);
            T::from_bits(checked(lane, memory.operation_load(address, T::SIZE, operation), line))
        })
    })
}

#[track_caller]
pub(crate) fn store_streaming_16<T: Element>(address: u64, packet: Packet) {
    check_packet(address);
    scatter_packet(packet, |index, value: T| store(address + (index * T::SIZE) as u64, value));
}

#[track_caller]
pub(crate) fn shared_load_16<T: Element>(address: u32) -> Packet {
    check_packet(u64::from(address));
    let line = Location::caller();
    gather_packet(|index| {
        let address = address + (index * T::SIZE) as u32;
        T::from_bits(shared_access_at(line, AccessKind::Read, address, T::SIZE, |old| old))
    })
}

#[track_caller]
pub(crate) fn shared_store_16<T: Element>(address: u32, packet: Packet) {
    check_packet(u64::from(address));
    let line = Location::caller();
    scatter_packet(packet, |index, value: T| {
        let address = address + (index * T::SIZE) as u32;
        shared_access_at(line, AccessKind::Write, address, T::SIZE, |_| value.to_bits());
    });
}

/// The copy arrives only when the lane waits for it, so that a missing wait is found.
#[track_caller]
pub(crate) fn shared_copy_16<T: Element>(address: u32, from: u64) {
    check_packet(u64::from(address));
    let line = Location::caller();
    let packet = load_streaming_16::<T>(from);
    with_lane(|lane| lane.copies.borrow_mut().push(Copy16 { address, size: T::SIZE, packet, line }));
}

pub(crate) fn await_copies() {
    let copies = with_lane(|lane| lane.copies.take());
    for Copy16 { address, size, packet, line } in copies {
        for offset in (0..16).step_by(size) {
            let bits = packet[offset / 8] >> (offset % 8 * 8);
            shared_access_at(line, AccessKind::Write, address + offset as u32, size, |_| bits);
        }
    }
}

#[inline]
#[track_caller]
fn store_vector<T: Element, const N: usize>(address: u64, values: [T; N]) {
    check_alignment::<T, N>(address);
    for (i, value) in values.into_iter().enumerate() {
        store(address + (i * T::SIZE) as u64, value);
    }
}

#[inline]
#[track_caller]
pub(crate) fn store_streaming_2<T: Element>(address: u64, values: [T; 2]) {
    store_vector(address, values);
}

#[inline]
#[track_caller]
pub(crate) fn store_streaming_4<T: Element>(address: u64, values: [T; 4]) {
    store_vector(address, values);
}

pub(crate) fn shared_arena<const BYTES: usize>() -> u32 {
    0
}

pub(crate) fn dynamic_shared_arena() -> u32 {
    with_lane(|lane| lane.block.launch.kernel.shared_bytes.next_multiple_of(16))
}

#[inline]
#[track_caller]
pub(super) fn shared_access(
    kind: AccessKind,
    address: u32,
    size: usize,
    update: impl FnOnce(u64) -> u64,
) -> u64 {
    shared_access_at(Location::caller(), kind, address, size, update)
}

#[inline]
fn shared_access_at(
    line: &'static Location<'static>,
    kind: AccessKind,
    address: u32,
    size: usize,
    update: impl FnOnce(u64) -> u64,
) -> u64 {
    with_lane(|lane| {
        let result = lane.block.shared.borrow_mut().access(kind, address, size, lane.stamp(), update);
        checked(lane, result, line)
    })
}

#[inline]
#[track_caller]
pub(crate) fn shared_load<T: Element>(address: u32) -> T {
    T::from_bits(shared_access(AccessKind::Read, address, T::SIZE, |old| old))
}

#[inline]
#[track_caller]
pub(crate) fn shared_store<T: Element>(address: u32, value: T) {
    shared_access(AccessKind::Write, address, T::SIZE, |_| value.to_bits());
}
