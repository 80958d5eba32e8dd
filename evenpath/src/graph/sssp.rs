//! Shortest paths.

use evenpath_kernels::graph::{Distance, RelaxEdges};

use super::check::{check_graph, check_vertex};
use super::frontier::Vertices;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Value, cpu, vector};

/// Computes the distance of each vertex from a source: the least sum of the lengths of the edges on a path, which are the values
/// of the matrix. Infinite if there is no path. Edges whose length is NaN or infinite are no paths.
///
/// On GPUs, edges of the vertices whose distances became less are relaxed in rounds, until none does (Bellman, Ford); in the
/// worst case there are as many rounds as vertices. On the CPU vertices are visited in the order of their distances
/// (Dijkstra). Sums are rounded along the path, so both give the same bits.
///
/// ```
/// use evenpath::{Csr, Device, graph};
///
/// let roads = Csr::from_triplets(4, 4, [(0, 1, 4.0), (0, 2, 1.0), (2, 1, 2.0)])?;
/// let roads = Device::best()?.upload(&roads)?;
/// assert_eq!(graph::sssp(&roads, 0)?, [0.0, 3.0, 1.0, f64::INFINITY]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a length is negative, the matrix is not square, the source is not a vertex, this thread captures a graph of launches, there
/// is too little memory, or the device was lost.
pub fn sssp<V: Value, O: Offset>(a: &DeviceCsr<V, O>, source: usize) -> Result<Vec<V>, OpError> {
    let vertices = check_graph(a)?;
    check_vertex(source, vertices)?;
    let values = a.values_now();
    if a.nnz() > 0 {
        let least = vector::min(&values)?.to_f64();
        if least < 0.0 {
            return Err(OpError::NegativeLength { least });
        }
    }
    if let Some(view) = a.pattern().host_view(&values) {
        return Ok(cpu::graph::sssp(view, source));
    }
    let (device, pattern) = (a.device(), a.pattern());
    let mut start = vec![V::from_f64(f64::INFINITY); vertices];
    start[source] = V::ZERO;
    let mut distances = device.upload(&start)?;
    let mut listed = device.zeros::<u32>(vertices)?;
    let mut frontier = Vertices::one(device, vertices, source)?;
    let mut next = Vertices::room(device, vertices)?;
    for round in 1.. {
        let edges = frontier.edges(pattern)?;
        if edges.count == 0 {
            break;
        }
        let launch = device.kernel::<RelaxEdges<V, O>>().items(edges.count)?;
        next.find(|next| {
            let kernel = RelaxEdges {
                pattern: pattern.view(),
                lengths: values.as_global(),
                frontier: frontier.view(&edges),
                next,
                distances: distances.as_global_mut_of::<<V as Distance>::Bits>(),
                listed: listed.as_global_mut(),
                round,
            };
            // SAFETY: the frontier has `count` edges, and all arrays have an element per vertex.
            Ok(unsafe { launch.launch(kernel) }?)
        })?;
        std::mem::swap(&mut frontier, &mut next);
        if frontier.len() == 0 {
            break;
        }
    }
    Ok(distances.download()?)
}
