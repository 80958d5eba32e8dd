//! Loops that must become straight-line code.
//!
//! An array stays in registers only if every index is known when the kernel is compiled. For short loops the
//! compiler sees to that by itself; long bodies it leaves a loop, and the array goes to local memory.

use evenpath_simt::device;

/// The body of an unrolled loop.
pub trait Steps {
    /// Does step `index`. Must be `#[device]`.
    fn step(&mut self, index: usize);
}

/// Does the steps 0 to `N` − 1; `N` is at most 32.
#[device]
pub fn unroll<const N: usize>(steps: &mut impl Steps) {
    const { assert!(N <= 32, "at most 32 steps are unrolled") };
    macro_rules! each {
        ($($index:literal)*) => {$(
            if $index < N {
                steps.step($index);
            }
        )*};
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}
