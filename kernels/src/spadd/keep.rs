//! Items of the path that make results, and the values of these, as bits of a kernel's parameter.

/// Nonzeros of A without a nonzero of B in the same row and column.
pub const A_ONLY: u32 = 1;
/// Pairs of nonzeros of A and B in the same row and column; not together with [`B`].
pub const PAIRS: u32 = 2;
/// Nonzeros of B, each with the nonzero of A in the same row and column if there is one.
pub const B: u32 = 4;
/// The value of a pair is αa · βb; without it, αa + βb.
pub const MULTIPLY: u32 = 8;
/// The value of a pair is αa.
pub const FIRST: u32 = 16;
