//! Associative operators of scans and reductions.

use core::marker::PhantomData;

use evenpath_simt::{device, warp, Word};

/// Elements that scans work on.
pub trait Number: Word + PartialOrd + core::ops::Add<Output = Self> {
    /// Least element.
    const LEAST: Self;
    /// Greatest element.
    const GREATEST: Self;
    /// Returns the sum; integers wrap around.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// Returns the element's counterpart in the reverse order; its own inverse. The maximum of elements is the flip of
    /// the minimum of their flips.
    #[must_use]
    fn flip(self) -> Self;
}

macro_rules! numbers {
    ($($type:ident: $least:expr, $greatest:expr, |$a:ident, $b:ident| $sum:expr, |$x:ident| $flip:expr;)*) => {$(
        impl Number for $type {
            const LEAST: Self = $least;
            const GREATEST: Self = $greatest;
            #[device]
            fn plus(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }
            #[device]
            fn flip(self) -> Self {
                let $x = self;
                $flip
            }
        }
    )*};
}

numbers! {
    u32: u32::MIN, u32::MAX, |a, b| a.wrapping_add(b), |x| !x;
    i32: i32::MIN, i32::MAX, |a, b| a.wrapping_add(b), |x| !x;
    u64: u64::MIN, u64::MAX, |a, b| a.wrapping_add(b), |x| !x;
    f32: f32::NEG_INFINITY, f32::INFINITY, |a, b| a + b, |x| -x;
    f64: f64::NEG_INFINITY, f64::INFINITY, |a, b| a + b, |x| -x;
}

/// An associative operator with an identity.
pub trait Operator<V>: Copy {
    /// Identity: combining with it changes nothing.
    const IDENTITY: V;
    /// True if sums start over at heads.
    const SEGMENTED: bool = false;
    /// True if it has a mirror image, the same operator on [flipped](Number::flip) elements.
    const FLIPS: bool = false;
    /// Combines what comes before with what comes after.
    fn combine(before: V, after: V) -> V;
}

/// Addition; integers wrap around.
#[derive(Debug, Clone, Copy)]
pub struct Sum;
/// The lesser of two; a number rather than NaN.
#[derive(Debug, Clone, Copy)]
pub struct Min;
/// The greater of two; a number rather than NaN.
#[derive(Debug, Clone, Copy)]
pub struct Max;

impl<V: Number> Operator<V> for Sum {
    const IDENTITY: V = V::ZERO;
    #[device]
    fn combine(before: V, after: V) -> V {
        before.plus(after)
    }
}

impl<V: Number> Operator<V> for Min {
    const IDENTITY: V = V::GREATEST;
    const FLIPS: bool = true;
    #[device]
    #[allow(clippy::eq_op)] // Only NaN differs from itself.
    fn combine(before: V, after: V) -> V {
        if after < before || before != before {
            after
        } else {
            before
        }
    }
}

impl<V: Number> Operator<V> for Max {
    const IDENTITY: V = V::LEAST;
    #[device]
    #[allow(clippy::eq_op)] // Only NaN differs from itself.
    fn combine(before: V, after: V) -> V {
        if after > before || before != before {
            after
        } else {
            before
        }
    }
}

/// An operator whose sums start over at heads.
#[derive(Debug, Clone, Copy)]
pub struct Segmented<P>(PhantomData<P>);

impl<V, P: Operator<V>> Operator<V> for Segmented<P> {
    const IDENTITY: V = P::IDENTITY;
    const SEGMENTED: bool = true;
    const FLIPS: bool = P::FLIPS;
    #[device]
    fn combine(before: V, after: V) -> V {
        P::combine(before, after)
    }
}

/// State of a scan: the sum so far, and the number of segments that began in it. A plain scan has no segments.
#[derive(Debug, Clone, Copy)]
pub struct Summary<V, P> {
    /// Sum of the elements starting at the last head, or of all if there is none.
    pub value: V,
    /// Heads.
    pub heads: u32,
    operator: PhantomData<P>,
}

impl<V: Number, P: Operator<V>> Summary<V, P> {
    /// Summary of no elements.
    pub const IDENTITY: Self = Self { value: P::IDENTITY, heads: 0, operator: PhantomData };

    /// Returns the summary of an element, which begins a segment or does not.
    #[device]
    pub fn new(value: V, heads: u32) -> Self {
        Self { value, heads, operator: PhantomData }
    }

    /// Returns the value and the heads.
    #[device]
    pub fn into_parts(self) -> (V, u32) {
        (self.value, self.heads)
    }

    /// Returns the summary of the elements of `self` and then those of `after`.
    #[device]
    #[must_use]
    pub fn then(self, after: Self) -> Self {
        let value =
            if P::SEGMENTED && after.heads > 0 { after.value } else { P::combine(self.value, after.value) };
        Self::new(value, self.heads.wrapping_add(after.heads))
    }

    /// Returns the argument of the lane `delta` below; a lane's own where there is none.
    #[device(track_caller)]
    #[must_use]
    pub fn shuffle_up(self, delta: u32) -> Self {
        let heads = if P::SEGMENTED { warp::shuffle_up(warp::FULL, self.heads, delta) } else { 0 };
        Self::new(warp::shuffle_up(warp::FULL, self.value, delta), heads)
    }

    /// Returns the argument of the lane `delta` above; a lane's own where there is none.
    #[device(track_caller)]
    #[must_use]
    pub fn shuffle_down(self, delta: u32) -> Self {
        let heads = if P::SEGMENTED { warp::shuffle_down(warp::FULL, self.heads, delta) } else { 0 };
        Self::new(warp::shuffle_down(warp::FULL, self.value, delta), heads)
    }

    /// Returns the argument of lane `source`.
    #[device(track_caller)]
    #[must_use]
    pub fn broadcast(self, source: u32) -> Self {
        let heads = if P::SEGMENTED { warp::shuffle(warp::FULL, self.heads, source) } else { 0 };
        Self::new(warp::shuffle(warp::FULL, self.value, source), heads)
    }
}
