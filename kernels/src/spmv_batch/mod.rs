//! Products of a batch of matrices that have one pattern: yₖ = αAₖxₖ + βyₖ.

mod rows;

pub use rows::{BatchRows, BATCH_AT_ONCE};
