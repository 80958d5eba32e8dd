//! What the threads of a block do together, through shared memory.

pub mod merge_path;
pub mod radix_rank;
pub mod radix_sort;
pub mod segmented_scan;
