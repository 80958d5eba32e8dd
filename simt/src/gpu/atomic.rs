//! Atomics and fences, one instruction each.

use core::arch::asm;
use evenpath_simt_macros::device;

use crate::element::Atomic;
use crate::operation::{AtomicOperation, Ordering, Scope};

/// Expands `$emit!` once for each ordering and scope, which are known when the kernel is compiled.
macro_rules! by_ordering {
    ($ordering:expr, $scope:expr, $emit:ident) => {
        match ($ordering, $scope) {
            (Ordering::Relaxed, Scope::Block) => $emit!("relaxed.cta"),
            (Ordering::Relaxed, Scope::Device) => $emit!("relaxed.gpu"),
            (Ordering::Relaxed, Scope::System) => $emit!("relaxed.sys"),
            (Ordering::Acquire, Scope::Block) => $emit!("acquire.cta"),
            (Ordering::Acquire, Scope::Device) => $emit!("acquire.gpu"),
            (Ordering::Acquire, Scope::System) => $emit!("acquire.sys"),
            (Ordering::Release, Scope::Block) => $emit!("release.cta"),
            (Ordering::Release, Scope::Device) => $emit!("release.gpu"),
            (Ordering::Release, Scope::System) => $emit!("release.sys"),
            (Ordering::AcquireRelease, Scope::Block) => $emit!("acq_rel.cta"),
            (Ordering::AcquireRelease, Scope::Device) => $emit!("acq_rel.gpu"),
            (Ordering::AcquireRelease, Scope::System) => $emit!("acq_rel.sys"),
        }
    };
}

macro_rules! atomic {
    ($type:ty, $suffix:literal, $bits:literal, $class:ident, [$($operation:ident: $ptx:literal),*]) => {
        impl Atomic for $type {
            #[device]
            unsafe fn fetch(operation: AtomicOperation, address: u64, value: Self, ordering: Ordering, scope: Scope) -> Self {
                let old: $type;
                match operation {
                    $(AtomicOperation::$operation => {
                        macro_rules! emit {
                            ($how:literal) => {
                                unsafe { asm!(concat!("atom.", $how, ".global.", $ptx, " {}, [{}], {};"),
                                    out($class) old, in(reg64) address, in($class) value, options(nostack)) }
                            };
                        }
                        by_ordering!(ordering, scope, emit);
                    })*
                    #[allow(unreachable_patterns)]
                    _ => old = value,
                }
                old
            }

            #[device]
            unsafe fn compare_exchange(address: u64, expected: Self, new: Self, ordering: Ordering, scope: Scope) -> Self {
                let old: $type;
                macro_rules! emit {
                    ($how:literal) => {
                        unsafe { asm!(concat!("atom.", $how, ".global.cas.", $bits, " {}, [{}], {}, {};"),
                            out($class) old, in(reg64) address, in($class) expected, in($class) new, options(nostack)) }
                    };
                }
                by_ordering!(ordering, scope, emit);
                old
            }

            #[device]
            unsafe fn atomic_load(address: u64, ordering: Ordering, scope: Scope) -> Self {
                let value: $type;
                macro_rules! emit {
                    ($how:literal) => {
                        unsafe { asm!(concat!("ld.", $how, ".global.", $suffix, " {}, [{}];"),
                            out($class) value, in(reg64) address, options(nostack)) }
                    };
                }
                match (ordering, scope) {
                    (Ordering::Relaxed, Scope::Block) => emit!("relaxed.cta"),
                    (Ordering::Relaxed, Scope::Device) => emit!("relaxed.gpu"),
                    (Ordering::Relaxed, Scope::System) => emit!("relaxed.sys"),
                    (_, Scope::Block) => emit!("acquire.cta"),
                    (_, Scope::Device) => emit!("acquire.gpu"),
                    (_, Scope::System) => emit!("acquire.sys"),
                }
                value
            }

            #[device]
            unsafe fn atomic_load_if(address: u64, condition: u32, otherwise: Self) -> Self {
                let mut value = otherwise;
                unsafe {
                    asm!(concat!("{{ .reg .pred holds; setp.ne.u32 holds, {}, 0; @holds ld.relaxed.gpu.global.", $suffix, " {}, [{}]; }}"),
                        in(reg32) condition, inout($class) value, in(reg64) address, options(nostack));
                }
                value
            }

            #[device]
            unsafe fn atomic_store(address: u64, value: Self, ordering: Ordering, scope: Scope) {
                macro_rules! emit {
                    ($how:literal) => {
                        unsafe { asm!(concat!("st.", $how, ".global.", $suffix, " [{}], {};"),
                            in(reg64) address, in($class) value, options(nostack)) }
                    };
                }
                match (ordering, scope) {
                    (Ordering::Relaxed, Scope::Block) => emit!("relaxed.cta"),
                    (Ordering::Relaxed, Scope::Device) => emit!("relaxed.gpu"),
                    (Ordering::Relaxed, Scope::System) => emit!("relaxed.sys"),
                    (_, Scope::Block) => emit!("release.cta"),
                    (_, Scope::Device) => emit!("release.gpu"),
                    (_, Scope::System) => emit!("release.sys"),
                }
            }

            #[device]
            unsafe fn shared_fetch_add(address: u32, value: Self) -> Self {
                let old: $type;
                unsafe {
                    asm!(concat!("atom.relaxed.cta.shared.add.", $suffix, " {}, [{}], {};"),
                        out($class) old, in(reg32) address, in($class) value, options(nostack));
                }
                old
            }

            #[device]
            unsafe fn shared_compare_exchange(address: u32, expected: Self, new: Self) -> Self {
                let old: $type;
                unsafe {
                    asm!(concat!("atom.relaxed.cta.shared.cas.", $bits, " {}, [{}], {}, {};"),
                        out($class) old, in(reg32) address, in($class) expected, in($class) new, options(nostack));
                }
                old
            }

            #[device]
            unsafe fn shared_fetch_or(address: u32, bits: Self) -> Self {
                let old: $type;
                unsafe {
                    asm!(concat!("atom.relaxed.cta.shared.or.", $bits, " {}, [{}], {};"),
                        out($class) old, in(reg32) address, in($class) bits, options(nostack));
                }
                old
            }

            #[device]
            unsafe fn shared_atomic_load(address: u32) -> Self {
                let value: $type;
                unsafe {
                    asm!(concat!("ld.relaxed.cta.shared.", $suffix, " {}, [{}];"),
                        out($class) value, in(reg32) address, options(nostack));
                }
                value
            }
        }
    };
}

atomic!(u32, "u32", "b32", reg32, [Add: "add.u32", Min: "min.u32", Max: "max.u32", Exchange: "exch.b32"]);
atomic!(i32, "s32", "b32", reg32, [Add: "add.s32", Min: "min.s32", Max: "max.s32", Exchange: "exch.b32"]);
atomic!(u64, "u64", "b64", reg64, [Add: "add.u64", Min: "min.u64", Max: "max.u64", Exchange: "exch.b64"]);
// Two's complement: one addition serves both signs, and PTX has only the unsigned one.
atomic!(i64, "u64", "b64", reg64, [Add: "add.u64", Min: "min.s64", Max: "max.s64", Exchange: "exch.b64"]);
atomic!(f32, "f32", "b32", reg32, [Add: "add.f32", Exchange: "exch.b32"]);
atomic!(f64, "f64", "b64", reg64, [Add: "add.f64", Exchange: "exch.b64"]);

// Safety, for the functions below: views make addresses only from their own base, the kernel keeps
// its indices inside, and the public methods offer minimum, maximum, compare-exchange and disjunction to integers only.

#[device]
pub(crate) fn atomic<T: Atomic>(
    operation: AtomicOperation,
    address: u64,
    value: T,
    ordering: Ordering,
    scope: Scope,
) -> T {
    unsafe { T::fetch(operation, address, value, ordering, scope) }
}

#[device]
pub(crate) fn atomic_compare_exchange<T: Atomic>(
    address: u64,
    expected: T,
    new: T,
    ordering: Ordering,
    scope: Scope,
) -> T {
    unsafe { T::compare_exchange(address, expected, new, ordering, scope) }
}

#[device]
pub(crate) fn atomic_load<T: Atomic>(address: u64, ordering: Ordering, scope: Scope) -> T {
    unsafe { T::atomic_load(address, ordering, scope) }
}

#[device]
pub(crate) fn atomic_load_if<T: Atomic>(address: u64, condition: bool, otherwise: T) -> T {
    unsafe { T::atomic_load_if(address, u32::from(condition), otherwise) }
}

#[device]
pub(crate) fn atomic_store<T: Atomic>(address: u64, value: T, ordering: Ordering, scope: Scope) {
    unsafe { T::atomic_store(address, value, ordering, scope) }
}

#[device]
pub(crate) fn shared_fetch_add<T: Atomic>(address: u32, value: T) -> T {
    unsafe { T::shared_fetch_add(address, value) }
}

#[device]
pub(crate) fn shared_compare_exchange<T: Atomic>(address: u32, expected: T, new: T) -> T {
    unsafe { T::shared_compare_exchange(address, expected, new) }
}

#[device]
pub(crate) fn shared_fetch_or<T: Atomic>(address: u32, bits: T) -> T {
    unsafe { T::shared_fetch_or(address, bits) }
}

#[device]
pub(crate) fn shared_atomic_load<T: Atomic>(address: u32) -> T {
    unsafe { T::shared_atomic_load(address) }
}

#[device]
pub(crate) fn fence(scope: Scope) {
    // Safety: orders memory, touches none.
    unsafe {
        match scope {
            Scope::Block => asm!("fence.acq_rel.cta;", options(nostack)),
            Scope::Device => asm!("fence.acq_rel.gpu;", options(nostack)),
            Scope::System => asm!("fence.acq_rel.sys;", options(nostack)),
        }
    }
}
