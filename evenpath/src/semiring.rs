//! Semirings: products of matrices with another sum and product than those of numbers.
//!
//! | semiring | sum, its zero | product | types | for |
//! |---|---|---|---|---|
//! | [`PlusTimes`] | +, 0 | × | `f32`, `f64`, `u32`, `i32`, `u64`, `i64` | counts of walks |
//! | [`MinPlus`] | minimum, ∞ | + | `f32`, `f64`, `u32`, `i32`, `u64`, `i64` | shortest paths |
//! | [`MaxPlus`] | maximum, −∞ | + | `f32`, `f64`, `i32`, `i64` | longest paths, schedules |
//! | [`MaxTimes`] | maximum, 0 | × | `f32`, `f64`, not negative | most probable paths |
//! | [`OrAnd`] | or, 0 | and | `u32`, `i32` | reachability |
//! | [`PlusPair`] | +, 0 | 1 | `u32`, `i32`, `u64`, `i64` | common neighbors, triangles |
//! | [`MinFirst`] | minimum, ∞ | the entry of A | `f32`, `f64`, `u32`, `u64` | labels, parents |
//!
//! The product of no entries is the zero. Entries that are not stored take no part: they are the zero of the semiring, and not the
//! number 0. Integers wrap around in sums and products of [`PlusTimes`] and [`PlusPair`]. In [`MinPlus`] and [`MaxPlus`] the greatest
//! and the least element are infinite, stay so, and sums stop there.
//!
//! [`DeviceCsr::spmv_over`](crate::DeviceCsr::spmv_over) multiplies by a vector, [`DeviceCsr::spmm_over`](crate::DeviceCsr::spmm_over) by a
//! dense matrix, [`DeviceCsr::spgemm_over`](crate::DeviceCsr::spgemm_over) by a sparse one, [`DeviceCsr::spgemm_masked_over`](crate::DeviceCsr::spgemm_masked_over) where a mask has entries. All devices
//! give the same numbers, except sums of [`PlusTimes`] in `f32` and `f64`, which may be rounded in another order. Of zeros of both
//! signs, any may be the minimum or the maximum.
//!
//! ```
//! use evenpath::prelude::*;
//! use evenpath::semiring::MinPlus;
//!
//! // Lengths of roads; after n products, distances over at most n of them.
//! let roads = Csr::from_triplets(3, 3, [(1, 0, 4.0), (2, 0, 9.0), (2, 1, 2.0)])?;
//! let device = Device::best()?;
//! let roads = device.upload(&roads)?;
//! let mut distances = device.upload(&[0.0, f64::INFINITY, f64::INFINITY])?;
//! let mut before = device.zeros(3)?;
//! for _ in 0..2 {
//!     before.copy_from(&distances)?;
//!     roads.add_spmv_over::<MinPlus>(&before, &mut distances)?;
//! }
//! assert_eq!(distances.download()?, [0.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use evenpath::semiring::{MinPlus, Semiring};
//!
//! assert_eq!(MinPlus::plus(3, -5), -5);
//! assert_eq!(MinPlus::times(3, i32::MAX), i32::MAX); // which is infinite
//! assert_eq!(<MinPlus as Semiring<f64>>::ZERO, f64::INFINITY);
//! ```

#[doc(inline)]
pub use evenpath_simt::semiring::{
    MaxPlus, MaxTimes, MinFirst, MinPlus, OrAnd, PlusPair, PlusTimes, Semiring,
};
