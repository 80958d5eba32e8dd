//! Atomic operations on global and shared memory, and fences.

use std::panic::Location;

use super::checks::checked;
use super::memory::{note_use, shared_access};
use crate::atomic::{AtomicElement, AtomicOperation, Ordering, Scope};
use crate::element::Element;
use crate::host::block::with_lane;
use crate::host::fault::AccessKind;
use crate::host::read_only::Use;
use crate::host::weak::AtomicAccess;

/// Atomic operations of an element type, on its bits.
pub trait Atomic: Sized {
    /// Returns the result of an operation on `old` and `value`.
    #[doc(hidden)]
    fn combine(operation: AtomicOperation, old: Self, value: Self) -> Self;
}

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

#[track_caller]
fn update<T: AtomicElement>(access: AtomicAccess, update: impl Fn(u64) -> u64) -> T {
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
    operation: AtomicOperation,
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
    if scope != Scope::Block {
        with_lane(|lane| checked(lane, lane.block.launch.weak.fence(&lane.block.observer), line));
    }
}

#[track_caller]
pub(crate) fn shared_fetch_add<T: AtomicElement>(address: u32, value: T) -> T {
    let add = |old| T::combine(AtomicOperation::Add, T::from_bits(old), value).to_bits();
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
