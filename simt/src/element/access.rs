//! The instructions that a machine has for an element type.

use crate::operation::AtomicOperation;
#[cfg(target_arch = "nvptx64")]
use crate::operation::{Ordering, Scope};

/// The loads and stores of one element type.
///
/// # Safety
///
/// The address must be that of a live element of the named memory, aligned to the access.
#[cfg(target_arch = "nvptx64")]
pub trait Access: Sized {
    /// `ld.global`
    unsafe fn load(address: u64) -> Self;
    /// `ld.global.nc`
    unsafe fn load_read_only(address: u64) -> Self;
    /// `ld.global.nc` where `condition` is not 0, else zero
    unsafe fn load_read_only_if(address: u64, condition: u32) -> Self;
    /// `ld.global.nc.L1::no_allocate`
    unsafe fn load_streaming(address: u64) -> Self;
    /// `ld.global.nc.L1::no_allocate.v2`
    unsafe fn load_streaming_2(address: u64) -> [Self; 2];
    /// `ld.global.nc.L1::no_allocate.v4`, or `v2` twice
    unsafe fn load_streaming_4(address: u64) -> [Self; 4];
    /// `st.global`
    unsafe fn store(address: u64, value: Self);
    /// `st.global.cs`
    unsafe fn store_streaming(address: u64, value: Self);
    /// `st.global.cs.v2`
    unsafe fn store_streaming_2(address: u64, values: [Self; 2]);
    /// `st.global.cs.v4`, or `v2` twice
    unsafe fn store_streaming_4(address: u64, values: [Self; 4]);
    /// `ld.shared`
    unsafe fn shared_load(address: u32) -> Self;
    /// `st.shared`
    unsafe fn shared_store(address: u32, value: Self);
}

/// Loads and stores of an element type on the GPU; empty here.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Access {}
#[cfg(not(target_arch = "nvptx64"))]
impl<T> Access for T {}

/// The atomic instructions of one element type.
///
/// # Safety
///
/// The address must be that of a live, aligned element of the named memory; floats have no minimum,
/// maximum, compare-exchange or disjunction.
#[cfg(target_arch = "nvptx64")]
pub trait Atomic: Sized {
    /// `atom.global.<operation>`
    unsafe fn fetch(
        operation: AtomicOperation,
        address: u64,
        value: Self,
        ordering: Ordering,
        scope: Scope,
    ) -> Self;
    /// `atom.global.cas`
    unsafe fn compare_exchange(
        address: u64,
        expected: Self,
        new: Self,
        ordering: Ordering,
        scope: Scope,
    ) -> Self;
    /// `ld.relaxed` or `ld.acquire`
    unsafe fn atomic_load(address: u64, ordering: Ordering, scope: Scope) -> Self;
    /// `ld.relaxed.gpu`, predicated
    unsafe fn atomic_load_if(address: u64, condition: u32, otherwise: Self) -> Self;
    /// `st.relaxed` or `st.release`
    unsafe fn atomic_store(address: u64, value: Self, ordering: Ordering, scope: Scope);
    /// `atom.shared.add`
    unsafe fn shared_fetch_add(address: u32, value: Self) -> Self;
    /// `atom.shared.cas`
    unsafe fn shared_compare_exchange(address: u32, expected: Self, new: Self) -> Self;
    /// `atom.shared.or`
    unsafe fn shared_fetch_or(address: u32, bits: Self) -> Self;
    /// `ld.relaxed.shared`
    unsafe fn shared_atomic_load(address: u32) -> Self;
}

/// Atomic operations of an element type, on its bits.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Atomic: Sized {
    /// Returns the result of an operation on `old` and `value`.
    #[doc(hidden)]
    fn combine(operation: AtomicOperation, old: Self, value: Self) -> Self;
}
