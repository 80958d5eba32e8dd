//! A hash table of columns in shared memory, by open addressing.

use evenpath_simt::{device, Shared};

/// The content of a free slot: no column has this index.
const FREE: u32 = u32::MAX;

/// A table of `1 << len_log2` slots, at least one of which is always free.
#[derive(Clone, Copy)]
pub(super) struct HashTable {
    columns: Shared<u32>,
    len_log2: u32,
}

/// The slot of a column.
#[derive(Clone, Copy)]
pub(super) struct HashSlot {
    pub(super) index: u32,
    pub(super) is_new: bool,
}

impl HashTable {
    #[device]
    pub(super) fn new(columns: Shared<u32>, len_log2: u32) -> Self {
        Self { columns, len_log2 }
    }

    #[device]
    pub(super) fn len(self) -> u32 {
        1 << self.len_log2
    }

    /// Returns the slots.
    #[device]
    pub(super) fn columns(self) -> Shared<u32> {
        self.columns
    }

    /// Frees a slot.
    #[device(track_caller)]
    pub(super) fn clear(self, slot: u32) {
        self.columns.store(slot as usize, FREE);
    }

    /// Returns the column in a slot, and whether there is one. Must be synchronized with insertions.
    #[device(track_caller)]
    pub(super) fn get(self, slot: u32) -> (u32, bool) {
        let column = self.columns.load(slot as usize);
        (column, column != FREE)
    }

    /// Returns the first slot to try for a column: the upper bits of its product with 2³² over the golden ratio.
    #[device]
    fn home(self, column: u32) -> u32 {
        column.wrapping_mul(0x9e37_79b9) >> (32 - self.len_log2)
    }

    /// Finds a column, or inserts it into a free slot.
    #[device(track_caller)]
    pub(super) fn insert(self, column: u32) -> HashSlot {
        let mut index = self.home(column);
        loop {
            let mut found = self.columns.atomic_load(index as usize);
            if found == FREE {
                found = self.columns.compare_exchange(index as usize, FREE, column);
                if found == FREE {
                    return HashSlot { index, is_new: true };
                }
            }
            if found == column {
                return HashSlot { index, is_new: false };
            }
            index = (index + 1) & (self.len() - 1);
        }
    }

    /// Returns the slot of a column, and whether it is there. Must be synchronized with insertions.
    #[device(track_caller)]
    pub(super) fn find(self, column: u32) -> (u32, bool) {
        let mut index = self.home(column);
        loop {
            let found = self.columns.load(index as usize);
            if found == column || found == FREE {
                return (index, found == column);
            }
            index = (index + 1) & (self.len() - 1);
        }
    }
}
