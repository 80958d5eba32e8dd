//! Reductions of segments: the sum, minimum or maximum of each.
//!
//! `values` has n elements, the result one per segment. Segments are runs of equal keys ([`by_keys`]), begin at
//! nonzero flags ([`by_flags`]), or are the rows of a matrix ([`by_offsets`]).
//!
//! ```
//! use evenpath::operator::Operator;
//! use evenpath::{Device, reduce};
//!
//! let device = Device::best()?;
//! let keys = device.upload(&[7_u32, 7, 3, 3, 3, 7])?;
//! let values = device.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let (keys, sums) = reduce::by_keys(&keys, &values, Operator::Sum)?;
//! assert_eq!(keys.download()?, [7, 3, 7]);
//! assert_eq!(sums.download()?, [3.0, 12.0, 6.0]);
//!
//! let row_offsets = device.upload(&[0_u32, 2, 2, 6])?;
//! assert_eq!(reduce::by_offsets(&row_offsets, &values, Operator::Sum)?.download()?, [3.0, 0.0, 18.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A function returns new vectors; with `_into` it writes to existing ones, and with `_temporary_bytes` it
//! returns the memory that it takes beside its operands.
//!
//! Method: one pass, by the look-back of [`scan`](crate::scan) and equally reproducible: floating-point sums are
//! added in an order that depends only on the length, the segments and the kind of device.

mod by_flags;
mod by_keys;
mod by_offsets;
mod launch;

pub use by_flags::{by_flags, by_flags_into, by_flags_temporary_bytes};
pub use by_keys::{by_keys, by_keys_into, by_keys_temporary_bytes};
pub(crate) use by_offsets::by_valid_offsets_into;
pub use by_offsets::{by_offsets, by_offsets_into, by_offsets_temporary_bytes};
