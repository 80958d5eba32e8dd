//! Elements that a set operation keeps, as bits of a kernel's parameter.

/// Elements of A that match none of B.
pub const A_ONLY: u32 = 1;
/// Matches: A's element.
pub const MATCHES: u32 = 2;
/// Elements of B that match none of A.
pub const B_ONLY: u32 = 4;
