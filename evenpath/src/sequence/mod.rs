//! Operations on vectors and sorted sequences in a device's memory.

pub(crate) mod cg;
pub(crate) mod combine;
pub(crate) mod complex;
mod fold;
mod inner_product;
pub(crate) mod map;
pub mod merge;
pub(crate) mod positions;
mod precision;
pub(crate) mod radix_sort;
pub mod reduce;
pub(crate) mod row_marks;
pub(crate) mod scale;
pub mod scan;
mod segmented_radix_sort;
pub mod sets;
pub mod sort;
pub mod vector;

pub(crate) use fold::BLOCKS;
