//! Products under a mask.

mod complement;
mod kernels;
mod multiply;

pub(super) use complement::multiply_outside;
pub(super) use multiply::{multiply, multiply_with};
