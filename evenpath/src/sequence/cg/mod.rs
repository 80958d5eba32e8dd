//! Conjugate gradients whose scalars stay on the device.

mod steps;
mod update;

pub use steps::{CgDirection, CgScalars, CgSteps};
