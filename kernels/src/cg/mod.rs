//! Steps of conjugate gradients whose scalars stay on the device.

mod one_block;
mod scalars;
mod updates;

pub use one_block::OneBlockSteps;
pub use scalars::{ALPHA, PAP, RR, RZ, SCALARS};
pub use updates::{UpdateDirection, UpdateResidual};
