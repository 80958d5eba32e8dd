//! Searches of graphs, whose adjacency matrices have an entry (u, v) for an edge from u to v.
//!
//! A *frontier* is a list of vertices. Kernels that go through its edges have equal numbers of edges per block and per thread,
//! whatever the degrees ([`Frontier`]). The vertices that they find are listed in the order in which threads come, but no result
//! depends on that order.

mod bfs;
mod color;
mod components;
mod frontier;
mod peel;
mod relax;

pub use bfs::{BfsPull, BfsPush, NO_VERTEX};
pub use color::{color_priority, ColorPriorities, ColorVertices};
pub use components::{HookEdges, JumpLabels};
pub use frontier::Frontier;
pub use peel::{ListLowDegrees, PeelEdges, RowDegrees};
pub use relax::{Distance, RelaxEdges};
