//! Indices of the thread, its block and its warp; and the block's barrier.
//!
//! Grids and blocks have one dimension.

use evenpath_simt_macros::device;

use crate::machine;
pub use crate::operation::WARP_SIZE;

/// Index of this thread in its block.
#[device]
pub fn index() -> u32 {
    machine::thread_index()
}

/// Index of this block in the grid.
#[device]
pub fn block() -> u32 {
    machine::block_index()
}

/// Threads in a block.
#[device]
pub fn block_size() -> u32 {
    machine::block_size()
}

/// Blocks in the grid.
#[device]
pub fn grid_size() -> u32 {
    machine::grid_size()
}

/// Index of this thread in the grid, whose blocks have `BLOCK` threads.
#[device]
pub fn global_index<const BLOCK: usize>() -> usize {
    block() as usize * BLOCK + index() as usize
}

/// Index of this warp in the grid, whose blocks have `BLOCK` threads.
#[device]
pub fn global_warp<const BLOCK: usize>() -> usize {
    block() as usize * (BLOCK / WARP_SIZE as usize) + warp() as usize
}

/// Calls `visit` with every `BLOCK`-th number below `len`, starting at the index of this thread in its block of `BLOCK` threads.
#[device]
pub fn block_stride<const BLOCK: usize>(len: u32, mut visit: impl FnMut(u32)) {
    let mut place = index();
    while place < len {
        visit(place);
        place += BLOCK as u32;
    }
}

/// Calls `visit` with every 32nd number below `len`, starting at the index of this thread in its warp.
#[device]
pub fn warp_stride(len: u32, mut visit: impl FnMut(u32)) {
    let mut place = lane();
    while place < len {
        visit(place);
        place += WARP_SIZE;
    }
}

/// Index of this thread in its warp.
#[device]
pub fn lane() -> u32 {
    index() % WARP_SIZE
}

/// Index of this warp in its block.
#[device]
pub fn warp() -> u32 {
    index() / WARP_SIZE
}

/// Waits for every thread of the block. All of them then see what any of them wrote to shared or global memory before.
/// Every thread of the block must reach the same barrier.
#[device(track_caller)]
pub fn barrier() {
    machine::barrier();
}

/// Tells that this thread waits for another block. Every loop that polls memory must call it. The simulated GPU then
/// runs other blocks; the GPU does nothing.
#[device]
pub fn spin_hint() {
    machine::spin_hint();
}

/// Waits until all that this thread copies with [`copy_16`](crate::Shared::copy_16) is there.
#[device]
pub fn await_copies() {
    machine::await_copies();
}

/// Returns `value`, hidden from the compiler: results that depend on it are computed again, instead of being kept in
/// registers since an earlier computation.
#[device]
#[must_use]
pub fn opaque(value: u32) -> u32 {
    machine::opaque(value)
}

/// Returns a counter that only grows: the clock cycles of this thread's multiprocessor. The simulated GPU counts the
/// calls of this function.
#[device]
pub fn clock() -> u64 {
    machine::clock()
}
