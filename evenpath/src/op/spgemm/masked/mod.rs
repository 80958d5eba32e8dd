//! Products under a mask.

mod complement;
mod kernels;
mod multiply;

pub(super) use complement::multiply_outside;
pub(super) use kernels::MaskedProduct;
pub(super) use multiply::{check_mask, multiply};
