//! Loads and stores of global and shared memory.

use std::panic::Location;

use super::checks::checked;
use crate::element::{Element, Packet, Words};
use crate::host::block::{with_lane, Copy16};
use crate::host::fault::{AccessKind, FaultKind};
use crate::host::read_only::Use;

/// Loads and stores of an element type on the GPU; empty here.
pub trait Access {}
impl<T> Access for T {}

/// Returns the address of a word of the element at an address.
#[inline]
fn word_address<T: Element>(address: u64, index: usize) -> u64 {
    address + (index * T::WORD_SIZE) as u64
}

/// Checks the alignment of an element of several words; memory checks that of a word.
#[inline]
#[track_caller]
fn check_words<T: Element>(address: u64) {
    if T::Words::COUNT > 1 {
        check_alignment::<T, 1>(address);
    }
}

#[inline]
#[track_caller]
pub(crate) fn load<T: Element>(address: u64) -> T {
    check_words::<T>(address);
    let line = Location::caller();
    with_lane(|lane| {
        let (memory, by) = (lane.block.launch.memory, &lane.block.observer);
        T::from_bits(T::Words::from_fn(|index| {
            let address = word_address::<T>(address, index);
            checked(lane, lane.block.launch.weak.before_plain_access(by, address), line);
            checked(lane, memory.block_load(address, T::WORD_SIZE, by), line)
        }))
    })
}

#[inline]
#[track_caller]
pub(crate) fn load_read_only<T: Element>(address: u64) -> T {
    note_use(Use::ReadOnlyLoad, address, T::SIZE);
    operation_load(address)
}

/// Loads for the launch's operation.
#[inline]
#[track_caller]
fn operation_load<T: Element>(address: u64) -> T {
    check_words::<T>(address);
    let line = Location::caller();
    with_lane(|lane| {
        let (memory, operation) = (lane.block.launch.memory, lane.block.launch.operation);
        T::from_bits(T::Words::from_fn(|index| {
            let address = word_address::<T>(address, index);
            checked(lane, memory.operation_load(address, T::WORD_SIZE, operation), line)
        }))
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
    check_words::<T>(address);
    let line = Location::caller();
    with_lane(|lane| {
        let (memory, by) = (lane.block.launch.memory, &lane.block.observer);
        for index in 0..T::Words::COUNT {
            let address = word_address::<T>(address, index);
            checked(lane, lane.block.launch.weak.before_plain_access(by, address), line);
            checked(lane, memory.block_store(address, T::WORD_SIZE, value.to_bits().word(index), by), line);
        }
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
        let (first, shift) = in_packet::<T>(index);
        let bits = load(index).to_bits();
        for word in 0..T::Words::COUNT {
            packet[first + word] |= bits.word(word) << shift;
        }
    }
    packet
}

#[track_caller]
fn scatter_packet<T: Element>(packet: Packet, mut store: impl FnMut(usize, T)) {
    for index in 0..16 / T::SIZE {
        let (first, shift) = in_packet::<T>(index);
        store(index, T::from_bits(T::Words::from_fn(|word| packet[first + word] >> shift)));
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
    gather_packet(|index| operation_load::<T>(address + (index * T::SIZE) as u64))
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
    gather_packet(|index| shared_load_at::<T>(line, address + (index * T::SIZE) as u32))
}

#[track_caller]
pub(crate) fn shared_store_16<T: Element>(address: u32, packet: Packet) {
    check_packet(u64::from(address));
    let line = Location::caller();
    scatter_packet(packet, |index, value: T| {
        shared_store_at(line, address + (index * T::SIZE) as u32, value);
    });
}

/// The copy arrives only when the lane waits for it, so that a missing wait is found.
#[track_caller]
pub(crate) fn shared_copy_16<T: Element>(address: u32, from: u64) {
    check_packet(u64::from(address));
    let line = Location::caller();
    let packet = load_streaming_16::<T>(from);
    with_lane(|lane| lane.copies.borrow_mut().push(Copy16 { address, size: T::WORD_SIZE, packet, line }));
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
fn shared_load_at<T: Element>(line: &'static Location<'static>, address: u32) -> T {
    T::from_bits(T::Words::from_fn(|index| {
        let address = address + (index * T::WORD_SIZE) as u32;
        shared_access_at(line, AccessKind::Read, address, T::WORD_SIZE, |old| old)
    }))
}

#[inline]
fn shared_store_at<T: Element>(line: &'static Location<'static>, address: u32, value: T) {
    for index in 0..T::Words::COUNT {
        let address = address + (index * T::WORD_SIZE) as u32;
        shared_access_at(line, AccessKind::Write, address, T::WORD_SIZE, |_| value.to_bits().word(index));
    }
}

#[inline]
#[track_caller]
pub(crate) fn shared_load<T: Element>(address: u32) -> T {
    check_words::<T>(u64::from(address));
    shared_load_at(Location::caller(), address)
}

#[inline]
#[track_caller]
pub(crate) fn shared_store<T: Element>(address: u32, value: T) {
    check_words::<T>(u64::from(address));
    shared_store_at(Location::caller(), address, value);
}
