//! Scans: for each element, the sum, minimum or maximum of all elements up to it, of all or of its segment.
//!
//! [`Scan`] describes a scan, and its `run` executes it.
//!
//! ```
//! use evenpath::scan::{Operator, Scan};
//! use evenpath::Device;
//!
//! let device = Device::best()?;
//! let lengths = device.upload(&[3_u32, 0, 2, 5])?;
//! assert_eq!(Scan::inclusive(Operator::Sum).run(&lengths)?.download()?, [3, 3, 5, 10]);
//! assert_eq!(Scan::exclusive(Operator::Sum).run(&lengths)?.download()?, [0, 3, 3, 5]);
//! assert_eq!(Scan::exclusive(Operator::Sum).with_initial(100).run(&lengths)?.download()?, [100, 103, 103, 105]);
//!
//! let keys = device.upload(&[7_u32, 7, 8, 8])?; // a segment each
//! assert_eq!(Scan::inclusive(Operator::Max).by_keys(&keys).run(&lengths)?.download()?, [3, 3, 2, 5]);
//! # Ok::<(), evenpath::Error>(())
//! ```
//!
//! One pass over the data: each element is read once and written once (Merrill and Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", 2016). Floating-point sums are added in an order that
//! depends only on the length and the kind of device, so results are bitwise the same in every run; they can
//! differ between the CPU and GPUs by rounding. Integer sums wrap around. A minimum or maximum ignores NaN.

mod builder;
mod launch;
mod plain;
mod sealed;
mod segmented;
mod segments;

pub use crate::element::Element;
pub use crate::operation::Operator;
pub use builder::Scan;
pub(crate) use launch::{launch_over, look_back_state, state_bytes};
pub(crate) use plain::sum_kernel;
pub use plain::{Whole, temporary_bytes};
pub(crate) use segmented::check_countable;
pub use segmented::{Mark, Marked, Rows, temporary_bytes_by, temporary_bytes_by_offsets};
