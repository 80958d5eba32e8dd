//! Loops that must become straight-line code.
//!
//! An array stays in registers only if every index is known when the kernel is compiled. The compiler unrolls short
//! loops by itself. It leaves loops with long bodies, and their arrays go to local memory.

/// Repeats a block as straight-line code: `unroll!(for index in 0..COUNT { … })`, where `COUNT` is a constant of at most 32.
macro_rules! unroll {
    (for $index:ident in 0..$count:ident $body:block) => {
        $crate::unroll::unroll!(@steps $index $count $body
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (@steps $index:ident $count:ident $body:block $($step:literal)*) => {
        const { assert!($count <= 32, "at most 32 steps are unrolled") };
        $(
            // The last step may assign what only a next one would read.
            #[allow(unused_assignments)]
            {
                if $step < $count {
                    let $index: usize = $step;
                    $body
                }
            }
        )*
    };
}

pub(crate) use unroll;
