//! Calls of [`evenpath`] that only measure or test, for its studies and its own tests.
//!
//! Nothing here computes what the library does not: these are variants of kernels that a study compares, phases that it
//! times, and what tests need to see of a device. They are the feature `lab` of evenpath, which is no part of its
//! interface, and change without notice.

#[doc(inline)]
pub use evenpath::lab::*;

mod published;

pub use published::{figure7, table2};
