//! The operations of the machine, simulated: each finds the lane that calls it, checks, and acts.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::block::{with_lane, Copy16, LaneContext, Request};
use super::fault::{AccessKind, FaultKind};
use super::read_only::Use;
use super::warp::{Collective, Kind};
use super::weak::Access as AtomicAccess;
use crate::atomic::{AtomicElement, Operation, Ordering, Scope};
use crate::element::{Element, Packet, ScalarType};
use crate::thread::WARP_SIZE;
use crate::warp::Shuffle;

/// On the GPU, the loads and stores of an element type; nothing here.
pub trait Access {}
impl<T> Access for T {}

/// The atomic operations of an element type, on its bits.
pub trait Atomic: Sized {
    /// What an operation makes of `old` and `value`.
    #[doc(hidden)]
    fn combine(operation: Operation, old: Self, value: Self) -> Self;
}

macro_rules! atomic {
    ($($type:ty: |$old:ident, $value:ident| $add:expr, [$($operation:ident: $result:expr),*];)*) => {$(
        impl Atomic for $type {
            fn combine(operation: Operation, $old: Self, $value: Self) -> Self {
                match operation {
                    Operation::Add => $add,
                    $(Operation::$operation => $result,)*
                    // Exchange; floats have no minimum and maximum.
                    #[allow(unreachable_patterns)]
                    _ => $value,
                }
            }
        }
    )*};
}
atomic! {
    u32: |old, value| old.wrapping_add(value), [Min: old.min(value), Max: old.max(value)];
    i32: |old, value| old.wrapping_add(value), [Min: old.min(value), Max: old.max(value)];
    u64: |old, value| old.wrapping_add(value), [Min: old.min(value), Max: old.max(value)];
    i64: |old, value| old.wrapping_add(value), [Min: old.min(value), Max: old.max(value)];
    f32: |old, value| old + value, [];
    f64: |old, value| old + value, [];
}

/// Ends the lane with a report, unless the operation went well.
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
    with_lane(|lane| T::from_bits(checked(lane, lane.block.launch.memory.load(address, T::SIZE), line)))
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
fn note_use(how: Use, address: u64, bytes: usize) {
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

/// The place of element `index` of `T` in a packet: its word, and the shift in it.
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
        with_lane(|lane| T::from_bits(checked(lane, lane.block.launch.memory.load(address, T::SIZE), line)))
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

/// What is copied arrives no sooner than the lane waits for it, so that a wait that is missing shows.
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
fn shared_access(kind: AccessKind, address: u32, size: usize, update: impl FnOnce(u64) -> u64) -> u64 {
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

#[track_caller]
pub(crate) fn shared_fetch_add<T: AtomicElement>(address: u32, value: T) -> T {
    let add = |old| T::combine(Operation::Add, T::from_bits(old), value).to_bits();
    T::from_bits(shared_access(AccessKind::Atomic, address, T::SIZE, add))
}

#[track_caller]
pub(crate) fn shared_compare_exchange<T: AtomicElement>(address: u32, expected: T, new: T) -> T {
    let exchange = |old| if old == expected.to_bits() { new.to_bits() } else { old };
    T::from_bits(shared_access(AccessKind::Atomic, address, T::SIZE, exchange))
}

#[track_caller]
pub(crate) fn shared_fetch_or<T: AtomicElement>(address: u32, bits: T) -> T {
    T::from_bits(shared_access(AccessKind::Atomic, address, T::SIZE, |old| old | bits.to_bits()))
}

#[track_caller]
pub(crate) fn shared_atomic_load<T: AtomicElement>(address: u32) -> T {
    T::from_bits(shared_access(AccessKind::Atomic, address, T::SIZE, |old| old))
}

#[track_caller]
fn update<T: Element>(access: AtomicAccess, update: impl Fn(u64) -> u64) -> T {
    let line = Location::caller();
    note_use(Use::Write, access.address, T::SIZE);
    with_lane(|lane| {
        let old = checked(lane, lane.block.launch.weak.update(&lane.block.observer, access, &update), line);
        lane.note_atomic(update(old) != old);
        T::from_bits(old)
    })
}

fn access<T: Element>(address: u64, ordering: Ordering, scope: Scope) -> AtomicAccess {
    AtomicAccess { address, size: T::SIZE, ordering, scope }
}

#[track_caller]
pub(crate) fn atomic<T: AtomicElement>(
    operation: Operation,
    address: u64,
    value: T,
    ordering: Ordering,
    scope: Scope,
) -> T {
    let combine = |old| T::combine(operation, T::from_bits(old), value).to_bits();
    update(access::<T>(address, ordering, scope), combine)
}

#[track_caller]
pub(crate) fn atomic_compare_exchange<T: AtomicElement>(
    address: u64,
    expected: T,
    new: T,
    ordering: Ordering,
    scope: Scope,
) -> T {
    let exchange = |old| if old == expected.to_bits() { new.to_bits() } else { old };
    update(access::<T>(address, ordering, scope), exchange)
}

#[track_caller]
pub(crate) fn atomic_load<T: AtomicElement>(address: u64, ordering: Ordering, scope: Scope) -> T {
    let line = Location::caller();
    let ordering = if ordering == Ordering::Relaxed { ordering } else { Ordering::Acquire };
    let access = access::<T>(address, ordering, scope);
    with_lane(|lane| {
        let bits = checked(lane, lane.block.launch.weak.load(&lane.block.observer, access), line);
        lane.note_atomic(false);
        T::from_bits(bits)
    })
}

#[track_caller]
pub(crate) fn atomic_store<T: AtomicElement>(address: u64, value: T, ordering: Ordering, scope: Scope) {
    let line = Location::caller();
    let ordering = if ordering == Ordering::Relaxed { ordering } else { Ordering::Release };
    let access = access::<T>(address, ordering, scope);
    note_use(Use::Write, address, T::SIZE);
    with_lane(|lane| {
        let result = lane.block.launch.weak.store(&lane.block.observer, access, value.to_bits());
        checked(lane, result, line);
        lane.note_atomic(true);
    });
}

#[track_caller]
pub(crate) fn fence(scope: Scope) {
    let line = Location::caller();
    if scope == Scope::Device {
        with_lane(|lane| checked(lane, lane.block.launch.weak.fence(&lane.block.observer), line));
    }
}

pub(crate) fn widen_f16(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// What is no number becomes the one that the GPU's instruction makes of it.
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
