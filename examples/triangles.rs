//! Triangles of an undirected graph: the sum of L ∘ (LL), where L is the lower triangle of its matrix. Only products at the entries of L
//! are multiplied. An entry of the matrix is an edge, whatever its value and direction; edge lists are read too.
//!
//! ```sh
//! cargo run --release --example triangles -- web-NotreDame.txt.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, vector};

fn main() -> ExitCode {
    support::on_graph(concat!(env!("CARGO_MANIFEST_DIR"), "/data/polblogs.mtx.gz"), triangles)
}

fn triangles(device: &Device, graph: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let graph = device.upload(graph)?;
    let lower = graph.spadd(1.0, &graph.transpose()?, 1.0)?.tril(-1)?;
    lower.update_values(|values| vector::fill(1.0, values))?;
    let count = || -> Result<f64, Box<dyn Error>> {
        let between = lower.spgemm_masked(&lower, &lower, SpgemmOptions::default())?;
        Ok(vector::sum(&between.values())?)
    };
    let found = count()?;
    let start = Instant::now();
    count()?; // again, now that the kernels are loaded
    let ms = start.elapsed().as_secs_f64() * 1e3;
    println!("{device}: {found} triangles of {} edges in {ms:.3} ms", lower.nnz());

    // On the host: common neighbors of the ends of each edge, by a mark for each neighbor of one.
    let lower = lower.download()?;
    let mut marked = vec![false; lower.nrows()];
    let mut expected = 0_u64;
    for row in lower.iter_rows() {
        row.columns().iter().for_each(|&to| marked[to as usize] = true);
        for &to in row.columns() {
            let next = lower.row(to as usize).ok_or("an edge to no vertex")?;
            expected += next.columns().iter().filter(|&&end| marked[end as usize]).count() as u64;
        }
        row.columns().iter().for_each(|&to| marked[to as usize] = false);
    }
    Ok(found as u64 == expected)
}
