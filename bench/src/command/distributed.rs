//! Strong and weak scaling of products over ranks of this machine, which are threads.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath::hisparse::{HiSparseOptions, HiSparseSpmvOptions};
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::generate::Stencil;
use evenpath_distributed::{Cluster, DistributedCsr, DistributedHiSparse, DistributedVec, Engine, Rank};
use serde_json::json;

use crate::plot::{Axis, Mark, Plot, Series};
use crate::statistics::{median, spread};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Side of the square grid, whose five-point stencil is multiplied: of all ranks (strong scaling), or of each (weak scaling).
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    side: u32,
    /// Numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4],
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Vec<u32>,
    /// Where each rank runs: cpu, simulated, or cuda, where rank i has GPU i.
    #[arg(long, value_enum, default_value_t = RankDevice::Cpu)]
    device: RankDevice,
    /// Rounds that are timed, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Products in a round.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    products: u32,
    /// How the matrix is stored and divided: its rows, or the subtrees of a HiSparse tree.
    #[arg(long, value_enum, default_value_t = Format::Csr)]
    format: Format,
    /// What carries elements from GPU to GPU.
    #[arg(long, value_enum, default_value_t = EngineName::Auto)]
    engine: EngineName,
    /// Plot the times of a product as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// One JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RankDevice {
    Cpu,
    Simulated,
    Cuda,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Csr,
    Hisparse,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Hisparse => "hisparse",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EngineName {
    Auto,
    Host,
    Nccl,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Auto => Self::Auto,
            EngineName::Host => Self::Host,
            EngineName::Nccl => Self::Nccl,
        }
    }
}

impl RankDevice {
    fn open(self, rank: u32) -> Result<Device, evenpath::error::DeviceError> {
        match self {
            Self::Cpu => Ok(Device::cpu()),
            Self::Simulated => Ok(Device::simulated(SimulatedOptions::default())),
            // The primary context is the one that NCCL works in.
            Self::Cuda => Device::cuda_primary(rank),
        }
    }
}

/// What rank 0 measured.
struct Measured {
    rows: u64,
    /// µs of one product, round by round.
    product: Vec<f64>,
    /// µs of one inner product, round by round.
    dot: Vec<f64>,
    /// The part of the time of all that rank 0 waited.
    waited: f64,
    /// What carried elements.
    engine: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    if !arguments.json {
        writeln!(
            out,
            "{:>7} {:>6} {:>11} {:>12} {:>7} {:>9} {:>7} {:>7} {:>6}  engine",
            "scaling", "ranks", "rows", "product µs", "spread", "dot µs", "spread", "waited", "eff."
        )?;
    }
    let mut series = Vec::new();
    for is_weak in [false, true] {
        let mut alone: Option<(f64, f64)> = None;
        let mut points = Vec::new();
        for &ranks in &arguments.ranks {
            let measured = measure(arguments, ranks, is_weak)?;
            let time = median(&measured.product);
            // Of the first number of ranks, which need not be 1.
            let (first_ranks, first_time) = *alone.get_or_insert((f64::from(ranks), time));
            let work = if is_weak { 1.0 } else { first_ranks / f64::from(ranks) };
            points.push(Point { ranks: f64::from(ranks), time, ideal: first_time * work });
            write(&mut out, arguments, is_weak, ranks, &measured, first_time * work / time)?;
        }
        series.extend(lines(is_weak, &points));
    }
    if let Some(path) = &arguments.plot {
        let svg = plot(arguments, series).to_svg();
        std::fs::write(path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A measurement, for the plot.
struct Point {
    ranks: f64,
    /// µs of one product.
    time: f64,
    /// What it would be if ranks cost nothing.
    ideal: f64,
}

/// What was measured of a way of scaling, and the ideal.
fn lines(is_weak: bool, points: &[Point]) -> [Series; 2] {
    let name = scaling(is_weak);
    let line = |name: String, time: fn(&Point) -> f64| Series {
        name,
        mark: Mark::Line,
        points: points.iter().map(|point| (point.ranks, time(point))).collect(),
    };
    [line(format!("{name} scaling"), |point| point.time), line(format!("{name}, ideal"), |point| point.ideal)]
}

fn plot(arguments: &Arguments, series: Vec<Series>) -> Plot {
    let (side, format) = (arguments.side, arguments.format.name());
    Plot {
        title: format!("A product with the five-point stencil, {side} x {side} points, as {format}"),
        x: Axis::log("ranks"),
        y: Axis::log("µs of a product, median"),
        series,
    }
}

fn scaling(is_weak: bool) -> &'static str {
    if is_weak { "weak" } else { "strong" }
}

fn write(
    out: &mut impl Write,
    arguments: &Arguments,
    is_weak: bool,
    ranks: u32,
    measured: &Measured,
    efficiency: f64,
) -> io::Result<()> {
    let Measured { rows, product, dot, waited, engine } = measured;
    let scaling = scaling(is_weak);
    let (product_us, dot_us) = (median(product), median(dot));
    let (product_spread, dot_spread) = (spread(product), spread(dot));
    if arguments.json {
        let fields = json!({
            "scaling": scaling, "ranks": ranks, "rows": rows, "product_us": product_us, "product_spread": product_spread,
            "dot_us": dot_us, "dot_spread": dot_spread, "waited": waited, "efficiency": efficiency,
            "format": arguments.format.name(), "engine": engine,
        });
        return writeln!(out, "{fields}");
    }
    writeln!(
        out,
        "{scaling:>7} {ranks:>6} {rows:>11} {product_us:>12.1} {:>6.1}% {dot_us:>9.1} {:>6.1}% {:>6.1}% {efficiency:>6.2}  {engine}",
        product_spread * 1e2,
        dot_spread * 1e2,
        waited * 1e2,
    )
}

fn measure(arguments: &Arguments, ranks: u32, is_weak: bool) -> Result<Measured, Box<dyn Error>> {
    let devices: Vec<Device> =
        (0..ranks).map(|rank| arguments.device.open(rank)).collect::<Result<_, _>>()?;
    // A grid with as many times the points as there are ranks, about.
    let grow = if is_weak { f64::from(ranks).sqrt() } else { 1.0 };
    let grid = Stencil::five_point((f64::from(arguments.side) * grow).round() as u32);
    let results = Cluster::local(devices)?
        .with_engine(arguments.engine.into())
        .run(|rank| measure_rank(rank, grid, arguments))?;
    Ok(results.into_iter().next().ok_or("the cluster has no ranks")?)
}

fn measure_rank(
    rank: &Rank,
    grid: Stencil,
    arguments: &Arguments,
) -> Result<Measured, evenpath_distributed::Error> {
    let (rounds, products) = (arguments.rounds, arguments.products);
    let a = DistributedCsr::from_fn(rank, grid.rows(), grid.rows(), |row, entries| grid.row(row, entries))?;
    let x = DistributedVec::from_fn(rank, a.col_partition(), |index| (index % 7) as f64)?;
    let mut y = DistributedVec::zeros(rank, a.row_partition())?;
    let mut multiply = product(&a, arguments.format)?;
    let waited = || rank.traffic().iter().map(|traffic| traffic.waited.as_secs_f64()).sum::<f64>();
    let timed = |work: &mut dyn FnMut() -> Result<(), evenpath_distributed::Error>| {
        let mut times = Vec::new();
        for round in 0..=rounds {
            rank.device().synchronize()?;
            rank.barrier()?;
            let start = Instant::now();
            for _ in 0..products {
                work()?;
            }
            rank.device().synchronize()?;
            // All are done.
            rank.barrier()?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(products));
            }
        }
        Ok::<_, evenpath_distributed::Error>(times)
    };
    let (start, waited_before) = (Instant::now(), waited());
    let product = timed(&mut || multiply(&x, &mut y))?;
    let waited = (waited() - waited_before) / start.elapsed().as_secs_f64();
    let dot = timed(&mut || x.dot(&x).map(|_| ()))?;
    let engine = rank.exchange().to_string();
    Ok(Measured { rows: grid.rows(), product, dot, waited, engine })
}

type Product =
    Box<dyn FnMut(&DistributedVec<f64>, &mut DistributedVec<f64>) -> evenpath_distributed::error::Result<()>>;

/// y = Ax, with the matrix in a format.
fn product(a: &DistributedCsr<f64>, format: Format) -> Result<Product, evenpath_distributed::Error> {
    match format {
        Format::Csr => {
            let mut plan = a.plan_spmv(SpmvOptions::default())?;
            Ok(Box::new(move |x, y| plan.run(1.0, x, 0.0, y)))
        }
        Format::Hisparse => {
            let a: DistributedHiSparse<f64> = a.to_hisparse(HiSparseOptions::default())?;
            let mut plan = a.plan_spmv(HiSparseSpmvOptions::default())?;
            Ok(Box::new(move |x, y| plan.run(1.0, x, 0.0, y)))
        }
    }
}
