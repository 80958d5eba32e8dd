//! Leaves of A and B whose values are multiplied.

use evenpath_simt::{device, thread, warp, Arena, Shared, Word};

use super::bits::{leaf_words, LeafBits};
use super::leaf_pairs::FactorTree;
use crate::hisparse::layout;
use crate::hisparse::node::Node;

/// Bytes of shared memory of a factor's leaf.
pub(super) const fn bytes(d_log2: u32, is_transposed: bool) -> u32 {
    let bitmap = 4 * leaf_words(d_log2);
    bitmap + bitmap / 2 + if is_transposed { bitmap } else { 0 }
}

/// Shared memory for a factor's leaf: its entries as bits, by rows of the factor and by rows of the content, which are the same
/// if the factor is not transposed.
#[derive(Clone, Copy)]
pub(super) struct LeafStage<T: Word> {
    factor: FactorTree<T>,
    rows: LeafBits,
    content: LeafBits,
    /// The slot of the first entry of each word of `content`; only for words of a sparse leaf that have entries.
    firsts: Shared<u16>,
}

/// A staged leaf.
#[derive(Clone, Copy)]
pub(super) struct StagedLeaf<T: Word> {
    stage: LeafStage<T>,
    node: Node<T>,
    is_dense: bool,
}

impl<T: Word> LeafStage<T> {
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, factor: FactorTree<T>) -> Self {
        let content = LeafBits::take(arena, factor.d_log2);
        let rows = if factor.is_transposed { LeafBits::take(arena, factor.d_log2) } else { content };
        Self { factor, rows, content, firsts: arena.take(leaf_words(factor.d_log2) as usize) }
    }

    /// Clears this thread's share of the bits.
    #[device(track_caller)]
    pub(super) fn clear<const BLOCK: usize>(self) {
        self.content.clear::<BLOCK>();
        if self.factor.is_transposed {
            self.rows.clear::<BLOCK>();
        }
    }

    /// Marks a leaf's entries. All bits are cleared before.
    #[device(track_caller)]
    pub(super) fn fill<const BLOCK: usize>(self, reference: u32) -> StagedLeaf<T> {
        let node = self.factor.node(reference);
        let is_dense = layout::kind(reference) == layout::DENSE;
        thread::block_stride::<BLOCK>(node.len, |slot| {
            if is_dense {
                // A warp reads a word's slots.
                let is_entry = node.slots.load(slot as usize).to_bits() != 0;
                let entries = warp::ballot(warp::FULL, is_entry);
                if thread::lane() == 0 {
                    self.content.store(slot / 32, entries);
                }
                if self.factor.is_transposed && is_entry {
                    self.rows.mark(slot & ((1 << self.factor.d_log2) - 1), slot >> self.factor.d_log2);
                }
            } else {
                let coordinates = u32::from(node.coordinates.load(slot as usize));
                let before = node.coordinates.load_if(slot.saturating_sub(1) as usize, slot > 0);
                let (row, col) = layout::unpack(coordinates);
                // Words begin at columns that are multiples of 32.
                if slot == 0 || u32::from(before) >> 5 != coordinates >> 5 {
                    self.firsts.store(self.content.place(row, col) as usize, slot as u16);
                }
                self.content.mark(row, col);
                if self.factor.is_transposed {
                    self.rows.mark(col, row);
                }
            }
        });
        StagedLeaf { stage: self, node, is_dense }
    }
}

impl<T: Word> StagedLeaf<T> {
    /// Entries as bits, by rows of the factor.
    #[device]
    pub(super) fn rows(self) -> LeafBits {
        self.stage.rows
    }

    /// Returns the value of an entry, by its row and column in the factor.
    #[device(track_caller)]
    pub(super) fn value(self, row: u32, col: u32) -> T {
        let (row, col) = self.stage.factor.turned((row, col));
        let slot = if self.is_dense {
            row << self.stage.factor.d_log2 | col
        } else {
            let word = self.stage.content.place(row, col);
            let below = (1 << (col % 32)) - 1;
            u32::from(self.stage.firsts.load(word as usize))
                + (self.stage.content.load(word) & below).count_ones()
        };
        self.node.slots.load(slot as usize)
    }
}
