//! Where a result comes from.

/// A nonzero of A, one of B, or both, counted from the tile's first: as many [`STEP_A`](Self::STEP_A) and
/// [`STEP_B`](Self::STEP_B) as there are nonzeros before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin(u32);

/// Bits of an index: tiles have fewer items.
const INDEX_BITS: u32 = 15;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

impl Origin {
    /// From nowhere.
    pub(super) const NONE: Self = Self(0);
    /// One nonzero of A further.
    pub(super) const STEP_A: u32 = 1;
    /// One nonzero of B further.
    pub(super) const STEP_B: u32 = 1 << INDEX_BITS;

    /// A bit for each of A and B: what a result is of.
    pub(super) const FROM_A: u32 = 1 << 31;
    pub(super) const FROM_B: u32 = 1 << 30;
    /// Both bits.
    pub(super) const FROM: u32 = Self::FROM_A | Self::FROM_B;

    /// From an element of shared memory.
    #[inline(always)]
    pub(super) fn from_word(word: u32) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) fn is_of_a(self) -> bool {
        self.0 & Self::FROM_A != 0
    }

    #[inline(always)]
    pub(super) fn is_of_b(self) -> bool {
        self.0 & Self::FROM_B != 0
    }

    #[inline(always)]
    pub(super) fn a(self) -> usize {
        (self.0 & INDEX) as usize
    }

    #[inline(always)]
    pub(super) fn b(self) -> usize {
        (self.0 >> INDEX_BITS & INDEX) as usize
    }
}
