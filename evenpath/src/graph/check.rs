//! Checks of graphs.

use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::{Entry, Offset};

/// Returns the number of vertices, if the matrix is square and this thread captures no graph of launches.
pub(super) fn check_graph<V: Entry, O: Offset>(a: &DeviceCsr<V, O>) -> Result<usize, OpError> {
    a.device().refuse_in_graph("an algorithm on a graph waits for the result of each step")?;
    let vertices = a.nrows();
    check_shape("the adjacency matrix", a.shape(), (vertices, vertices))?;
    Ok(vertices)
}

/// Checks that a graph has a vertex.
pub(super) fn check_vertex(vertex: usize, vertices: usize) -> Result<(), OpError> {
    if vertex < vertices { Ok(()) } else { Err(OpError::VertexOutOfRange { vertex, vertices }) }
}
