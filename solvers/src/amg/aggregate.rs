//! Aggregates of strongly coupled nodes.

use evenpath::csr::{Filter, Reduction};
use evenpath::error::OpError;
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::semiring::{MaxTimes, MinPlus};
use evenpath::{Device, DeviceCsr, DeviceSlice, DeviceVec, Value, vector, vector::Map};

use crate::error::Result;

/// State of a node in the set, above all priorities.
const IN_SET: f64 = (1_u64 << 33) as f64;
/// Number of rounds before the host looks for the first time: fewer are hardly ever enough.
const FIRST_ROUNDS: usize = 4;

/// Aggregates the nodes of a graph: a matrix with a row per node and a column per aggregate, whose entries are ones. A node without
/// neighbors belongs to no aggregate. `strong` has an entry for each strong coupling, and those of the diagonal; `priorities` has
/// at least one number per node.
///
/// The roots of the aggregates are a maximal set of nodes that are more than two edges apart: those with the highest priority
/// within two edges, until every other node has a root within two. A node joins the root beside it, or else the first of the
/// aggregates that its neighbors joined. All numbers are whole, so the aggregates are the same on every device.
///
/// Source: Bell, Dalton, Olson, SIAM J. Sci. Comput. 34, 2012, algorithm 5.
pub(super) fn aggregate<V: Value>(
    strong: &DeviceCsr<V>,
    priorities: &DeviceSlice<f64>,
) -> Result<DeviceCsr<V>> {
    let (device, nodes) = (strong.device(), strong.nrows());
    let graph = with_ones(strong)?;
    let states = independent_set(&graph, &priorities.slice(..nodes)?)?;
    let (root_offsets, _, root_states) =
        DeviceCsr::from_diagonal(&states)?.filter(Filter::AbsAbove(IN_SET - 1.0))?.into_parts()?;
    let count = root_states.len();
    drop(root_states);

    // From here on, states are numbers of aggregates; `none` is that of a node without one.
    let (_, numbers) = counted(device, count)?;
    let none = 2 * count as u32;
    let mut labels = device.zeros(nodes)?;
    let roots =
        DeviceCsr::try_new(nodes, count, root_offsets, copied_indices(&numbers)?, device.zeros(count)?)?;
    roots.spmv_over::<MinPlus>(&numbers, &mut labels)?;
    let (offsets, columns, ones) = graph.into_parts()?;
    let edges = ones.len();
    drop(ones);
    let graph = DeviceCsr::try_new(nodes, nodes, offsets, columns, device.zeros(edges)?)?;
    let mut beside = constant(device, none, nodes)?;
    graph.add_spmv_over::<MinPlus>(&labels, &mut beside)?;
    // The aggregate of a neighbor has a number higher by `count`, so that a root beside the node wins.
    graph.set_values_from(&constant(device, count as u32, edges)?)?;
    labels.copy_from(&beside)?;
    graph.add_spmv_over::<MinPlus>(&beside, &mut labels)?;
    Ok(by_label(labels, count)?)
}

/// The matrix of aggregates from the label of each node: the number of its aggregate, the same plus `count`, or 2·`count` for
/// none.
fn by_label<V: Value>(labels: DeviceVec<u32>, count: usize) -> Result<DeviceCsr<V>, OpError> {
    let (device, nodes) = (labels.device().clone(), labels.len());
    let (offsets, _) = counted(&device, nodes)?;
    let mut ones = device.uninitialized(nodes)?;
    vector::fill(V::ONE, &mut ones)?;
    let all = DeviceCsr::try_new(nodes, 2 * count + 1, offsets, labels, ones)?;
    let first = all.submatrix(0..nodes, 0..count)?;
    first.spadd(V::ONE, &all.submatrix(0..nodes, count..2 * count)?, V::ONE)
}

/// Finds the states of a maximal set of nodes that are more than two edges apart: [`IN_SET`], or 0 for nodes outside.
fn independent_set(graph: &DeviceCsr<f64>, priorities: &DeviceSlice<f64>) -> Result<DeviceVec<f64>> {
    const FLAG: Map<f64> = Map::Clamp { low: 0.0, high: 1.0 };
    let device = graph.device();
    // Nodes without neighbors, which have one entry at most, are outside from the beginning.
    let mut states = graph.reduce_rows(Reduction::Count)?;
    vector::map(Map::Add(-1.0), &mut states)?;
    vector::map(FLAG, &mut states)?;
    vector::multiply_elements_in_place(priorities, &mut states)?;
    let nodes = states.len();
    let (mut near, mut far) = (device.zeros(nodes)?, device.zeros(nodes)?);
    for round in 1.. {
        graph.spmv_over::<MaxTimes>(&states, &mut near)?;
        graph.spmv_over::<MaxTimes>(&near, &mut far)?;
        // near = 1 where the node's own state is the highest and not 0.
        near.copy_from(&far)?;
        vector::axpby(-1.0, &states, 1.0, &mut near)?;
        vector::axpby(1.0, &states, -2.0 * IN_SET, &mut near)?;
        vector::map(FLAG, &mut near)?;
        // far = 1 where no node of the set is within two edges.
        vector::map(Map::Scale(-1.0), &mut far)?;
        vector::map(Map::Add(IN_SET), &mut far)?;
        vector::map(FLAG, &mut far)?;
        vector::multiply_elements_in_place(&far, &mut states)?;
        vector::axpby(IN_SET, &near, 1.0, &mut states)?;
        vector::map(Map::Clamp { low: 0.0, high: IN_SET }, &mut states)?;
        if round >= FIRST_ROUNDS && !has_undecided(&states, &mut near)? {
            break;
        }
    }
    Ok(states)
}

/// Returns whether a state is neither 0 nor [`IN_SET`].
fn has_undecided(states: &DeviceSlice<f64>, work: &mut DeviceSlice<f64>) -> Result<bool> {
    work.copy_from(states)?;
    vector::map(Map::Clamp { low: 0.0, high: 1.0 }, work)?;
    vector::axpby(-1.0, states, IN_SET, work)?;
    Ok(vector::max(work)? > 0.0)
}

/// The pattern of a matrix, with ones.
fn with_ones<V: Value>(a: &DeviceCsr<V>) -> Result<DeviceCsr<f64>> {
    let mut ones = a.device().uninitialized(a.nnz())?;
    vector::fill(1.0, &mut ones)?;
    let (offsets, columns) = (copied_indices(a.row_offsets())?, copied_indices(a.column_indices())?);
    Ok(DeviceCsr::try_new(a.nrows(), a.ncols(), offsets, columns, ones)?)
}

fn copied_indices(indices: &DeviceSlice<u32>) -> Result<DeviceVec<u32>, OpError> {
    let mut copy = indices.device().uninitialized(indices.len())?;
    copy.copy_from(indices)?;
    Ok(copy)
}

/// The numbers from 0 to `len`, with it and without.
fn counted(device: &Device, len: usize) -> Result<(DeviceVec<u32>, DeviceVec<u32>), OpError> {
    let (with, without, _) = DeviceCsr::<f32>::identity(device, len)?.into_parts()?;
    Ok((with, without))
}

/// A vector of equal numbers.
fn constant(device: &Device, value: u32, len: usize) -> Result<DeviceVec<u32>, OpError> {
    scan::values(&device.zeros(len)?, ScanOptions::exclusive(Operator::Sum).with_initial(value))
}
