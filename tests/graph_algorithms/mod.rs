//! Algorithms on graphs, on every device, compared with petgraph and with plain loops.

mod colors;
mod counts;
mod graphs;
mod paths;
mod ranks;
mod refused;
