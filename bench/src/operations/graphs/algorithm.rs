//! The measured algorithms.

/// An algorithm on graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Algorithm {
    /// Levels and parents of a search from the vertex of most edges.
    Bfs,
    /// Distances from the vertex of most edges.
    Sssp,
    /// The least vertex of each vertex's component.
    Components,
    /// Triangles.
    Triangles,
    /// Core numbers.
    KCore,
    /// Ranks of pages.
    Pagerank,
}

impl Algorithm {
    /// All algorithms.
    pub(crate) const ALL: [Self; 6] =
        [Self::Bfs, Self::Sssp, Self::Components, Self::Triangles, Self::KCore, Self::Pagerank];

    /// Its name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bfs => "bfs",
            Self::Sssp => "sssp",
            Self::Components => "components",
            Self::Triangles => "triangles",
            Self::KCore => "k-core",
            Self::Pagerank => "pagerank",
        }
    }
}
