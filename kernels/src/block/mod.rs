//! What the threads of a block do together, through shared memory.

pub mod merge_path;
pub mod segmented_scan;
