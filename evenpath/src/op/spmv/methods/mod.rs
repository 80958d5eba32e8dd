//! The methods of SpMV, a file each: abilities, part in the choice, analysis and launches.

mod adaptive;
mod binned;
mod block_size;
mod cpu;
mod cut_rows;
mod flat;
mod hot;
mod light;
mod list;
mod merge;
mod narrow;
mod row_blocks;
mod row_tiles;
mod rows;
mod sliced;
mod windows;

pub(super) use cpu::automatic as automatic_on_cpu;
pub(super) use list::{all, find};
