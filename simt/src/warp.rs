//! Collectives among the 32 lanes of a warp.
//!
//! Each takes a mask with the lanes that take part, one bit a lane; all of them, and only they,
//! must call the same collective with the same mask. They order registers, not memory: lanes which
//! exchange data through memory need [`sync`].

use crate::element::Element;
use crate::machine;
use crate::thread::WARP_SIZE;

/// All lanes of a warp.
pub const FULL: u32 = u32::MAX;

/// Which lane a shuffle reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shuffle {
    /// The lane with an index lower by the argument; itself where there is none.
    Up,
    /// The lane with an index higher by the argument; itself where there is none.
    Down,
    /// The lane whose index differs by exclusive or.
    Xor,
    /// The lane with that index.
    Index,
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($argument:ident) = $kind:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name<T: Element>(mask: u32, value: T, $argument: u32) -> T {
            T::from_bits(machine::shuffle(Shuffle::$kind, mask, value.to_bits(), $argument, T::SIZE))
        }
    )*};
}

shuffles! {
    /// The value of the lane `delta` below; the lane's own where there is none.
    shuffle_up(delta) = Up;
    /// The value of the lane `delta` above; the lane's own where there is none.
    shuffle_down(delta) = Down;
    /// The value of the lane whose index is this one's exclusive or with `bits`.
    shuffle_xor(bits) = Xor;
    /// The value of lane `source`.
    shuffle(source) = Index;
}

/// The lanes of `mask` for which `predicate` holds, one bit a lane.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    machine::ballot(mask, predicate)
}

/// Whether `predicate` holds for any lane of `mask`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn any(mask: u32, predicate: bool) -> bool {
    machine::ballot(mask, predicate) != 0
}

/// Whether `predicate` holds for all lanes of `mask`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn all(mask: u32, predicate: bool) -> bool {
    machine::ballot(mask, predicate) == mask
}

/// The lanes of `mask` whose `value` equals this lane's, one bit a lane.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn match_any(mask: u32, value: u32) -> u32 {
    machine::match_any(mask, value)
}

/// Waits for the lanes of `mask`. What any of them wrote to memory before, all of them see after.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync(mask: u32) {
    machine::warp_sync(mask);
}

/// The sum over the whole warp, in every lane: a butterfly, its order fixed.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn reduce_add<T: Element + core::ops::Add<Output = T>>(value: T) -> T {
    let mut sum = value;
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        sum = sum + shuffle_xor(FULL, sum, distance);
        distance /= 2;
    }
    sum
}
