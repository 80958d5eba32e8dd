//! Incomplete factorizations, on every device.

mod blocks;
mod cholesky;
mod complex;
mod lu;
mod matrices;
mod refused;
mod reuse;
