//! Sorts of keys, with or without values, as a whole or by segments: stable, by all bits or by some.
//!
//! `keys` has n elements, `values` n if there are any, and so have the results. `row_offsets` divides them into
//! segments like the rows of a CSR matrix, which are sorted each ([`keys_by_offsets`], [`pairs_by_offsets`]).
//!
//! ```
//! use evenpath::key::Pairs;
//! use evenpath::sort::{self, SortOptions, SortOrder};
//! use evenpath::Device;
//!
//! let device = Device::best()?;
//! let keys = device.upload(&[3.0, -1.0, 2.0])?;
//! assert_eq!(sort::keys(&keys, SortOptions::default())?.download()?, [-1.0, 2.0, 3.0]);
//!
//! let places = device.upload(&[0_u32, 1, 2])?;
//! let descending = SortOptions::default().with_order(SortOrder::Descending);
//! let (_, places) = sort::pairs(Pairs::new(&keys, &places), descending)?;
//! assert_eq!(places.download()?, [0, 2, 1]);
//! # Ok::<(), evenpath::Error>(())
//! ```
//!
//! A function returns new vectors; with `_in_place` it replaces the existing ones, and with `_temporary_bytes` it
//! returns the memory that it takes beside its operands.
//!
//! Method: on a GPU a radix sort (Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
//! for GPUs", 2022), in which keys and values are read and written once per eight bits. Segments of up to about
//! 2000 elements are sorted in shared memory (Dalton et al., IPDPS 2015, section III-C) and are read and written
//! once in total. Longer ones are sorted in parts of that size, which are merged. On the CPU it is a merge
//! sort; long segments use rayon's.

mod check;
mod keys;
mod keys_by_offsets;
mod options;
mod pairs;
mod pairs_by_offsets;

pub use keys::{keys, keys_in_place, keys_temporary_bytes};
pub use keys_by_offsets::{keys_by_offsets, keys_by_offsets_in_place, keys_by_offsets_temporary_bytes};
pub(crate) use options::index_bits;
pub use options::{SortOptions, SortOrder};
pub use pairs::{pairs, pairs_in_place, pairs_temporary_bytes};
pub(crate) use pairs_by_offsets::pairs_by_valid_offsets;
pub use pairs_by_offsets::{pairs_by_offsets, pairs_by_offsets_in_place, pairs_by_offsets_temporary_bytes};
