//! Triangles.

use std::sync::Arc;

use super::check::check_graph;
use crate::csr::Filter;
use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operator::Operator;
use crate::semiring::PlusPair;
use crate::spgemm::SpgemmOptions;
use crate::{Offset, Value, reduce};

/// Counts the triangles of an undirected graph: sets of three vertices with all edges between them. Values of the matrix do not
/// count.
///
/// The matrix must be symmetric; only the entries below its diagonal are used. With L of these, the number is the sum of the entries of
/// L·L where L has some, by [`spgemm_masked_over`](DeviceCsr::spgemm_masked_over) in the semiring [`PlusPair`] (Azad, Buluç, Gilbert,
/// "Parallel triangle counting and enumeration using matrix algebra", 2015). Takes 20 bytes per edge of L beside the pattern of L.
///
/// ```
/// use evenpath::{Csr, Device, graph};
///
/// // Two triangles with a common side.
/// let edges = [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)];
/// let both = edges.iter().flat_map(|&(u, v)| [(u, v, 1.0), (v, u, 1.0)]);
/// let edges = Device::best()?.upload(&Csr::from_triplets(4, 4, both)?)?;
/// assert_eq!(graph::count_triangles(&edges)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square or not canonical, this thread captures a graph of launches, there is too little memory, or the
/// device was lost.
pub fn count_triangles<V: Value, O: Offset>(a: &DeviceCsr<V, O>) -> Result<u64, OpError> {
    check_graph(a)?;
    let device = a.device();
    let lower = a.filter(Filter::Lower(-1))?;
    let ones: DeviceVec<u64> = device.zeros(lower.nnz())?; // a pair counts, whatever its values
    let lower = DeviceCsr::<u64, O>::from_valid(Arc::clone(lower.pattern()), ones);
    let counts = lower.spgemm_masked_over::<PlusPair, _>(&lower, &lower, SpgemmOptions::default())?;
    let ends = device.upload(&[0, counts.nnz() as u64])?;
    Ok(reduce::by_offsets(&ends, &counts.values(), Operator::Sum)?.get(0)?)
}
