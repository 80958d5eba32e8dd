//! Incomplete factorizations, on every device.

mod cholesky;
mod lu;
mod matrices;
mod refused;
mod reuse;
