//! Solutions of triangular systems, on every device.

mod complex;
mod graphs;
mod matrices;
mod oracle;
mod refused;
mod solves;
mod systems;
mod waiting;
