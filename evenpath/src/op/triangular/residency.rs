//! The number of blocks that wait on a multiprocessor.
//!
//! A row that waits polls memory, and slows the rows that do not. Blocks take rows in the order of levels, so few of them need to
//! be there: enough for the rows of some levels. A launch keeps others away by shared memory that it does not use.

use crate::device::Device;

/// Levels whose rows are there at once, about.
const LEVELS_AHEAD: u64 = 10;
/// Shared memory of a block that the system uses, on GPUs that use some.
const SYSTEM_BYTES: u32 = 1024;
/// Shared memory of a block that kernels use themselves.
const OWN_BYTES: u32 = 128;

/// A launch of waiting rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// Number of threads of all rows.
    pub(super) threads: u64,
    /// Number of levels.
    pub(super) levels: u64,
    /// Threads of a block.
    pub(super) block_size: u64,
}

impl Waiting {
    /// Bytes of shared memory with which no more blocks fit on a multiprocessor than suit the levels; zero if all may be there.
    pub(super) fn shared_bytes(self, device: &Device) -> u32 {
        let properties = device.properties();
        let largest = properties.shared_bytes();
        let of_blocks = u64::from(properties.multiprocessors) * self.block_size * self.levels.max(1);
        let blocks = (LEVELS_AHEAD * self.threads).div_ceil(of_blocks.max(1)).max(1);
        match u32::try_from(blocks) {
            // One more block than these does not fit.
            Ok(blocks) if blocks <= largest.div_ceil(2 * SYSTEM_BYTES) => {
                ((largest + SYSTEM_BYTES) / blocks - SYSTEM_BYTES - OWN_BYTES) / 128 * 128
            }
            _ => 0,
        }
    }
}
