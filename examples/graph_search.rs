//! Distances from the vertex of most edges, and the triangles of an undirected graph: an entry (i, j) is an edge between i and j,
//! whatever its value. Takes edge lists too, as in SNAP's collection. The default is the graph of the links between political
//! weblogs.
//!
//! ```sh
//! cargo run --release --example graph_search -- web-NotreDame.txt.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::csr::Reduction;
use evenpath::error::OpError;
use evenpath::graph::{self, BfsOptions};
use evenpath::{Csr, Device, DeviceCsr, vector};

fn main() -> ExitCode {
    support::on_square_graph(concat!(env!("CARGO_MANIFEST_DIR"), "/data/polblogs.mtx.gz"), report)
}

fn report(device: &Device, links: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    if links.nrows() == 0 {
        println!("{device}: no vertices");
        return Ok(true);
    }
    let on_device = device.upload(links)?;
    let (edges, source, levels, triangles) = support::timed(device, || search(&on_device))?;
    for level in 0.. {
        match levels.iter().filter(|&&of_vertex| of_vertex == level).count() {
            0 => break,
            count => println!("{device}: {count} vertices at {level} edges from vertex {source}"),
        }
    }
    println!("{device}: {triangles} triangles");
    let edges = edges.download()?;
    Ok(is_right(&edges, &levels, source) && triangles == count(&edges))
}

/// Returns the undirected graph, a vertex of most edges, distances from there, and the number of triangles.
fn search(links: &DeviceCsr<f64>) -> Result<(DeviceCsr<f64>, usize, Vec<u32>, u64), OpError> {
    let edges = links.spadd(1.0, &links.transpose()?, 1.0)?; // in both directions
    let source = vector::argmax(&edges.reduce_rows(Reduction::Count)?)?.unwrap_or(0);
    let found = graph::bfs(&edges, source, BfsOptions::default().with_symmetric(true))?;
    let triangles = graph::count_triangles(&edges)?;
    Ok((edges, source, found.levels, triangles))
}

/// Returns whether the levels of neighbors differ by one at most, and each vertex but the source has a neighbor before it.
fn is_right(edges: &Csr<f64>, levels: &[u32], source: usize) -> bool {
    edges.iter_rows().enumerate().all(|(vertex, row)| {
        let near = || row.columns().iter().map(|&other| levels[other as usize]);
        let level = levels[vertex];
        let is_found = vertex == source
            || level == graph::NO_VERTEX
            || near().any(|other| other.checked_add(1) == Some(level));
        is_found && near().all(|other| other.abs_diff(level) <= 1) && (level == 0) == (vertex == source)
    })
}

/// Counts triangles: of each edge, the common neighbors that are greater than both of its vertices.
fn count(edges: &Csr<f64>) -> u64 {
    let row = |vertex: usize| edges.row(vertex).map_or(&[][..], |row| row.columns());
    let triangles = |(u, v, _)| {
        let is_third = |w: &&u32| u < v && **w as usize > v && row(v).binary_search(w).is_ok();
        row(u).iter().filter(is_third).count() as u64
    };
    edges.iter().map(triangles).sum()
}
