//! The kinds of the path's items, two bits per item.
//!
//! | `takes_a` | `joins` | the item |
//! |---|---|---|
//! | 1 | 0 | a nonzero of A whose column B does not have in this row |
//! | 1 | 1 | a nonzero of A; the next item is the nonzero of B with the same column |
//! | 0 | 0 | a nonzero of B |
//! | 0 | 1 | the end of a row |

use evenpath_simt::device;

use super::keep;

/// Items per word of kinds.
pub(super) const WORD_ITEMS: u32 = 31;

/// Words of kinds per tile of `tile_items` items, a multiple of 31.
pub const fn kind_words(tile_items: u32) -> usize {
    (tile_items / WORD_ITEMS) as usize
}

/// The kinds of up to 31 items, the first in the lowest bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemKinds {
    pub(super) takes_a: u32,
    pub(super) joins: u32,
}

impl ItemKinds {
    #[device]
    pub(super) fn from_word(word: u64) -> Self {
        Self { takes_a: word as u32, joins: (word >> 32) as u32 }
    }

    #[device]
    pub(super) fn word(self) -> u64 {
        u64::from(self.joins) << 32 | u64::from(self.takes_a)
    }

    /// Returns a bit for each of the first `items` items that is the end of a row.
    #[device]
    pub(super) fn row_ends(self, items: u32) -> u32 {
        self.joins & !self.takes_a & first(items)
    }

    /// Returns a bit for each of the first `items` items at which there is a result.
    #[device]
    pub(super) fn results(self, keep: u32, items: u32) -> u32 {
        let all_if = |bit: u32| if keep & bit != 0 { u32::MAX } else { 0 };
        let Self { takes_a, joins } = self;
        let kept = (takes_a & !joins & all_if(keep::A_ONLY))
            | (takes_a & joins & all_if(keep::PAIRS))
            | (!takes_a & !joins & all_if(keep::B));
        kept & first(items)
    }

    /// Returns whether item `item` is a nonzero of A, and the next item the nonzero of B with the same column.
    #[device]
    pub(super) fn is_pair(self, item: u32) -> bool {
        self.takes_a & self.joins & 1 << item != 0
    }
}

/// Returns a bit for each of the first `items` items, of which there are at most 31.
#[device]
pub(super) fn first(items: u32) -> u32 {
    (1 << items) - 1
}
