//! SpMV of coordinates that are sorted by row: every thread has the same number of entries, for rows of any length
//! (Bell, Garland, SC 2009).
//!
//! A warp has an *interval* of consecutive entries and goes through it from front to back, by a segmented reduction in
//! registers. A row that is followed by another in the interval ends in it, and its sum goes to y; the last row of an
//! interval may go on, so its sum becomes the interval's *carry*. A row ends in at most one interval, so only that
//! interval writes its element of y; the other intervals' parts of it are carries, which [`CarryFixup`] adds in fixed order.

mod fixup;
mod interval;

pub use fixup::CarryFixup;
pub(crate) use fixup::{fixup_bytes, CarryRuns};
pub use interval::CooInterval;
