//! Algorithms on graphs, given by their adjacency matrices: an entry (u, v) is an edge from vertex u to vertex v.
//!
//! | function | computes |
//! |---|---|
//! | [`bfs`] | levels and parents of a breadth-first search |
//! | [`sssp`] | distances from one vertex, by lengths of edges |
//! | [`connected_components`] | the least vertex of each vertex's component |
//! | [`count_triangles`] | triangles |
//! | [`pagerank`] | the ranks of pages by their links |
//! | [`k_core`] | the core number of each vertex |
//! | [`color`] | colors of vertices, different for neighbors |
//!
//! All run on every device. Kernels that go along edges have equal numbers of edges per thread, whatever the degrees. Results are
//! the same on all devices and in every run, except for the rounding of ranks. Where values do not count, any stored entry is an
//! edge, an explicit zero too. The functions wait for the device after each step, so a
//! [graph of launches](crate::device::Graph) cannot have them. Results are in host memory, but for colors.
//!
//! ```
//! use evenpath::graph::{self, BfsOptions};
//! use evenpath::{Csr, Device};
//!
//! // Edges 0 → 1 → 2, and 3 → 2.
//! let edges = Csr::from_triplets(4, 4, [(0, 1, 1.0), (1, 2, 1.0), (3, 2, 1.0)])?;
//! let edges = Device::best()?.upload(&edges)?;
//! let search = graph::bfs(&edges, 0, BfsOptions::default())?;
//! assert_eq!(search.levels, [0, 1, 2, graph::NO_VERTEX]);
//! assert_eq!(graph::connected_components(&edges)?, [0, 0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bfs;
mod check;
mod color;
mod components;
mod core;
mod frontier;
mod pagerank;
mod sssp;
mod triangles;

pub use self::core::k_core;
pub use bfs::{Bfs, BfsDirection, BfsOptions, NO_VERTEX, bfs};
pub use color::{Coloring, color};
pub use components::connected_components;
pub use pagerank::{Pagerank, PagerankOptions, pagerank};
pub use sssp::sssp;
pub use triangles::count_triangles;
