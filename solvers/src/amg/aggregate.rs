//! Aggregates of strongly coupled nodes.

use evenpath::csr::{Filter, Reduction};
use evenpath::error::OpError;
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::semiring::{MaxTimes, MinPlus};
use evenpath::{Device, DeviceCsr, DeviceSlice, DeviceVec, Value, vector, vector::Map};

use crate::error::Result;
use crate::vectors::copied;

/// State of a node in the set, above all priorities.
const IN_SET: f64 = (1_u64 << 50) as f64;
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
    if nodes == 0 {
        return Ok(DeviceCsr::identity(device, 0)?);
    }
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
    let roots = DeviceCsr::try_new(nodes, count, root_offsets, copied(&numbers)?, device.zeros(count)?)?;
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
    let (offsets, columns) = (copied(a.row_offsets())?, copied(a.column_indices())?);
    Ok(DeviceCsr::try_new(a.nrows(), a.ncols(), offsets, columns, ones)?)
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

#[cfg(test)]
mod tests {
    use evenpath::Csr;
    use evenpath_tests::devices;

    use super::aggregate;
    use crate::amg::seeds::Seeds;

    /// The aggregate of each node, and their number, one node after the other: roots are found in the order of priorities.
    fn by_hand(neighbors: &[Vec<usize>], priorities: &[f64]) -> (Vec<Option<usize>>, usize) {
        let nodes = neighbors.len();
        let mut order: Vec<usize> = (0..nodes).filter(|&node| !neighbors[node].is_empty()).collect();
        order.sort_by(|&one, &two| priorities[two].total_cmp(&priorities[one]));
        let mut is_root = vec![false; nodes];
        for node in order {
            let is_near =
                |other: usize| is_root[other] || neighbors[other].iter().any(|&third| is_root[third]);
            is_root[node] = !is_near(node) && !neighbors[node].iter().any(|&other| is_near(other));
        }
        let mut beside = vec![None; nodes];
        let mut count = 0;
        for root in (0..nodes).filter(|&node| is_root[node]) {
            for node in neighbors[root].iter().copied().chain([root]) {
                assert_eq!(beside[node], None, "node {node} is beside two roots");
                beside[node] = Some(count);
            }
            count += 1;
        }
        let joined = |node: usize| {
            beside[node].or_else(|| neighbors[node].iter().filter_map(|&other| beside[other]).min())
        };
        ((0..nodes).map(joined).collect(), count)
    }

    /// Undirected graphs: a path, a star, a complete one, one without edges, and random ones with isolated nodes.
    fn graphs() -> Vec<(usize, Vec<(usize, usize)>)> {
        let path = (0..49).map(|node| (node, node + 1)).collect();
        let star = (0..70).filter(|&node| node != 5).map(|node| (5, node)).collect();
        let complete = (0..9).flat_map(|node| (0..node).map(move |other| (node, other))).collect();
        let random = |nodes: usize, edges: usize| {
            let mut state = nodes as u64;
            let mut next = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % nodes
            };
            (nodes, (0..edges).map(|_| (next(), next())).filter(|(one, two)| one != two).collect())
        };
        let fixed = [(1, vec![]), (2, vec![(0, 1)]), (50, path), (70, star), (9, complete), (33, vec![])];
        fixed.into_iter().chain([random(200, 90), random(300, 400), random(150, 1500)]).collect()
    }

    #[test]
    fn aggregates_are_those_found_one_after_the_other() {
        for (nodes, edges) in graphs() {
            let mut neighbors = vec![Vec::new(); nodes];
            for &(one, two) in &edges {
                neighbors[one].push(two);
                neighbors[two].push(one);
            }
            for of_node in &mut neighbors {
                of_node.sort_unstable();
                of_node.dedup();
            }
            let both = edges.iter().flat_map(|&(one, two)| [(one, two), (two, one)]);
            let entries = both.chain((0..nodes).map(|node| (node, node)));
            let graph: Csr<f32> =
                Csr::from_triplets(nodes, nodes, entries.map(|(row, column)| (row, column, 1.0))).unwrap();
            for under_test in devices() {
                let device = &under_test.device;
                let priorities = Seeds::<f32>::new(device, 0, nodes + 3).unwrap().priorities;
                let (expected, count) = by_hand(&neighbors, &priorities.download().unwrap());
                let found = aggregate(&device.upload(&graph).unwrap(), &priorities).unwrap();
                assert_eq!(found.shape(), (nodes, count), "{device}");
                let expected =
                    expected.into_iter().enumerate().filter_map(|(node, of)| Some((node, of?, 1.0)));
                assert!(found.download().unwrap().iter().eq(expected), "{device}, {nodes} nodes");
            }
        }
    }
}
