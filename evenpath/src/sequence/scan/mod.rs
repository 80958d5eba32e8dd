//! Scans: running sums, minimums or maximums of all values, or of each segment.
//!
//! `values` has n elements, and so has the result. Element i of an inclusive scan combines the values from the
//! first of its segment to i; that of an exclusive scan, to i − 1. Segments are runs of equal keys
//! ([`by_keys`]), begin at nonzero flags ([`by_flags`]), or are the rows of a matrix ([`by_offsets`]).
//!
//! ```
//! use evenpath::operator::Operator;
//! use evenpath::scan::{self, ScanOptions};
//! use evenpath::Device;
//!
//! let device = Device::best()?;
//! let lengths = device.upload(&[3_u32, 0, 2, 5])?;
//! assert_eq!(scan::values(&lengths, ScanOptions::inclusive(Operator::Sum))?.download()?, [3, 3, 5, 10]);
//! assert_eq!(scan::values(&lengths, ScanOptions::exclusive(Operator::Sum))?.download()?, [0, 3, 3, 5]);
//!
//! let keys = device.upload(&[7_u32, 7, 8, 8])?;
//! let greatest = scan::by_keys(&keys, &lengths, ScanOptions::inclusive(Operator::Max))?;
//! assert_eq!(greatest.download()?, [3, 3, 2, 5]);
//! # Ok::<(), evenpath::Error>(())
//! ```
//!
//! A function returns a new vector; with `_into` it writes to an existing one, and with `_temporary_bytes` it
//! returns the memory that it takes beside its operands.
//!
//! Method: one pass, in which each value is read once and each result written once (Merrill and Garland,
//! "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). Floating-point sums are added in an
//! order that depends only on the length and the kind of device, so results are bitwise the same in every run;
//! they can differ between the CPU and GPUs by rounding. Integer sums wrap around. A minimum or maximum ignores
//! NaN.

mod by_flags;
mod by_keys;
mod by_offsets;
mod launch;
mod marked;
mod options;
mod values;

pub use by_flags::{by_flags, by_flags_into, by_flags_temporary_bytes};
pub use by_keys::{by_keys, by_keys_into, by_keys_temporary_bytes};
pub use by_offsets::{by_offsets, by_offsets_into, by_offsets_temporary_bytes};
pub(crate) use launch::{launch_over, look_back_state, state_bytes};
pub use options::ScanOptions;
pub(crate) use values::sum_kernel;
pub use values::{values, values_into, values_temporary_bytes};
