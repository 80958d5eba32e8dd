//! Links from nodes to their parents.

use evenpath_simt::device;

use super::layout;

/// A node's parent, and the node's number among the parent's entries; meaningless for the root. The word has the
/// parent's number in the upper half, then 16 bits each for the entry's number and its coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) parent: u32,
    pub(super) at: u32,
    pub(super) coordinates: u32,
}

impl Link {
    /// Returns a link without the entry's number, from the lowest two digits of a path.
    #[device]
    pub(super) fn of_digits(parent: u32, digits: u32, d_log2: u32) -> Self {
        let mask = (1 << d_log2) - 1;
        Self { parent, at: 0, coordinates: layout::pack(digits >> d_log2 & mask, digits & mask) }
    }

    #[device]
    pub(super) fn word(self) -> u64 {
        u64::from(self.parent) << 32 | u64::from(self.at << 16 | self.coordinates)
    }

    #[device]
    pub(super) fn from_word(word: u64) -> Self {
        let lower = word as u32;
        Self { parent: (word >> 32) as u32, at: lower >> 16, coordinates: lower & 0xffff }
    }
}
