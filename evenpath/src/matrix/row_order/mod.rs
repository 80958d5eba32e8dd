//! Row permutations, and their effect on warps with one row per thread.

mod cuthill_mckee;
mod graph;
mod order;
mod permute;
mod warp_loads;

pub use order::{LongestRows, RowOrder};
pub use warp_loads::{OrderLoads, WarpLoads};
