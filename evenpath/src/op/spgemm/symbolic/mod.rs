//! The symbolic phase: the products, class and entries of each row of C, from the patterns of A and B.

mod analysis;
mod bins;
mod count;
mod rows;
mod shapes;
mod taken;
mod work;
mod zeroed;

pub(super) use self::bins::Bin;
pub(super) use self::shapes::{
    HashShape, WindowShape, block_instance, lanes_log2, sums_bytes, window_instance,
};
pub(super) use analysis::{Analysis, Symbolic, kernels, required};
pub(super) use rows::ClassifiedRows;
pub(super) use taken::{GivenRows, kernels as taken_kernels};
