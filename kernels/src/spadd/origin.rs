//! The nonzeros that a result comes from.

use evenpath_simt::device;

/// A nonzero of A, one of B, or both, relative to the tile's first: one [`STEP_A`](Self::STEP_A) or
/// [`STEP_B`](Self::STEP_B) for each nonzero of the tile before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SumOrigin(u32);

/// Bits of an index: tiles have fewer items.
const INDEX_BITS: u32 = 15;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

impl SumOrigin {
    /// No nonzero.
    pub(super) const NONE: Self = Self(0);
    /// Adds one to the index of the nonzero of A.
    pub(super) const STEP_A: u32 = 1;
    /// Adds one to the index of the nonzero of B.
    pub(super) const STEP_B: u32 = 1 << INDEX_BITS;

    /// A bit for each of A and B: whether a result comes from it.
    pub(super) const FROM_A: u32 = 1 << 31;
    pub(super) const FROM_B: u32 = 1 << 30;
    /// Both bits.
    pub(super) const FROM: u32 = Self::FROM_A | Self::FROM_B;

    /// Returns the origin that an element of shared memory stores.
    #[device]
    pub(super) fn from_word(word: u32) -> Self {
        Self(word)
    }

    #[device]
    pub(super) fn is_of_a(self) -> bool {
        self.0 & Self::FROM_A != 0
    }

    #[device]
    pub(super) fn is_of_b(self) -> bool {
        self.0 & Self::FROM_B != 0
    }

    #[device]
    pub(super) fn a(self) -> usize {
        (self.0 & INDEX) as usize
    }

    #[device]
    pub(super) fn b(self) -> usize {
        (self.0 >> INDEX_BITS & INDEX) as usize
    }
}
