//! Options of the readers of graphs.

use super::options::ReadOptions;

/// Numbers of the vertices of a graph.
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{GraphOptions, Vertices, parse_edge_list};
///
/// let options = GraphOptions::default().with_vertices(Vertices::Relabeled);
/// let graph = parse_edge_list::<f64, u32>(b"90000000001 7\n7 12\n", &options)?;
/// assert_eq!(graph.ids, [7, 12, 90000000001]);
/// assert_eq!(graph.matrix.to_dense()?, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vertices {
    /// The file's numbers, from 0. There are as many vertices as the largest number plus one.
    #[default]
    Numbered,
    /// Consecutive numbers from 0, in the order of the file's numbers. Only vertices with edges are there.
    Relabeled,
}

/// Options for reading graphs.
///
/// ```
/// use evenpath::coo::Duplicates;
/// use evenpath::io::{GraphOptions, ReadOptions, parse_edge_list};
///
/// let options = GraphOptions::default()
///     .with_undirected(true)
///     .with_read(ReadOptions::default().with_duplicates(Duplicates::Refuse));
/// let graph = parse_edge_list::<f64, u32>(b"0 1 2.5\n", &options)?;
/// assert_eq!(graph.matrix.to_dense()?, [0.0, 2.5, 2.5, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct GraphOptions {
    /// Numbers of the vertices of an edge list. Default: those of the file.
    pub vertices: Vertices,
    /// True to add the opposite of each edge of an edge list, except of loops. Default: false.
    pub undirected: bool,
    /// Treatment of duplicates, limits, and progress.
    pub read: ReadOptions,
}

impl GraphOptions {
    /// Sets the numbers of the vertices.
    #[must_use]
    pub fn with_vertices(self, vertices: Vertices) -> Self {
        Self { vertices, ..self }
    }

    /// Sets whether edges have no direction.
    #[must_use]
    pub fn with_undirected(self, undirected: bool) -> Self {
        Self { undirected, ..self }
    }

    /// Sets the treatment of duplicates, limits, and progress.
    #[must_use]
    pub fn with_read(self, read: ReadOptions) -> Self {
        Self { read, ..self }
    }
}
