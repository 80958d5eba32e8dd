//! PageRank of a directed graph by the power method: an entry (i, j) is a link from i to j, whatever its value. The default
//! is the graph of the links between political weblogs.
//!
//! ```sh
//! cargo run --release --example pagerank -- web-NotreDame.mtx.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, vector};

/// Probability that the random surfer follows a link instead of jumping to a random page.
const DAMPING: f64 = 0.85;
/// Change of the ranks in a step, in the 2-norm, at which the method stops.
const TOLERANCE: f64 = 1e-12;
const MAX_STEPS: usize = 1000;

fn main() -> ExitCode {
    support::on_matrix(concat!(env!("CARGO_MANIFEST_DIR"), "/data/polblogs.mtx.gz"), pagerank)
}

fn pagerank(device: &Device, links: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let pages = links.nrows();
    if links.ncols() != pages {
        return Err(
            format!("the matrix is {pages} x {}, but that of a graph is square", links.ncols()).into()
        );
    }
    // The surfer follows each link of a page with the same probability, and jumps from pages without links.
    let lengths: Vec<usize> = links.iter_rows().map(|row| row.len()).collect();
    let jump: Vec<f64> = lengths.iter().map(|&len| if len == 0 { 1.0 } else { 1.0 - DAMPING }).collect();
    let follow = links.iter().map(|(from, to, _)| (to, from, DAMPING / lengths[from] as f64));
    let follow: Csr<f64> = Csr::from_triplets(pages, pages, follow)?;
    let (ranks, steps) = rank(device, &follow, &jump)?;

    println!("{device}: {steps} steps; the first pages:");
    let mut order: Vec<usize> = (0..pages).collect();
    order.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
    for &page in order.iter().take(5) {
        println!("{page}: {:.9}", ranks[page]);
    }

    // One more step on the host leaves the ranks unchanged, and their sum is 1.
    let jumps: f64 = ranks.iter().zip(&jump).map(|(rank, jump)| rank * jump).sum();
    let squares = follow.iter_rows().zip(&ranks).map(|(row, rank)| {
        let followed: f64 = row.iter().map(|(from, probability)| probability * ranks[from as usize]).sum();
        (followed + jumps / pages as f64 - rank).powi(2)
    });
    let is_fixed = squares.sum::<f64>().sqrt() <= TOLERANCE + 1e-12;
    Ok(is_fixed && (pages == 0 || (ranks.iter().sum::<f64>() - 1.0).abs() <= 1e-9))
}

/// Returns the ranks, and the number of steps. The vectors stay on the device; the host reads two scalars per
/// step.
fn rank(device: &Device, follow: &Csr<f64>, jump: &[f64]) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let pages = jump.len();
    let plan = device.upload(follow)?.plan_spmv(SpmvOptions::default())?;
    let jump = device.upload(jump)?;
    let ones = device.upload(&vec![1.0; pages])?;
    let mut ranks = device.upload(&vec![1.0 / pages as f64; pages])?;
    let mut next = device.zeros(pages)?;
    for step in 1..=MAX_STEPS {
        // next = follow · ranks + jumps / pages
        let jumps = vector::dot(&jump, &ranks)?;
        next.copy_from(&ones)?;
        plan.run(1.0, &ranks, jumps / pages as f64, &mut next)?;
        // ranks = next − ranks, the step; then the two are swapped
        vector::axpby(1.0, &next, -1.0, &mut ranks)?;
        let moved = vector::dot(&ranks, &ranks)?.sqrt();
        std::mem::swap(&mut ranks, &mut next);
        if moved <= TOLERANCE {
            return Ok((ranks.download()?, step));
        }
    }
    Ok((ranks.download()?, MAX_STEPS))
}
