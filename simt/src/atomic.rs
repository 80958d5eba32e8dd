//! Atomic operations and fences.
//!
//! Each names its memory ordering and its scope: which threads it is atomic and ordered for.

pub use crate::element::{AtomicElement, AtomicInteger};
pub use crate::operation::{AtomicOperation, Ordering, Scope};
use evenpath_simt_macros::device;

use crate::global::{Alignment, GlobalMut};
use crate::machine;
use crate::shared::Shared;

impl<T: AtomicElement, A: Alignment> GlobalMut<T, A> {
    /// Loads atomically; `ordering` is `Relaxed` or `Acquire` (the others count as `Acquire`).
    #[device(track_caller)]
    pub fn atomic_load(self, index: usize, ordering: Ordering, scope: Scope) -> T {
        machine::atomic_load(self.atomic_address(index), ordering, scope)
    }

    /// Loads atomically, relaxed, for the device, where `condition` holds; elsewhere returns `otherwise` without an access. Without
    /// a branch, so that several loads are on their way together.
    #[device(track_caller)]
    pub fn atomic_load_if(self, index: usize, condition: bool, otherwise: T) -> T {
        machine::atomic_load_if(self.atomic_address_if(index, condition), condition, otherwise)
    }

    /// Stores atomically; `ordering` is `Relaxed` or `Release` (the others count as `Release`).
    #[device(track_caller)]
    pub fn atomic_store(self, index: usize, value: T, ordering: Ordering, scope: Scope) {
        machine::atomic_store(self.atomic_address(index), value, ordering, scope);
    }

    /// Adds `value` and returns what was there before. Integers wrap around.
    #[device(track_caller)]
    pub fn fetch_add(self, index: usize, value: T, ordering: Ordering, scope: Scope) -> T {
        machine::atomic(AtomicOperation::Add, self.atomic_address(index), value, ordering, scope)
    }

    /// Stores `value` and returns what was there before.
    #[device(track_caller)]
    pub fn exchange(self, index: usize, value: T, ordering: Ordering, scope: Scope) -> T {
        machine::atomic(AtomicOperation::Exchange, self.atomic_address(index), value, ordering, scope)
    }
}

impl<T: AtomicInteger, A: Alignment> GlobalMut<T, A> {
    /// Stores the lesser of what is there and `value`; returns what was there before.
    #[device(track_caller)]
    pub fn fetch_min(self, index: usize, value: T, ordering: Ordering, scope: Scope) -> T {
        machine::atomic(AtomicOperation::Min, self.atomic_address(index), value, ordering, scope)
    }

    /// Stores the greater of what is there and `value`; returns what was there before.
    #[device(track_caller)]
    pub fn fetch_max(self, index: usize, value: T, ordering: Ordering, scope: Scope) -> T {
        machine::atomic(AtomicOperation::Max, self.atomic_address(index), value, ordering, scope)
    }

    /// Stores `new` where `expected` is; returns what was there before.
    #[device(track_caller)]
    pub fn compare_exchange(self, index: usize, expected: T, new: T, ordering: Ordering, scope: Scope) -> T {
        machine::atomic_compare_exchange(self.atomic_address(index), expected, new, ordering, scope)
    }
}

impl<T: AtomicElement> Shared<T> {
    /// Adds `value`, relaxed, for the block; returns what was there before. Integers wrap around.
    #[device(track_caller)]
    pub fn fetch_add(self, index: usize, value: T) -> T {
        machine::shared_fetch_add(self.at(index), value)
    }

    /// Loads atomically, relaxed, for the block: next to atomic operations of other threads.
    #[device(track_caller)]
    pub fn atomic_load(self, index: usize) -> T {
        machine::shared_atomic_load(self.at(index))
    }
}

impl<T: AtomicInteger> Shared<T> {
    /// Stores `new` where `expected` is, relaxed, for the block; returns what was there before.
    #[device(track_caller)]
    pub fn compare_exchange(self, index: usize, expected: T, new: T) -> T {
        machine::shared_compare_exchange(self.at(index), expected, new)
    }

    /// Sets the bits that `bits` has set, relaxed, for the block; returns what was there before.
    #[device(track_caller)]
    pub fn fetch_or(self, index: usize, bits: T) -> T {
        machine::shared_fetch_or(self.at(index), bits)
    }
}

/// Orders this thread's accesses before it against those after it, as seen by `scope`.
#[device]
pub fn fence(scope: Scope) {
    machine::fence(scope);
}
