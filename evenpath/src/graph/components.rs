//! Connected components.

use evenpath_kernels::graph::{HookEdges, JumpLabels};

use super::check::check_graph;
use super::frontier::all_edges;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Entry, Offset, cpu, vector};

/// Finds the connected components of a graph: for each vertex the least vertex of its component. Edges connect in both
/// directions, so of a directed graph these are the weakly connected components. Values of the matrix do not count.
///
/// On GPUs, roots of trees are hooked to less ones, and trees made flat, in rounds (Shiloach, Vishkin, "An O(log n) parallel connectivity
/// algorithm", 1982).
///
/// ```
/// use evenpath::{Csr, Device, graph};
///
/// let edges = Csr::from_triplets(5, 5, [(3, 1, 1.0), (4, 3, 1.0), (0, 2, 1.0)])?;
/// let edges = Device::best()?.upload(&edges)?;
/// assert_eq!(graph::connected_components(&edges)?, [0, 1, 0, 1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, this thread captures a graph of launches, there is too little memory, or the device was lost.
pub fn connected_components<V: Entry, O: Offset>(a: &DeviceCsr<V, O>) -> Result<Vec<u32>, OpError> {
    let vertices = check_graph(a)?;
    let (device, pattern) = (a.device(), a.pattern());
    if let Some((offsets, columns)) = pattern.host_arrays() {
        return Ok(cpu::graph::components(offsets, columns));
    }
    let mut labels = vector::iota(device, vertices as u32)?;
    if a.nnz() == 0 {
        return Ok(labels.download()?);
    }
    let hook = device.kernel::<HookEdges<O>>().items(a.nnz())?;
    let jump = device.kernel::<JumpLabels>().threads(vertices)?;
    loop {
        let mut changed = device.zeros::<u32>(1)?;
        let kernel = HookEdges {
            pattern: pattern.view(),
            frontier: all_edges(pattern),
            labels: labels.as_global_mut(),
            changed: changed.as_global_mut(),
        };
        // SAFETY: labels are vertices, of which each has one; the frontier has all edges.
        unsafe { hook.launch(kernel) }?;
        // SAFETY: as above.
        unsafe { jump.launch(JumpLabels { labels: labels.as_global_mut(), len: vertices as u32 }) }?;
        if changed.get(0)? == 0 {
            return Ok(labels.download()?);
        }
    }
}
