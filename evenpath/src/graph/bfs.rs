//! Breadth-first search.

use evenpath_kernels::block::list::UnorderedList;
use evenpath_kernels::graph::{BfsPull, BfsPush};

use super::check::{check_graph, check_vertex};
use super::frontier::Vertices;
use crate::cpu;
use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::format::canonical::check_canonical;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Entry, Offset};

#[doc(inline)]
pub use evenpath_kernels::graph::NO_VERTEX;

/// How a breadth-first search goes from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BfsDirection {
    /// Whichever has fewer edges to look at: back from the vertices that were not reached only where the graph is said to be
    /// [symmetric](BfsOptions::symmetric).
    #[default]
    Auto,
    /// Along the edges of the vertices of a level.
    Push,
}

/// Options of [`bfs`].
///
/// ```
/// use evenpath::graph::{self, BfsOptions};
/// use evenpath::{Csr, Device};
///
/// let edges = Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 1.0)])?;
/// let edges = Device::best()?.upload(&edges)?;
/// assert_eq!(graph::bfs(&edges, 1, BfsOptions::default().with_symmetric(true))?.levels, [1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BfsOptions {
    /// The direction.
    pub direction: BfsDirection,
    /// True if every edge is there in both directions. It is not checked: in other graphs, levels may then be wrong.
    pub symmetric: bool,
}

impl BfsOptions {
    /// The same with another direction.
    #[must_use]
    pub fn with_direction(self, direction: BfsDirection) -> Self {
        Self { direction, ..self }
    }

    /// The same, and every edge is there in both directions, or may not be.
    #[must_use]
    pub fn with_symmetric(self, symmetric: bool) -> Self {
        Self { symmetric, ..self }
    }
}

/// Result of [`bfs`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bfs {
    /// For each vertex the number of edges on a shortest path from the source; [`NO_VERTEX`] if there is none.
    pub levels: Vec<u32>,
    /// For each vertex the least vertex before it on such a path, for the source itself; [`NO_VERTEX`] if there is no path.
    pub parents: Vec<u32>,
}

/// Searches a graph from a vertex, level by level. Values of the matrix do not count.
///
/// A level is found along the edges of the vertices of the level before or, where the graph is said to be symmetric and most
/// edges belong to the frontier, back from the vertices that were not reached, which stop at their first neighbor in it
/// (Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", SC 2012). The result is the same in both
/// directions.
///
/// ```
/// use evenpath::graph::{self, BfsOptions};
/// use evenpath::{Csr, Device};
///
/// let edges = Csr::from_triplets(4, 4, [(0, 2, 1.0), (0, 1, 1.0), (1, 3, 1.0), (2, 3, 1.0)])?;
/// let edges = Device::best()?.upload(&edges)?;
/// let search = graph::bfs(&edges, 0, BfsOptions::default())?;
/// assert_eq!((search.levels, search.parents), (vec![0, 1, 1, 2], vec![0, 0, 0, 1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, the source is not a vertex, this thread captures a graph of launches, there is too little memory,
/// or the device was lost.
pub fn bfs<V: Entry, O: Offset>(
    a: &DeviceCsr<V, O>,
    source: usize,
    options: BfsOptions,
) -> Result<Bfs, OpError> {
    let vertices = check_graph(a)?;
    check_vertex(source, vertices)?;
    let pattern = a.pattern();
    if let Some((offsets, columns)) = pattern.host_arrays() {
        let (levels, parents) = cpu::graph::bfs(offsets, columns, source);
        return Ok(Bfs { levels, parents });
    }
    Search::new(pattern, source, options)?.run()
}

/// A frontier is large if it has more than this part of the edges that were not looked at yet.
const PULL_SHARE: usize = 14;
/// It is small again if it has less than this part of the vertices.
const PUSH_SHARE: usize = 24;

/// The state of a search on a device with kernels.
struct Search<'g, O: Offset> {
    pattern: &'g DevicePattern<O>,
    levels: DeviceVec<u32>,
    parents: DeviceVec<u32>,
    frontier: Vertices,
    next: Vertices,
    may_pull: bool,
}

impl<'g, O: Offset> Search<'g, O> {
    fn new(pattern: &'g DevicePattern<O>, source: usize, options: BfsOptions) -> Result<Self, OpError> {
        let (device, vertices) = (pattern.row_offsets.device(), pattern.rows);
        let mut none = vec![NO_VERTEX; vertices];
        none[source] = 0;
        let levels = device.upload(&none)?;
        none[source] = source as u32;
        let parents = device.upload(&none)?;
        let (frontier, next) = (Vertices::one(device, vertices, source)?, Vertices::room(device, vertices)?);
        // The first neighbor is the least only where rows are sorted.
        let may_pull = options.direction == BfsDirection::Auto && options.symmetric;
        let may_pull = may_pull && check_canonical("the adjacency matrix", pattern).is_ok();
        Ok(Self { pattern, levels, parents, frontier, next, may_pull })
    }

    fn run(mut self) -> Result<Bfs, OpError> {
        let (mut unexplored, mut pulls) = (self.pattern.column_indices.len(), false);
        for level in 1.. {
            if pulls && self.frontier.len() >= self.pattern.rows / PUSH_SHARE {
                self.pull(level)?;
            } else {
                let edges = self.frontier.edges(self.pattern)?;
                if edges.count == 0 {
                    break;
                }
                unexplored = unexplored.saturating_sub(edges.count);
                pulls = self.may_pull && edges.count > unexplored / PULL_SHARE;
                if pulls {
                    self.pull(level)?;
                } else {
                    let (pattern, frontier) = (self.pattern, self.frontier.view(&edges));
                    let launch = pattern.row_offsets.device().kernel().items(edges.count)?;
                    let (levels, parents) = (self.levels.as_global_mut(), self.parents.as_global_mut());
                    self.next.find(|next| {
                        let kernel =
                            BfsPush { pattern: pattern.view(), frontier, next, levels, parents, level };
                        // SAFETY: the frontier has `count` edges, and all arrays have an element per vertex.
                        Ok(unsafe { launch.launch(kernel) }?)
                    })?;
                }
            }
            std::mem::swap(&mut self.frontier, &mut self.next);
            if self.frontier.len() == 0 {
                break;
            }
        }
        Ok(Bfs { levels: self.levels.download()?, parents: self.parents.download()? })
    }

    fn pull(&mut self, level: u32) -> Result<(), OpError> {
        let pattern = self.pattern;
        let (levels, parents) = (self.levels.as_global_mut(), self.parents.as_global_mut());
        let launch = pattern.row_offsets.device().kernel().threads(pattern.rows * 32)?;
        self.next.find(|next: UnorderedList| {
            let kernel = BfsPull { incoming: pattern.view(), next, levels, parents, level };
            // SAFETY: there is a warp per vertex, and all arrays have an element per vertex.
            Ok(unsafe { launch.launch(kernel) }?)
        })
    }
}
