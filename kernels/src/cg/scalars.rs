//! Scalars of steps in memory.

/// Scalars of each step: rᵀz and rᵀr before it, pᵀAp, α.
pub const SCALARS: usize = 4;
/// Index of rᵀz among the scalars of a step.
pub const RZ: usize = 0;
/// Index of rᵀr.
pub const RR: usize = 1;
/// Index of pᵀAp.
pub const PAP: usize = 2;
/// Index of α, zero for a step that changes nothing.
pub const ALPHA: usize = 3;
