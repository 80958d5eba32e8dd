//! PageRank of a directed graph by the power method: an entry (i, j) is a link from i to j, whatever its value. Takes
//! edge lists too, as in SNAP's collection. The default is the graph of the links between political weblogs.
//!
//! ```sh
//! cargo run --release --example pagerank -- web-NotreDame.txt.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::csr::Reduction;
use evenpath::error::OpError;
use evenpath::spmv::SpmvOptions;
use evenpath::vector::{self, Map};
use evenpath::{Csr, Device, DeviceCsr};

/// Probability that the random surfer follows a link instead of jumping to a random page.
const DAMPING: f64 = 0.85;
/// Change of the ranks in a step, in the 2-norm, at which the method stops.
const TOLERANCE: f64 = 1e-12;
const MAX_STEPS: usize = 1000;

fn main() -> ExitCode {
    support::on_square_graph(concat!(env!("CARGO_MANIFEST_DIR"), "/data/polblogs.mtx.gz"), pagerank)
}

fn pagerank(device: &Device, links: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let on_device = device.upload(links)?;
    let (ranks, steps) = support::timed(device, || rank(&on_device))?;
    println!("{device}: {steps} steps; the first pages:");
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
    for &page in order.iter().take(5) {
        println!("{page}: {:.9}", ranks[page]);
    }
    Ok(is_right(links, &ranks))
}

/// Returns the ranks, and the number of steps. Everything stays on the device; the host reads two scalars per step.
fn rank(links: &DeviceCsr<f64>) -> Result<(Vec<f64>, usize), OpError> {
    let (device, pages) = (links.device(), links.nrows());
    // The surfer follows each link of a page with the same probability, DAMPING / links, and jumps from pages without.
    let mut probabilities = links.reduce_rows(Reduction::Count)?;
    vector::map(Map::Reciprocal, &mut probabilities)?; // infinite for pages without links, whose columns are empty
    let follow = links.transpose()?;
    follow.update_values(|values| vector::fill(DAMPING, values))?;
    follow.scale_columns(&probabilities)?;
    let mut jump = links.reduce_rows(Reduction::Count)?;
    for map in [Map::Clamp { low: 0.0, high: 1.0 }, Map::Scale(-DAMPING), Map::Add(1.0)] {
        vector::map(map, &mut jump)?; // 1 for pages without links, 1 − DAMPING for others
    }

    let plan = follow.plan_spmv(SpmvOptions::default())?;
    let (mut ranks, mut next) = (device.upload(&vec![1.0 / pages as f64; pages])?, device.zeros(pages)?);
    let (mut steps, mut moved) = (0, f64::INFINITY);
    while moved > TOLERANCE && steps < MAX_STEPS {
        vector::fill(vector::dot(&jump, &ranks)? / pages as f64, &mut next)?;
        plan.run(1.0, &ranks, 1.0, &mut next)?;
        vector::axpby(1.0, &next, -1.0, &mut ranks)?; // the step
        (steps, moved) = (steps + 1, vector::norm2(&ranks)?);
        std::mem::swap(&mut ranks, &mut next);
    }
    Ok((ranks.download()?, steps))
}

/// Returns whether one more step on the host leaves the ranks unchanged, and their sum is 1.
fn is_right(links: &Csr<f64>, ranks: &[f64]) -> bool {
    let (mut jumps, pages) = (0.0, ranks.len());
    let mut change: Vec<f64> = ranks.iter().map(|rank| -rank).collect();
    for (links, rank) in links.iter_rows().zip(ranks) {
        jumps += if links.is_empty() { *rank } else { (1.0 - DAMPING) * rank };
        links.iter().for_each(|(to, _)| change[to as usize] += DAMPING * rank / links.len() as f64);
    }
    let squares = change.iter().map(|change| (change + jumps / pages as f64).powi(2));
    squares.sum::<f64>().sqrt() <= TOLERANCE + 1e-12
        && (pages == 0 || (ranks.iter().sum::<f64>() - 1.0).abs() <= 1e-9)
}
