//! Markov clustering of a graph (van Dongen, Graph Clustering by Flow Simulation, 2000): a flow along the edges is spread
//! and made more uneven until it stops in each cluster. The default is the graph of the links between political weblogs.

mod support;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use evenpath::csr::{Filter, Reduction};
use evenpath::error::OpError;
use evenpath::spgemm::SpgemmOptions;
use evenpath::vector::{self, Map};
use evenpath::{Csr, Device, DeviceCsr};

fn main() -> ExitCode {
    support::on_graph(concat!(env!("CARGO_MANIFEST_DIR"), "/data/polblogs.mtx.gz"), markov_clustering)
}

fn markov_clustering(device: &Device, graph: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let graph = device.upload(graph)?;
    graph.map_values(Map::Abs)?;
    let (flow, steps, change) = support::timed(device, || flow(&graph))?;

    // The vertices of a cluster flow to the same attractors, which keep their flow.
    let flow = flow.download()?;
    let mut clusters: BTreeMap<Option<&u32>, Vec<usize>> = BTreeMap::new();
    for (vertex, attractors) in flow.iter_rows().enumerate() {
        clusters.entry(attractors.columns().first()).or_default().push(vertex);
    }
    let mut clusters: Vec<_> = clusters.into_values().collect();
    clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
    println!("{device}: {steps} steps, {} clusters; the first vertices of the largest:", clusters.len());
    for cluster in clusters.iter().take(5) {
        println!("{} vertices: {:?}", cluster.len(), &cluster[..cluster.len().min(10)]);
    }
    let is_kept = flow.iter().all(|(_, attractor, _)| flow.get(attractor, attractor) > Some(0.0));
    Ok(change <= 1e-9 && is_kept)
}

/// Returns the flow when it does not change any more, the number of steps, and the last change.
fn flow(graph: &DeviceCsr<f64>) -> Result<(DeviceCsr<f64>, usize, f64), OpError> {
    // Edges in both directions, and a loop at each vertex. Row i is the flow out of vertex i: the matrix of the
    // publication, transposed.
    let loops = DeviceCsr::identity(graph.device(), graph.nrows())?;
    let mut flow = graph.spadd(0.5, &graph.transpose()?, 0.5)?.spadd(1.0, &loops, 1.0)?;
    normalize(&flow)?;
    let (mut steps, mut change) = (0, f64::INFINITY);
    while change > 1e-9 && steps < 200 {
        let next = flow.spgemm(&flow, SpgemmOptions::default())?.filter(Filter::LargestOfRow(100))?; // expansion
        next.update_values(|squares| vector::multiply_elements(&next.values(), &next.values(), squares))?; // inflation
        normalize(&next)?;
        let next = next.filter(Filter::AbsAbove(1e-5))?;
        change = vector::norm_max(&next.spadd(1.0, &flow, -1.0)?.values())?;
        (flow, steps) = (next, steps + 1);
    }
    Ok((flow, steps, change))
}

/// Divides each row by its sum.
fn normalize(flow: &DeviceCsr<f64>) -> Result<(), OpError> {
    let mut sums = flow.reduce_rows(Reduction::Sum)?;
    vector::map(Map::Reciprocal, &mut sums)?;
    flow.scale_rows(&sums)
}
