//! Properties of a product's operands, as bits of a kernel's parameter.

/// A is the transpose of its content.
pub const A_TRANSPOSED: u32 = 1;
/// B is the transpose of its content.
pub const B_TRANSPOSED: u32 = 2;
