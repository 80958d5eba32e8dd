//! Atomic operations on global and shared memory, and fences.

use std::panic::Location;

use super::checks::checked;
use super::words::{note_use, shared_access};
use crate::element::{Atomic, AtomicElement};
use crate::host::block::with_lane;
use crate::host::fault::AccessKind;
use crate::host::read_only::Use;
use crate::host::weak::AtomicAccess;
use crate::operation::{AtomicOperation, Ordering, Scope};

macro_rules! atomic {
    ($($type:ty: |$old:ident, $value:ident| $add:expr, [$($operation:ident: $result:expr),*];)*) => {$(
        impl Atomic for $type {
            fn combine(operation: AtomicOperation, $old: Self, $value: Self) -> Self {
                match operation {
                    AtomicOperation::Add => $add,
                    $(AtomicOperation::$operation => $result,)*
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

/// Replaces the bits of an element by what `update` returns for them, and returns the old ones.
#[track_caller]
fn update(access: AtomicAccess, update: &dyn Fn(u64) -> u64) -> u64 {
    let line = Location::caller();
    note_use(Use::Write, access.address, access.size, line);
    with_lane(|lane| {
        let old = checked(lane, lane.block.launch.weak.update(&lane.block.observer, access, update), line);
        lane.note_atomic(update(old) != old);
        old
    })
}

/// [`update`] of shared memory.
#[track_caller]
fn shared_update(address: u32, size: usize, update: &dyn Fn(u64) -> u64) -> u64 {
    shared_access(AccessKind::Atomic, address, size, Location::caller(), update)
}

#[track_caller]
pub(crate) fn atomic<T: AtomicElement>(
    operation: AtomicOperation,
    address: u64,
    value: T,
    ordering: Ordering,
    scope: Scope,
) -> T {
    let access = AtomicAccess { address, size: T::SIZE, ordering, scope };
    T::from_bits(update(access, &|old| T::combine(operation, T::from_bits(old), value).to_bits()))
}

#[track_caller]
pub(crate) fn atomic_compare_exchange<T: AtomicElement>(
    address: u64,
    expected: T,
    new: T,
    ordering: Ordering,
    scope: Scope,
) -> T {
    let access = AtomicAccess { address, size: T::SIZE, ordering, scope };
    let exchange = |old| if old == expected.to_bits() { new.to_bits() } else { old };
    T::from_bits(update(access, &exchange))
}

#[inline]
#[track_caller]
pub(crate) fn atomic_load<T: AtomicElement>(address: u64, ordering: Ordering, scope: Scope) -> T {
    let ordering = if ordering == Ordering::Relaxed { ordering } else { Ordering::Acquire };
    T::from_bits(load(AtomicAccess { address, size: T::SIZE, ordering, scope }))
}

#[inline]
#[track_caller]
pub(crate) fn atomic_load_if<T: AtomicElement>(address: u64, condition: bool, otherwise: T) -> T {
    if condition {
        atomic_load(address, Ordering::Relaxed, Scope::Device)
    } else {
        otherwise
    }
}

#[track_caller]
fn load(access: AtomicAccess) -> u64 {
    let line = Location::caller();
    with_lane(|lane| {
        let bits = checked(lane, lane.block.launch.weak.load(&lane.block.observer, access), line);
        lane.note_atomic(false);
        bits
    })
}

#[inline]
#[track_caller]
pub(crate) fn atomic_store<T: AtomicElement>(address: u64, value: T, ordering: Ordering, scope: Scope) {
    let ordering = if ordering == Ordering::Relaxed { ordering } else { Ordering::Release };
    store(AtomicAccess { address, size: T::SIZE, ordering, scope }, value.to_bits());
}

#[track_caller]
fn store(access: AtomicAccess, bits: u64) {
    let line = Location::caller();
    note_use(Use::Write, access.address, access.size, line);
    with_lane(|lane| {
        checked(lane, lane.block.launch.weak.store(&lane.block.observer, access, bits), line);
        lane.note_atomic(true);
    });
}

#[track_caller]
pub(crate) fn fence(scope: Scope) {
    let line = Location::caller();
    if scope != Scope::Block {
        with_lane(|lane| checked(lane, lane.block.launch.weak.fence(&lane.block.observer), line));
    }
}

#[track_caller]
pub(crate) fn shared_fetch_add<T: AtomicElement>(address: u32, value: T) -> T {
    let add = |old| T::combine(AtomicOperation::Add, T::from_bits(old), value).to_bits();
    T::from_bits(shared_update(address, T::SIZE, &add))
}

#[track_caller]
pub(crate) fn shared_compare_exchange<T: AtomicElement>(address: u32, expected: T, new: T) -> T {
    let exchange = |old| if old == expected.to_bits() { new.to_bits() } else { old };
    T::from_bits(shared_update(address, T::SIZE, &exchange))
}

#[track_caller]
pub(crate) fn shared_fetch_or<T: AtomicElement>(address: u32, bits: T) -> T {
    T::from_bits(shared_update(address, T::SIZE, &|old| old | bits.to_bits()))
}

#[track_caller]
pub(crate) fn shared_atomic_load<T: AtomicElement>(address: u32) -> T {
    T::from_bits(shared_update(address, T::SIZE, &|old| old))
}
