//! PageRank of a directed graph by the power method, and a plot of how it converges. By default, the graph is that of the links
//! between political weblogs.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, vector};
use serde_json::json;

use crate::arguments::CommonArguments;
use crate::plot::Plot;
use crate::report::Report;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Read the graph from a Matrix Market file: an entry (i, j) is a link from i to j, regardless of its value.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/data/polblogs.mtx.gz"))]
    matrix: PathBuf,
    /// Damping: the probability of following a link instead of jumping to a random node, at least 0 and less than 1.
    #[arg(long, value_name = "D", default_value_t = 0.85, value_parser = damping)]
    damping: f64,
    /// Stop when the 2-norm of a step is this small.
    #[arg(long, value_name = "R", default_value_t = 1e-12)]
    tolerance: f64,
    /// Maximum number of steps.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    steps: usize,
    /// Nodes of highest rank to print.
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
    /// Plot the norms of the steps as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArguments,
}

fn damping(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(number),
        _ => Err("a number of at least 0 and less than 1".into()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let links: Csr<f64> = evenpath::io::read_matrix_market(&arguments.matrix)?;
    if links.nrows() != links.ncols() {
        return Err(format!(
            "the matrix of a graph must be square, but is {} x {}",
            links.nrows(),
            links.ncols()
        )
        .into());
    }
    let device = arguments.common.device.open()?;
    let chain = Chain::new(links, arguments.damping);

    let start = Instant::now();
    let ranked = rank(&device, &chain, arguments.tolerance, arguments.steps)?;
    let seconds = start.elapsed().as_secs_f64();

    let mut report = Report::new(arguments.common.json, chain.check(&ranked.ranks, arguments.tolerance)?);
    report.matrix(&arguments.matrix.display().to_string(), &chain.incoming);
    report.device(&device);
    let (steps, ms) = (ranked.lengths.len(), seconds * 1e3);
    report.line(
        "ranked",
        format_args!("{steps} steps in {ms:.1} ms, {:.4} ms per step", ms / steps.max(1) as f64),
        json!({ "steps": steps, "ms": ms, "lengths": ranked.lengths }),
    );
    let mut nodes: Vec<usize> = (0..ranked.ranks.len()).collect();
    nodes.sort_by(|&a, &b| ranked.ranks[b].total_cmp(&ranked.ranks[a]));
    for &node in nodes.iter().take(arguments.top) {
        report.line("node", format_args!("{node}: {:.6}", ranked.ranks[node]), json!({}));
    }
    let top: Vec<_> = nodes.iter().take(arguments.top).map(|&node| (node, ranked.ranks[node])).collect();
    report.line("sum", format_args!("{:.12}", ranked.ranks.iter().sum::<f64>()), json!({ "top": top }));
    if let Some(path) = &arguments.plot {
        let name = format!("{} nodes, {} links", chain.incoming.nrows(), chain.incoming.nnz());
        let plot =
            Plot::of_steps("PageRank by the power method", "length of the step", name, (1, &ranked.lengths));
        report.drawing("plot", path, &plot.to_svg())?;
    }
    Ok(report)
}

/// A random surfer (Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking", 1999), who follows a random link of a
/// page or jumps to a random page; a page without links always jumps.
struct Chain {
    /// At (j, i), the damped probability of the link from i to j.
    incoming: Csr<f64>,
    /// For each page, the probability of a jump.
    anywhere: Vec<f64>,
}

/// Ranks, and the 2-norm of each step.
struct Ranked {
    ranks: Vec<f64>,
    lengths: Vec<f64>,
}

impl Chain {
    fn new(mut links: Csr<f64>, damping: f64) -> Self {
        let lengths: Vec<usize> = links.iter_rows().map(|row| row.len()).collect();
        let probabilities = lengths.iter().flat_map(|&len| std::iter::repeat_n(damping / len as f64, len));
        links.values_mut().iter_mut().zip(probabilities).for_each(|(value, damped)| *value = damped);
        let anywhere = lengths.iter().map(|&len| if len == 0 { 1.0 } else { 1.0 - damping }).collect();
        Self { incoming: links.transpose().expect("memory for a transpose"), anywhere }
    }

    /// Checks that one more step, on the host, does not change the ranks beyond the tolerance.
    fn check(&self, ranks: &[f64], tolerance: f64) -> Result<Result<(), String>, Box<dyn Error>> {
        let jumps: f64 = ranks.iter().zip(&self.anywhere).map(|(rank, anywhere)| rank * anywhere).sum();
        let followed = (&self.incoming * ranks)?;
        let squares = followed.iter().zip(ranks).map(|(followed, rank)| {
            let next = followed + jumps / ranks.len() as f64;
            (next - rank) * (next - rank)
        });
        let length = squares.sum::<f64>().sqrt();
        let sum: f64 = ranks.iter().sum();
        Ok(if length > tolerance + 1e-12 {
            Err(format!("another step has a norm of {length:.2e}, more than the tolerance {tolerance:.2e}"))
        } else if !ranks.is_empty() && (sum - 1.0).abs() > 1e-9 {
            Err(format!("the ranks add up to {sum}, not 1"))
        } else {
            Ok(())
        })
    }
}

/// The power method. All but two scalars per step stay on the device.
fn rank(device: &Device, chain: &Chain, tolerance: f64, steps: usize) -> Result<Ranked, Box<dyn Error>> {
    let pages = chain.incoming.nrows();
    let incoming = device.upload(&chain.incoming)?;
    let anywhere = device.upload(&chain.anywhere)?;
    let ones = device.upload(&vec![1.0; pages])?;
    let plan = incoming.plan_spmv(SpmvOptions::default())?;
    let mut ranks = device.upload(&vec![1.0 / pages as f64; pages])?;
    let mut next = device.zeros(pages)?;
    let mut lengths = Vec::new();
    while lengths.len() < steps && lengths.last().is_none_or(|&length| length > tolerance) {
        let jumps = vector::dot(&anywhere, &ranks)?;
        next.copy_from(&ones)?;
        plan.run(1.0, &ranks, jumps / pages as f64, &mut next)?;
        vector::axpby(1.0, &next, -1.0, &mut ranks)?; // the step
        lengths.push(vector::dot(&ranks, &ranks)?.sqrt());
        std::mem::swap(&mut ranks, &mut next);
    }
    Ok(Ranked { ranks: ranks.download()?, lengths })
}
