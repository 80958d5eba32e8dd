//! Cores.

use evenpath_kernels::graph::{ListLowDegrees, NO_VERTEX, PeelEdges, RowDegrees};

use super::check::check_graph;
use super::frontier::Vertices;
use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Entry, Offset, cpu};

/// Computes the core number of each vertex: the greatest k for which it is in a k-core, a subgraph in which all vertices have k
/// neighbors at least. Values of the matrix do not count.
///
/// The graph is undirected: the matrix must be symmetric, without duplicates and without a diagonal, for the numbers to mean that.
/// Each stored entry of a row counts as a neighbor.
///
/// Vertices of low degree are removed with their edges until all degrees are higher, for rising core numbers (Matula, Beck,
/// "Smallest-last ordering", 1983).
///
/// ```
/// use evenpath::{Csr, Device, graph};
///
/// // A triangle, and a vertex at its side.
/// let edges = [(0, 1), (1, 2), (0, 2), (2, 3)];
/// let both = edges.iter().flat_map(|&(u, v)| [(u, v, 1.0), (v, u, 1.0)]);
/// let edges = Device::best()?.upload(&Csr::from_triplets(4, 4, both)?)?;
/// assert_eq!(graph::k_core(&edges)?, [2, 2, 2, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, this thread captures a graph of launches, there is too little memory, or the device was lost.
pub fn k_core<V: Entry, O: Offset>(a: &DeviceCsr<V, O>) -> Result<Vec<u32>, OpError> {
    check_graph(a)?;
    let pattern = a.pattern();
    if let Some((offsets, columns)) = pattern.host_arrays() {
        return Ok(cpu::graph::k_core(offsets, columns));
    }
    if pattern.rows == 0 {
        return Ok(Vec::new());
    }
    let mut peeling = Peeling::new(pattern)?;
    let mut core = 0;
    loop {
        let least = peeling.remove_low(core)?;
        if peeling.removed.len() == 0 {
            if least == u32::MAX {
                return Ok(peeling.cores.download()?);
            }
            core = least;
        }
        while peeling.removed.len() > 0 {
            peeling.peel(core)?;
        }
    }
}

/// The state of the search for cores.
struct Peeling<'g, O: Offset> {
    pattern: &'g DevicePattern<O>,
    degrees: DeviceVec<u32>,
    cores: DeviceVec<u32>,
    /// Vertices that were removed last.
    removed: Vertices,
    next: Vertices,
}

impl<'g, O: Offset> Peeling<'g, O> {
    fn new(pattern: &'g DevicePattern<O>) -> Result<Self, OpError> {
        let (device, vertices) = (pattern.row_offsets.device(), pattern.rows);
        let mut degrees = device.uninitialized(vertices)?;
        let launch = device.kernel().threads(vertices)?;
        let kernel = RowDegrees { pattern: pattern.view(), degrees: degrees.as_global_mut() };
        // SAFETY: there is a degree for each vertex.
        unsafe { launch.launch(kernel) }?;
        let cores = device.upload(&vec![NO_VERTEX; vertices])?;
        let (removed, next) = (Vertices::room(device, vertices)?, Vertices::room(device, vertices)?);
        Ok(Self { pattern, degrees, cores, removed, next })
    }

    /// Removes the vertices of degree `core` or less. Returns the least degree of the others.
    fn remove_low(&mut self, core: u32) -> Result<u32, OpError> {
        let device = self.pattern.row_offsets.device();
        let launch = device.kernel().threads(self.pattern.rows)?;
        let mut least = device.upload(&[u32::MAX])?;
        let (degrees, cores) = (self.degrees.as_global_mut(), self.cores.as_global_mut());
        let (least_word, len) = (least.as_global_mut(), self.pattern.rows as u32);
        self.removed.find(|next| {
            let kernel = ListLowDegrees { degrees, cores, next, least: least_word, core, len };
            // SAFETY: all arrays have an element per vertex.
            Ok(unsafe { launch.launch(kernel) }?)
        })?;
        Ok(least.get(0)?)
    }

    /// Removes the edges of the vertices that were removed last, and the vertices whose degrees become `core`.
    fn peel(&mut self, core: u32) -> Result<(), OpError> {
        let edges = self.removed.edges(self.pattern)?;
        if edges.count > 0 {
            let launch = self.pattern.row_offsets.device().kernel().items(edges.count)?;
            let (pattern, frontier) = (self.pattern.view(), self.removed.view(&edges));
            let (degrees, cores) = (self.degrees.as_global_mut(), self.cores.as_global_mut());
            self.next.find(|next| {
                let kernel = PeelEdges { pattern, frontier, next, degrees, cores, core };
                // SAFETY: the frontier has `count` edges, and all arrays have an element per vertex.
                Ok(unsafe { launch.launch(kernel) }?)
            })?;
        } else {
            self.next.clear();
        }
        std::mem::swap(&mut self.removed, &mut self.next);
        Ok(())
    }
}
