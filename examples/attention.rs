//! Graph attention: each vertex takes the mean of its neighbors' values, weighted by the softmax of the products of its query and
//! their keys. The matrix is the graph's pattern; its values do not matter. All steps stay on the device.
//!
//! ```sh
//! cargo run --release --example attention -- web-NotreDame.txt.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::error::OpError;
use evenpath::spmm::SpmmOptions;
use evenpath::{Csr, Device, DeviceDense, Layout};

/// Elements of a query, a key and a value.
const WIDTH: usize = 16;

fn main() -> ExitCode {
    support::on_graph(concat!(env!("CARGO_MANIFEST_DIR"), "/data/polblogs.mtx.gz"), attention)
}

fn attention(device: &Device, graph: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let numbers = |rows: usize, seed: f64| -> Vec<f64> {
        (0..rows * WIDTH).map(|at| ((at as f64 + seed) * 0.618).fract() * 4.0 - 2.0).collect()
    };
    let (rows, cols) = graph.shape();
    let (queries, keys, values) = (numbers(rows, 0.1), numbers(cols, 0.2), numbers(cols, 0.3));
    let q = DeviceDense::try_new(device.upload(&queries)?, rows, WIDTH, Layout::RowMajor)?;
    let k = DeviceDense::try_new(device.upload(&keys)?, WIDTH, cols, Layout::ColumnMajor)?; // the transpose
    let v = DeviceDense::try_new(device.upload(&values)?, cols, WIDTH, Layout::RowMajor)?;

    // Both plans are made once for a graph, and run for each layer and each step.
    let weights = device.upload(graph)?;
    let scores = weights.plan_sddmm()?;
    let mean = weights.plan_spmm(SpmmOptions::default().with_columns(WIDTH))?;
    let output = support::timed(device, || {
        let mut output = device.zeros_dense(rows, WIDTH, Layout::RowMajor)?;
        scores.run(1.0 / (WIDTH as f64).sqrt(), &q, &k, 0.0)?;
        weights.softmax_rows()?;
        mean.run(1.0, &v, 0.0, &mut output)?;
        Ok::<_, OpError>(output)
    })?;
    let output = output.into_vec().download()?;
    println!(
        "{device}: {WIDTH} elements for each of {rows} vertices; the first: {:.6?}",
        &output[..WIDTH.min(output.len())]
    );

    // The same on the host, vertex by vertex.
    let line = |of: &[f64], at: usize| of[at * WIDTH..][..WIDTH].to_vec();
    Ok((0..rows).zip(graph.iter_rows()).all(|(vertex, neighbors)| {
        let query = line(&queries, vertex);
        let dot = |key: &[f64]| query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>();
        let weight = |&to: &u32| (dot(&line(&keys, to as usize)) / (WIDTH as f64).sqrt()).exp();
        let weights: Vec<f64> = neighbors.columns().iter().map(weight).collect();
        let sum = weights.iter().sum::<f64>();
        (0..WIDTH).all(|at| {
            let of = |(&to, weight): (&u32, &f64)| weight / sum * values[to as usize * WIDTH + at];
            let expected: f64 = neighbors.columns().iter().zip(&weights).map(of).sum();
            (output[vertex * WIDTH + at] - expected).abs() <= 1e-11
        })
    }))
}
