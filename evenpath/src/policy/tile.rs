//! A tile: how much of an operation's work one block does.

use evenpath_simt::kernel::KernelInfo;

/// How much of an operation's work one block does.
///
/// ```
/// use evenpath::policy::Tile;
///
/// assert_eq!(Tile { block_size: 256, items_per_thread: 7 }.items(), 1792);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Threads in a block.
    pub block_size: u32,
    /// Items, such as row ends and nonzeros, that each thread handles.
    pub items_per_thread: u32,
}

impl Tile {
    /// What a block of a kernel handles.
    pub(crate) fn of(kernel: &KernelInfo) -> Self {
        Self { block_size: kernel.block_size, items_per_thread: kernel.items_per_thread }
    }

    /// Items that a block handles, and 2³² − 1 where there would be more.
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
