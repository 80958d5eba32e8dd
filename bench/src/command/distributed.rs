//! Strong and weak scaling of products and of conjugate gradients over ranks of this machine, which are threads, beside what a model
//! predicts from constants that are measured first.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath_distributed::{Cluster, Engine};

use crate::columns::{head, line};
use crate::distributed::{Format, Measured, Op, Row, Settings, measure, measure_constants};
use crate::plot::{Axis, Mark, Plot, Series};
use crate::scale::{Machine, Problem, Volumes};
use crate::statistics::median;

/// Longer than a rank makes its rows without a message.
const TIMEOUT: Duration = Duration::from_mins(5);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The matrix, computed row by row: stencil5:SIDE, stencil7:SIDE, stencil27:SIDE or rmat:SCALE, with 16 edges a vertex. For weak
    /// scaling, that of one rank; grids grow with the ranks, and graphs have no weak scaling.
    #[arg(long, value_name = "KIND", default_value = "stencil5:1000")]
    generate: Problem,
    /// Strong scaling: the same matrix for any number of ranks. Weak scaling: as many rows for each rank.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Scaling::Strong, Scaling::Weak])]
    scaling: Vec<Scaling>,
    /// Operation measured: products, or steps of conjugate gradients, of which there is a fixed number.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Op::Spmv])]
    op: Vec<Op>,
    /// Numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4],
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Vec<u32>,
    /// Device of each rank: cpu, simulated, or cuda, where rank i has GPU i.
    #[arg(long, value_enum, default_value_t = RankDevice::Cpu)]
    device: RankDevice,
    /// Rounds that are timed, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Products in a round.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    products: u32,
    /// Steps of conjugate gradients in a round.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    steps: u32,
    /// Storage and division of the matrix: its rows, or the subtrees of a HiSparse tree.
    #[arg(long, value_enum, default_value_t = Format::Csr)]
    format: Format,
    /// Engine that carries elements from GPU to GPU.
    #[arg(long, value_enum, default_value_t = EngineName::Auto)]
    engine: EngineName,
    /// Plot the times as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Append one JSON object per line to a file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scaling {
    Strong,
    Weak,
}

impl Scaling {
    fn name(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RankDevice {
    Cpu,
    Simulated,
    Cuda,
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

/// The outputs for rows.
struct Output {
    table: io::Stdout,
    file: Option<File>,
    is_json: bool,
    has_head: bool,
    has_wrong: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let scalings = arguments.scalings()?;
    let mut output = Output::new(arguments)?;
    let most = arguments.ranks.iter().copied().max().unwrap_or(1);
    let cluster = |ranks| if ranks <= most { arguments.cluster(ranks).map(Some) } else { Ok(None) };
    let machines = measure_constants(cluster)?;
    output.begin(&machines)?;
    let mut series = Vec::new();
    for scaling in scalings {
        series.extend(measure_all(arguments, scaling, machines, &mut output)?);
    }
    if let Some(path) = &arguments.plot {
        let svg = plot(arguments, series).to_svg();
        std::fs::write(path, svg).map_err(|error| named(path, &error))?;
    }
    Ok(if output.has_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn named(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

impl Arguments {
    /// The ways of scaling that the matrix has.
    fn scalings(&self) -> Result<Vec<Scaling>, String> {
        let can_grow = self.generate.grown(1.0).is_some();
        let all = self.scaling.iter().copied();
        let scalings: Vec<Scaling> = all.filter(|&scaling| can_grow || scaling == Scaling::Strong).collect();
        if scalings.is_empty() {
            return Err(format!("{} has no weak scaling", self.generate));
        }
        if self.op.contains(&Op::Cg) && !self.generate.is_positive_definite() {
            return Err(format!("{} is not positive definite", self.generate));
        }
        Ok(scalings)
    }

    fn cluster(&self, ranks: u32) -> Result<Cluster, Box<dyn Error>> {
        let devices: Vec<Device> = (0..ranks).map(|rank| self.device.open(rank)).collect::<Result<_, _>>()?;
        Ok(Cluster::local(devices)?.with_engine(self.engine.into()).with_timeout(TIMEOUT))
    }

    fn settings(&self) -> Settings {
        let Self { format, rounds, products, steps, .. } = *self;
        let steps = if self.op.contains(&Op::Cg) { steps } else { 0 };
        Settings { format, rounds, products, steps }
    }
}

/// Measures all numbers of ranks. Returns the series of the plot.
fn measure_all(
    arguments: &Arguments,
    scaling: Scaling,
    [mut one, mut several]: [Machine; 2],
    output: &mut Output,
) -> Result<Vec<Series>, Box<dyn Error>> {
    // By operation: the first number of ranks, which need not be 1, and its nonzeros per µs.
    let mut firsts: Vec<Option<(f64, f64)>> = vec![None; arguments.op.len()];
    let mut points: Vec<Vec<Point>> = arguments.op.iter().map(|_| Vec::new()).collect();
    for &ranks in &arguments.ranks {
        let times = if scaling == Scaling::Weak { f64::from(ranks) } else { 1.0 };
        let problem = arguments.generate.grown(times).unwrap_or(arguments.generate);
        let measured: Vec<Measured> =
            arguments.cluster(ranks)?.run(|rank| measure(rank, problem, arguments.settings()))?;
        let volumes = Volumes { ranks: measured.iter().map(|rank| rank.volume).collect() };
        if let [alone] = &measured[..] {
            let us = median(&alone.local.us);
            (one, several) =
                (one.with_product(&volumes.ranks[0], 8, us), several.with_product(&volumes.ranks[0], 8, us));
        }
        let machine = if ranks == 1 { one } else { several };
        for (at, &op) in arguments.op.iter().enumerate() {
            let row = Row {
                problem,
                scaling: scaling.name(),
                op,
                format: arguments.format,
                ranks: &measured,
                volumes: &volumes,
                machine: (arguments.format == Format::Csr).then_some(machine),
            };
            let first = *firsts[at].get_or_insert((f64::from(ranks), row.rate()));
            let ideal = row.nonzeros() as f64 / (first.1 * f64::from(ranks) / first.0);
            points[at].push(Point { ranks: f64::from(ranks), time: row.us(), ideal });
            output.write(&row, first)?;
        }
    }
    Ok(arguments.op.iter().zip(points).flat_map(|(&op, points)| lines(scaling, op, &points)).collect())
}

impl Output {
    fn new(arguments: &Arguments) -> Result<Self, String> {
        let append = |path: &PathBuf| {
            let file = File::options().append(true).create(true).open(path);
            file.map_err(|error| named(path, &error))
        };
        let file = arguments.out.as_ref().map(append).transpose()?;
        Ok(Self { table: io::stdout(), file, is_json: arguments.json, has_head: false, has_wrong: false })
    }

    /// Prints the measured constants of the model.
    fn begin(&mut self, [one, several]: &[Machine; 2]) -> io::Result<()> {
        if self.is_json {
            return Ok(());
        }
        writeln!(self.table, "the model, on one rank: {one}")?;
        writeln!(self.table, "the model, on several:  {several}")
    }

    fn write(&mut self, row: &Row<'_>, first: (f64, f64)) -> io::Result<()> {
        self.has_wrong |= row.wrong().is_some();
        let object = row.json(first).to_string();
        if let Some(file) = &mut self.file {
            writeln!(file, "{object}")?;
        }
        if self.is_json {
            return writeln!(self.table, "{object}");
        }
        let cells = row.cells(first);
        if !std::mem::replace(&mut self.has_head, true) {
            writeln!(self.table, "{}", head(&cells))?;
        }
        writeln!(self.table, "{}", line(&cells))?;
        row.remarks().iter().try_for_each(|remark| writeln!(self.table, "{remark}"))
    }
}

/// A measurement, for the plot.
struct Point {
    ranks: f64,
    /// µs.
    time: f64,
    /// Value that it would have if ranks cost nothing.
    ideal: f64,
}

/// Measurements of a way of scaling, and the ideal.
fn lines(scaling: Scaling, op: Op, points: &[Point]) -> [Series; 2] {
    let (name, op) = (scaling.name(), op.name());
    let line = |name: String, time: fn(&Point) -> f64| Series {
        name,
        mark: Mark::Line,
        points: points.iter().map(|point| (point.ranks, time(point))).collect(),
    };
    [
        line(format!("{name} scaling, {op}"), |point| point.time),
        line(format!("{name}, ideal, {op}"), |point| point.ideal),
    ]
}

fn plot(arguments: &Arguments, series: Vec<Series>) -> Plot {
    Plot {
        title: format!("{} over ranks, as {}", arguments.generate, arguments.format.name()),
        x: Axis::log("ranks"),
        y: Axis::log("µs, median"),
        series,
    }
}
