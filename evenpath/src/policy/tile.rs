//! Tiles: the share of an operation's work that one block does.

use evenpath_simt::kernel::KernelInfo;

/// Share of an operation's work that one block does.
///
/// ```
/// use evenpath::spmv::Tile;
///
/// assert_eq!(Tile { block_size: 256, items_per_thread: 7 }.items(), 1792);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Number of threads per block.
    pub block_size: u32,
    /// Number of items, such as row ends and nonzeros, per thread.
    pub items_per_thread: u32,
}

impl Tile {
    /// Tile of a kernel.
    pub(crate) fn of(kernel: &KernelInfo) -> Self {
        Self { block_size: kernel.block_size, items_per_thread: kernel.items_per_thread }
    }

    /// Number of items per block, saturated at 2³² − 1.
    pub fn items(self) -> u32 {
        self.block_size.saturating_mul(self.items_per_thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_do_not_overflow() {
        let items = |block_size, items_per_thread| Tile { block_size, items_per_thread }.items();
        assert_eq!(items(1 << 16, (1 << 16) - 1), u32::MAX - (1 << 16) + 1);
        assert_eq!(items(1 << 16, 1 << 16), u32::MAX);
        assert_eq!(items(u32::MAX, u32::MAX), u32::MAX);
    }
}
