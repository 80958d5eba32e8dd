//! Loads and stores of elements. The checks of a word are calls, so that programs with many kernels stay small.

use std::panic::Location;

use super::checks::misaligned;
use super::{packets, words};
use crate::element::{Element, Packet, Words};
use crate::host::block::with_lane;

/// Checks that an address is a multiple of a number of bytes.
#[inline]
#[track_caller]
fn check_alignment(address: u64, bytes: usize) {
    if !address.is_multiple_of(bytes as u64) {
        misaligned(address, bytes, Location::caller());
    }
}

/// Checks the alignment of an element of several words; memory checks that of a word.
#[inline]
#[track_caller]
fn check_words<T: Element>(address: u64) {
    if T::Words::COUNT > 1 {
        check_alignment(address, T::SIZE);
    }
}

/// Returns the element whose words `load` returns, by their offsets in bytes.
#[inline]
fn gather<T: Element>(mut load: impl FnMut(usize) -> u64) -> T {
    T::from_bits(T::Words::from_fn(|index| load(index * T::WORD_SIZE)))
}

/// Gives the words of an element to `store`, with their offsets in bytes.
#[inline]
fn scatter<T: Element>(value: T, mut store: impl FnMut(usize, u64)) {
    let bits = value.to_bits();
    for index in 0..T::Words::COUNT {
        store(index * T::WORD_SIZE, bits.word(index));
    }
}

#[inline]
#[track_caller]
pub(crate) fn load<T: Element>(address: u64) -> T {
    check_words::<T>(address);
    let line = Location::caller();
    gather(|offset| words::load(address + offset as u64, T::WORD_SIZE, line))
}

#[inline]
#[track_caller]
pub(crate) fn load_read_only<T: Element>(address: u64) -> T {
    check_words::<T>(address);
    let line = Location::caller();
    gather(|offset| words::load_read_only(address + offset as u64, T::WORD_SIZE, line))
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
pub(crate) fn load_streaming<T: Element>(address: u64) -> T {
    load_read_only(address)
}

#[inline]
#[track_caller]
fn load_vector<T: Element, const N: usize>(address: u64) -> [T; N] {
    check_alignment(address, (N * T::SIZE).min(16));
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
    check_words::<T>(address);
    let line = Location::caller();
    scatter(value, |offset, bits| words::store(address + offset as u64, T::WORD_SIZE, bits, line));
}

#[inline]
#[track_caller]
pub(crate) fn store_streaming<T: Element>(address: u64, value: T) {
    store(address, value);
}

#[inline]
#[track_caller]
fn store_vector<T: Element, const N: usize>(address: u64, values: [T; N]) {
    check_alignment(address, (N * T::SIZE).min(16));
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

#[inline]
#[track_caller]
pub(crate) fn load_16<T: Element>(address: u64) -> Packet {
    packets::load(address, T::WORD_SIZE, words::load)
}

#[inline]
#[track_caller]
pub(crate) fn load_read_only_16<T: Element>(address: u64) -> Packet {
    packets::load(address, T::WORD_SIZE, words::load_read_only)
}

#[inline]
#[track_caller]
pub(crate) fn load_read_only_16_if<T: Element>(address: u64, condition: bool) -> Packet {
    if condition {
        load_read_only_16::<T>(address)
    } else {
        Packet::default()
    }
}

#[inline]
#[track_caller]
pub(crate) fn load_streaming_16<T: Element>(address: u64) -> Packet {
    packets::load(address, T::WORD_SIZE, words::load_for_operation)
}

#[inline]
#[track_caller]
pub(crate) fn store_streaming_16<T: Element>(address: u64, packet: Packet) {
    packets::store(address, T::WORD_SIZE, packet);
}

#[inline]
#[track_caller]
pub(crate) fn shared_load_16<T: Element>(address: u32) -> Packet {
    packets::shared_load(address, T::WORD_SIZE)
}

#[inline]
#[track_caller]
pub(crate) fn shared_store_16<T: Element>(address: u32, packet: Packet) {
    packets::shared_store(address, T::WORD_SIZE, packet);
}

#[inline]
#[track_caller]
pub(crate) fn shared_copy_16<T: Element>(address: u32, from: u64) {
    packets::shared_copy(address, from, T::WORD_SIZE);
}

pub(crate) use packets::await_copies;

pub(crate) fn shared_arena<const BYTES: usize>() -> u32 {
    0
}

pub(crate) fn dynamic_shared_arena() -> u32 {
    with_lane(|lane| lane.block.launch.kernel.shared_bytes.next_multiple_of(16))
}

#[inline]
#[track_caller]
pub(crate) fn shared_load<T: Element>(address: u32) -> T {
    check_words::<T>(u64::from(address));
    let line = Location::caller();
    gather(|offset| words::shared_load(address + offset as u32, T::WORD_SIZE, line))
}

#[inline]
#[track_caller]
pub(crate) fn shared_store<T: Element>(address: u32, value: T) {
    check_words::<T>(u64::from(address));
    let line = Location::caller();
    scatter(value, |offset, bits| words::shared_store(address + offset as u32, T::WORD_SIZE, bits, line));
}
