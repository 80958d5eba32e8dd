//! PageRank over ranks, by the power method: an entry (i, j) is a link from i to j, whatever its value. The
//! graph is a Matrix Market file, of which each rank parses a part, or an R-MAT graph of 2^scale pages, of
//! which each rank generates its rows.
//!
//! ```sh
//! cargo run --release --example distributed_pagerank -- --ranks 4 --scale 14
//! cargo run --release --example distributed_pagerank -- --ranks 4 examples/data/polblogs.mtx.gz
//! ```

mod support;

use std::process::ExitCode;

use evenpath::io::ReadOptions;
use evenpath::spmv::SpmvTransposedOptions;
use evenpath_distributed::generate::Rmat;
use evenpath_distributed::{DistributedCsr, DistributedVec, Rank};
use support::{Arguments, BoxedError};

/// Probability that the random surfer follows a link instead of jumping to a random page.
const DAMPING: f64 = 0.85;
/// Change of the ranks in a step, in the 2-norm, at which the method stops.
const TOLERANCE: f64 = 1e-12;
const MAX_STEPS: usize = 1000;

fn main() -> ExitCode {
    support::run("scale", |arguments: &Arguments| {
        let results = arguments.cluster()?.run(|rank| {
            let links = if let Some(file) = &arguments.file {
                DistributedCsr::read_matrix_market(rank, file, &ReadOptions::default())?
            } else {
                let scale = arguments.size.unwrap_or(if arguments.is_simulated() { 6 } else { 12 });
                let graph = Rmat::new(scale, 8.0, 1);
                DistributedCsr::from_fn(rank, graph.nrows(), graph.nrows(), |row, entries| {
                    graph.row(row, entries);
                })?
            };
            pagerank(rank, &links)
        })?;
        Ok(results.into_iter().all(|is_right| is_right))
    })
}

fn pagerank(rank: &Rank, links: &DistributedCsr<f64>) -> Result<bool, BoxedError> {
    let (pages, partition) = (links.nrows(), links.row_partition());
    if links.ncols() != pages {
        return Err(
            format!("the matrix is {pages} x {}, but that of a graph is square", links.ncols()).into()
        );
    }
    // The surfer follows each link of a page with the same probability, and jumps from pages without links.
    let own = links.download()?;
    let lengths: Vec<f64> = (0..own.nrows()).map(|page| own.row(page).0.len() as f64).collect();
    let follow: Vec<f64> = lengths.iter().map(|&len| if len == 0.0 { 0.0 } else { DAMPING / len }).collect();
    let jump: Vec<f64> = lengths.iter().map(|&len| if len == 0.0 { 1.0 } else { 1.0 - DAMPING }).collect();
    let follow = DistributedVec::from_local(rank, partition, &follow)?;
    let jump = DistributedVec::from_local(rank, partition, &jump)?;
    let pattern = DistributedCsr::from_rows(rank, partition, links.col_partition(), ones(&own)?)?;
    let plan = pattern.plan_spmv_transposed(SpmvTransposedOptions::default())?;

    let ones = DistributedVec::from_fn(rank, partition, |_| 1.0)?;
    let mut ranks = DistributedVec::from_fn(rank, partition, |_| 1.0 / pages as f64)?;
    let (mut sent, mut next) =
        (DistributedVec::zeros(rank, partition)?, DistributedVec::zeros(rank, partition)?);
    let mut steps = 0;
    let mut moved = f64::INFINITY;
    while moved > TOLERANCE && steps < MAX_STEPS {
        // next = Aᵀ (follow ∘ ranks) + jumps / pages
        let jumps = jump.dot(&ranks)?;
        sent.multiply_elements(&follow, &ranks)?;
        next.copy_from(&ones)?;
        plan.run(1.0, &sent, jumps / pages as f64, &mut next)?;
        ranks.axpby(1.0, &next, -1.0)?; // the step; then the two are swapped
        moved = ranks.norm2()?;
        std::mem::swap(&mut ranks, &mut next);
        steps += 1;
    }
    let (sum, nonzeros) = (ranks.dot(&ones)?, pattern.nnz()?);
    if let Some(ranks) = ranks.gather(0)? {
        println!(
            "{pages} pages, {nonzeros} links, {} processors of {}: {steps} steps; the first pages:",
            rank.size(),
            rank.device()
        );
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
        for &page in order.iter().take(5) {
            println!("{page}: {:.9}", ranks[page]);
        }
    }
    support::print_waits(rank)?;
    Ok(moved <= TOLERANCE && (pages == 0 || (sum - 1.0).abs() <= 1e-9))
}

/// Returns the same entries with values of 1.
fn ones(
    rows: &evenpath_distributed::RowBlock<f64>,
) -> Result<evenpath_distributed::RowBlock<f64>, BoxedError> {
    let values = vec![1.0; rows.nnz()];
    Ok(evenpath_distributed::RowBlock::new(rows.row_offsets().to_vec(), rows.columns().to_vec(), values)?)
}
