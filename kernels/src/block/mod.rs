//! What the threads of a block do together, through shared memory; and what blocks tell each other.

pub mod merge_path;
pub mod operator;
pub mod segmented_scan;
pub mod tile_prefix;
pub mod tile_scan;
