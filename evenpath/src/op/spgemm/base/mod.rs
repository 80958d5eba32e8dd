//! The parts that all methods of SpGEMM share: the operands, the arrays of C, and the account of memory.

mod offsets;
mod operands;
mod workspace;

pub(super) use crate::format::offsets::convert_offsets;
pub(super) use offsets::{ProductArrays, countable, result_arrays, result_required};
pub(super) use operands::{SpgemmCall, SpgemmOperands};
pub(super) use workspace::{Charge, Workspace};
