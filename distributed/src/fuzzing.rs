//! Entry points of fuzz targets.

pub use crate::transport::fuzzing::{frames, greeting};
