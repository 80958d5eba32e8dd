//! Set operations on two sorted sequences: union, intersection, difference and symmetric difference.
//!
//! `a` has m elements and `b` n, keys with or without values; the result has at most m + n
//! ([`SetOperation::largest_result`]).
//!
//! ```
//! use evenpath::key::Pairs;
//! use evenpath::sets::{self, Combine, SetOperation};
//! use evenpath::Device;
//!
//! let device = Device::best()?;
//! let (a, b) = (device.upload(&[1_u32, 2, 2, 5])?, device.upload(&[2_u32, 5, 7])?);
//! assert_eq!(sets::keys(&a, &b, SetOperation::Union)?.download()?, [1, 2, 2, 5, 7]);
//! assert_eq!(sets::count(&a, &b, SetOperation::Intersection)?, 2);
//!
//! let (x, y) = (device.upload(&[0.5, 1.0, 2.0, 3.0])?, device.upload(&[10.0, 20.0, 30.0])?);
//! let (_, sums) = sets::pairs(Pairs::new(&a, &x), Pairs::new(&b, &y), SetOperation::Union, Combine::Sum)?;
//! assert_eq!(sums.download()?, [0.5, 11.0, 2.0, 23.0, 30.0]);
//! # Ok::<(), evenpath::Error>(())
//! ```
//!
//! A function returns new vectors; with `_into` it writes to existing ones, and with `_temporary_bytes` it
//! returns the memory that it takes beside its operands.
//!
//! Sequences are multisets, as in `std::set_union` and its family: the n-th copy of a key in A matches the n-th in B.
//! For a key with m copies in A and n in B:
//!
//! | operation | copies in the result | which copies |
//! |---|---|---|
//! | union | max(m, n) | all of A, then the last n − m of B |
//! | intersection | min(m, n) | the first of A |
//! | difference | max(m − n, 0) | the last of A |
//! | symmetric difference | \|m − n\| | the last of the sequence with more |
//!
//! Values stay with their keys. A match has A's value or, with [`Combine::Sum`], the sum of both. (row, column) tuples
//! are packed into keys by [`coordinate`](crate::key::coordinate).
//!
//! The inputs must be sorted; [`check_sorted`] checks that. If they are not, the result is an unspecified sequence or an
//! error. No memory other than the outputs is written.
//!
//! Method: balanced path (Baxter, "Modern GPU", 2013; Dalton et al., IPDPS 2015): tiles of equal work, regardless of
//! how many copies a key has, and one pass over the data. Results are bitwise identical from run to run.

mod combine;
mod count;
mod cut;
mod keys;
mod pairs;
mod sorted;

pub use crate::operation::SetOperation;
pub use combine::Combine;
pub use count::{count, count_temporary_bytes};
pub use keys::{keys, keys_into, keys_temporary_bytes};
pub use pairs::{pairs, pairs_into, pairs_temporary_bytes};
pub use sorted::check_sorted;
pub(crate) use sorted::survey;
