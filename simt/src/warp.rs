//! Collectives among the 32 lanes of a warp.
//!
//! Most take a mask of the lanes that take part, one bit per lane. All of these lanes, and no others, must call the same
//! collective with the same mask. Reductions and scans are for whole warps. Collectives order registers, not memory:
//! lanes that exchange data through memory need [`sync`].

use evenpath_simt_macros::device;

use crate::element::{Element, Words};
use crate::machine;
use crate::operation::{Shuffle, WARP_SIZE};
use crate::thread::lane;

/// All lanes of a warp.
pub const FULL: u32 = u32::MAX;

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($argument:ident) = $kind:ident;)*) => {$(
        $(#[$doc])*
        #[device(track_caller)]
        pub fn $name<T: Element>(mask: u32, value: T, $argument: u32) -> T {
            let bits = value.to_bits();
            T::from_bits(T::Words::from_fn(|index| {
                machine::shuffle(Shuffle::$kind, mask, bits.word(index), $argument, T::WORD_SIZE)
            }))
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

/// Returns the lanes of `mask` for which `predicate` holds, one bit per lane.
#[device(track_caller)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    machine::ballot(mask, predicate)
}

/// Returns whether `predicate` holds for any lane of `mask`.
#[device(track_caller)]
pub fn any(mask: u32, predicate: bool) -> bool {
    machine::ballot(mask, predicate) != 0
}

/// Returns whether `predicate` holds for all lanes of `mask`.
#[device(track_caller)]
pub fn all(mask: u32, predicate: bool) -> bool {
    machine::ballot(mask, predicate) == mask
}

/// Returns the lanes of `mask` whose `value` equals this lane's, one bit per lane.
#[device(track_caller)]
pub fn match_any(mask: u32, value: u32) -> u32 {
    machine::match_any(mask, value)
}

/// Counts those of `lanes` that are below this lane.
#[device]
pub fn count_below(lanes: u32) -> u32 {
    (lanes & ((1 << lane()) - 1)).count_ones()
}

/// Waits for the lanes of `mask`. All of them then see what any of them wrote to memory before.
#[device(track_caller)]
pub fn sync(mask: u32) {
    machine::warp_sync(mask);
}

/// Combines the values of the warp's 32 lanes with `op`; every lane has the result.
///
/// A butterfly with distances 16, 8, 4, 2, 1: each lane combines its own value, on the left, with that of the lane at
/// that distance. So the order of operations is fixed, and if `op` is commutative, as sums are, all lanes have the same
/// bits. All lanes of the warp call it.
#[device(track_caller)]
pub fn reduce<T: Element>(value: T, op: impl Fn(T, T) -> T) -> T {
    reduce_groups(value, WARP_SIZE, op)
}

/// [`reduce`] within each group of `lanes` neighboring lanes; `lanes` is a power of two from 1 to 32, the same in all
/// lanes. All lanes of the warp call it, also those whose group has nothing to combine.
#[device(track_caller)]
pub fn reduce_groups<T: Element>(value: T, lanes: u32, op: impl Fn(T, T) -> T) -> T {
    let mut result = value;
    let mut distance = lanes / 2;
    while distance > 0 {
        result = op(result, shuffle_xor(FULL, result, distance));
        distance /= 2;
    }
    result
}

/// [`reduce`] across groups of `lanes` neighboring lanes: combines the values of the lanes that have the same place in
/// their groups. All lanes of the warp call it.
#[device(track_caller)]
pub fn reduce_across<T: Element>(value: T, lanes: u32, op: impl Fn(T, T) -> T) -> T {
    let mut result = value;
    let mut distance = WARP_SIZE / 2;
    while distance >= lanes {
        result = op(result, shuffle_xor(FULL, result, distance));
        distance /= 2;
    }
    result
}

/// Returns the sum over the warp, in every lane, in the order of [`reduce`].
#[device(track_caller)]
pub fn reduce_add<T: Element + core::ops::Add<Output = T>>(value: T) -> T {
    reduce(value, |a, b| a + b)
}

/// Returns the sum of the values of the lanes up to and including this one. All lanes of the warp call it.
#[device(track_caller)]
pub fn inclusive_sum<T: Element + core::ops::Add<Output = T>>(value: T) -> T {
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let below = shuffle_up(FULL, sum, distance);
        if lane() >= distance {
            sum = sum + below;
        }
        distance *= 2;
    }
    sum
}
