//! Being built.

pub mod device;
