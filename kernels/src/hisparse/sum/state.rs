//! Properties of a sum's operands, as bits of a kernel's parameter.

/// B is transposed relative to the sum. A never is: if both operands are transposed, so is the sum, and if one is, it comes
/// second.
pub const B_TRANSPOSED: u32 = 1;
/// A's values are multiplied by its factor.
pub const A_SCALED: u32 = 2;
/// B's values are multiplied by its factor.
pub const B_SCALED: u32 = 4;
