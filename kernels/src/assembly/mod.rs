//! Assembly: triplets of a matrix as keys, sums of the values of each entry, and the correction for fixed unknowns.

mod correct;
mod keys;
mod sums;

pub use correct::CorrectRows;
pub use keys::{MarkFixed, TripletKeys, FIXED_COLUMNS, FIXED_ENTRY, FREE_COLUMNS};
pub use sums::SumRuns;
