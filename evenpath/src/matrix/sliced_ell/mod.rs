//! Sliced ELLPACK: rows padded to the longest row of their slice.

mod matrix;
mod options;
mod refused;

pub use matrix::SlicedEll;
pub use options::SlicedEllOptions;
pub use refused::InvalidSlicedEll;
