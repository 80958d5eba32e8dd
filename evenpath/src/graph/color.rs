//! Colors.

use evenpath_kernels::graph::{ColorPriorities, ColorVertices};

use super::check::check_graph;
use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::operand::{OpError, Pairs};
use crate::sequence::sort::{self, SortOptions};
use crate::{Entry, Offset, cpu, vector};

/// Colors of the vertices of a graph, by [`color`].
///
/// ```
/// use evenpath::{Csr, Device, graph};
///
/// let edge = Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 1.0)])?;
/// let coloring = graph::color(&Device::best()?.upload(&edge)?)?;
/// assert_eq!((coloring.colors.len(), coloring.count), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Coloring {
    /// The color of each vertex, from 0.
    pub colors: DeviceVec<u32>,
    /// Number of colors.
    pub count: usize,
}

/// Colors the vertices of a graph, so that no two neighbors have the same color. Values of the matrix do not count, and neither does its
/// diagonal.
///
/// The graph is undirected: the matrix must have both directions of each edge. In the order of priorities, which look random but are
/// the same in every run and on all devices, each vertex gets the least color that no neighbor has, so that there is at most one more
/// color than the most neighbors of a vertex. Vertices are colored in parallel; each waits for the neighbors before it alone (Jones,
/// Plassmann, "A parallel graph coloring heuristic", 1993). The colors stay on the device. Multicolor Gauss–Seidel relaxes the rows
/// of one color at once.
///
/// ```
/// use evenpath::{Csr, Device, graph};
///
/// // A square of four vertices and a diagonal, so that three of them are neighbors of each other.
/// let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
/// let both = edges.iter().flat_map(|&(u, v)| [(u, v, 1.0), (v, u, 1.0)]);
/// let edges = Device::best()?.upload(&Csr::from_triplets(4, 4, both)?)?;
/// let coloring = graph::color(&edges)?;
/// assert_eq!(coloring.count, 3);
/// let colors = coloring.colors.download()?;
/// assert!(colors[1] == colors[3] && colors[0] != colors[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, this thread captures a graph of launches, there is too little memory, or the device was lost.
pub fn color<V: Entry, O: Offset>(a: &DeviceCsr<V, O>) -> Result<Coloring, OpError> {
    let vertices = check_graph(a)?;
    let (device, pattern) = (a.device(), a.pattern());
    if let Some((offsets, columns)) = pattern.host_arrays() {
        let colors = cpu::graph::color(offsets, columns);
        let count = colors.iter().max().map_or(0, |&last| last as usize + 1);
        return Ok(Coloring { colors: device.adopt(colors)?, count });
    }
    let mut priorities = device.uninitialized(vertices)?;
    let launch = device.kernel().threads(vertices)?;
    let kernel = ColorPriorities { priorities: priorities.as_global_mut(), len: vertices as u32 };
    // SAFETY: there is an element for each vertex.
    unsafe { launch.launch(kernel) }?;
    let numbers = vector::iota(device, vertices as u32)?;
    let (_, order) = sort::pairs(Pairs::new(&priorities, &numbers), SortOptions::default())?;
    let (mut marks, mut colors) = (device.zeros(vertices)?, device.uninitialized(vertices)?);
    let (mut count, mut drawn) = (device.zeros::<u32>(1)?, device.zeros(1)?);
    let launch = device.kernel().warps(vertices)?;
    let kernel = ColorVertices {
        pattern: pattern.view(),
        order: order.as_global(),
        marks: marks.as_global_mut(),
        colors: colors.as_global_mut(),
        count: count.as_global_mut(),
        drawn: drawn.as_global_mut(),
    };
    // SAFETY: the columns are numbers of vertices, of which each has a place in the order of their priorities, a mark that is zero, and a
    // color; both words are zero; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    let count = count.get(0)? as usize;
    Ok(Coloring { colors, count })
}
