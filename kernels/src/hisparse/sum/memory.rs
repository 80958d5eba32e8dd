//! Shared memory of the kernels that merge nodes, which a warp and a block use in turn.

use super::{large, marks, small};

/// Bytes of launch-sized shared memory of the kernels that merge, for blocks of `block_size` threads.
pub const fn merge_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    larger(small::bytes(block_size), large::bytes(d_log2))
}

/// Bytes of launch-sized shared memory of the kernels that count, for blocks of `block_size` threads.
pub const fn count_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    larger(marks::bytes(d_log2, block_size), large::bytes(d_log2))
}

/// Returns the larger of two numbers.
pub(super) const fn larger(a: u32, b: u32) -> u32 {
    if a > b {
        a
    } else {
        b
    }
}
