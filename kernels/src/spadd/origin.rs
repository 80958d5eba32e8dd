//! Where a result comes from.

/// A nonzero of A, one of B, or both, counted from the tile's first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin(u32);

const FROM_A: u32 = 1 << 31;
const FROM_B: u32 = 1 << 30;
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

    /// From a place, which is as many [`STEP_A`](Self::STEP_A) and [`STEP_B`](Self::STEP_B) as there are nonzeros before
    /// it: of A if the lowest bit of `from_a` says so, of B if that of `from_b` does.
    #[inline(always)]
    pub(super) fn new(place: u32, from_a: u32, from_b: u32) -> Self {
        Self((from_a << 31) | (from_b << 30 & FROM_B) | place)
    }

    /// From an element of shared memory.
    #[inline(always)]
    pub(super) fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// As an element of shared memory.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) fn is_of_a(self) -> bool {
        self.0 & FROM_A != 0
    }

    #[inline(always)]
    pub(super) fn is_of_b(self) -> bool {
        self.0 & FROM_B != 0
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
