//! What one call of each operation takes the host, beside what the driver takes of it, and what it takes in a graph.
//!
//! Operands are small, so that the device is done before the host has asked for the next.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{HiSparseOptions, HiSparseQueuedOptions, HiSparseSpmvMethod, HiSparseSpmvOptions};
use evenpath::scan::{Operator, Scan};
use evenpath::sets::{self, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::spgemm::SpgemmOptions;
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceVec, Layout, merge, reduce, vector};
use serde_json::json;

use crate::arguments::DeviceChoice;
use crate::input::random_vector;
use crate::statistics::{median, spread};

/// Rounds that are timed, after one that is not.
const ROUNDS: usize = 15;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Measure only operations with this in their name. Can be given several times.
    #[arg(long, value_name = "FILTER")]
    op: Vec<String>,
    /// The kind of matrix, a square one. Vectors have as many elements as it has rows.
    #[arg(long, value_name = "KIND", default_value = "uniform:10000")]
    generate: Kind,
    /// Calls in a round.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    calls: u32,
    /// Where to run: best, cuda:0 (or another number), cpu, simulated.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    device: DeviceChoice,
    /// One JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

/// A call that is ready to be made as often as needed.
type Call<'o> = Box<dyn FnMut() -> Result<(), OpError> + Send + 'o>;

/// What the operations work on.
struct Operands {
    device: Device,
    matrix: DeviceCsr<f64>,
    x: DeviceVec<f64>,
    keys: DeviceVec<u32>,
}

impl Operands {
    fn new(device: &Device, kind: Kind) -> Result<Self, Box<dyn Error>> {
        let host: Csr<f64> = generate(kind, 1)?;
        let rows = host.rows();
        if host.cols() != rows {
            return Err(format!("{kind} is {rows} x {}, and must be square", host.cols()).into());
        }
        let keys: Vec<u32> = (0..rows as u32).map(|index| index / 3).collect();
        Ok(Self {
            device: device.clone(),
            matrix: device.upload(&host)?,
            x: device.upload(&random_vector(rows, 1))?,
            keys: device.upload(&keys)?,
        })
    }

    fn spmv(&self, method: SpmvMethod) -> Result<Call<'_>, OpError> {
        self.spmv_with(SpmvOptions::default().with_method(method))
    }

    fn spmv_lanes(&self, lanes: u32) -> Result<Call<'_>, OpError> {
        self.spmv_with(SpmvOptions::default().with_method(SpmvMethod::Vector).with_lanes(lanes))
    }

    fn spmv_with(&self, options: SpmvOptions) -> Result<Call<'_>, OpError> {
        let plan = self.matrix.plan_spmv(options)?;
        let mut y = self.device.zeros(self.matrix.rows())?;
        Ok(Box::new(move || plan.run(1.0, &self.x, 0.0, &mut y)))
    }
}

/// An operation's name, and how its call is made ready.
type Operation = (&'static str, fn(&Operands) -> Result<Call<'_>, OpError>);

const OPERATIONS: &[Operation] = &[
    ("allocate and free", |o| Ok(Box::new(|| Ok(o.device.uninitialized::<f64>(o.x.len()).map(drop)?)))),
    ("set to zero", |o| {
        let mut y = o.device.zeros::<f64>(o.x.len())?;
        Ok(Box::new(move || Ok(y.set_zero()?)))
    }),
    ("copy", |o| {
        let mut y = o.device.zeros::<f64>(o.x.len())?;
        Ok(Box::new(move || Ok(y.copy_from(&o.x)?)))
    }),
    ("download of one element", |o| Ok(Box::new(|| Ok(o.x.get(0).map(drop)?)))),
    ("axpby", |o| {
        let mut y = o.device.zeros(o.x.len())?;
        Ok(Box::new(move || vector::axpby(2.0, &o.x, 0.5, &mut y)))
    }),
    ("dot", |o| Ok(Box::new(|| vector::dot(&o.x, &o.x).map(drop)))),
    ("spmv, auto", |o| o.spmv(SpmvMethod::Auto)),
    ("spmv, scalar", |o| o.spmv(SpmvMethod::Scalar)),
    ("spmv, vector", |o| o.spmv(SpmvMethod::Vector)),
    ("spmv, vector, 4 lanes", |o| o.spmv_lanes(4)),
    ("spmv, vector, 8 lanes", |o| o.spmv_lanes(8)),
    ("spmv, warp", |o| o.spmv(SpmvMethod::Warp)),
    ("spmv, row-tiles", |o| o.spmv(SpmvMethod::RowTiles)),
    ("spmv, row-blocks", |o| o.spmv(SpmvMethod::RowBlocks)),
    ("spmv, windows", |o| o.spmv(SpmvMethod::Windows)),
    ("spmv, flat", |o| o.spmv(SpmvMethod::Flat)),
    ("spmv, merge-path", |o| o.spmv(SpmvMethod::MergePath)),
    ("spmv transposed", |o| {
        let plan = o.matrix.plan_spmv_transposed(SpmvTransposedOptions::default())?;
        let mut y = o.device.zeros(o.matrix.cols())?;
        Ok(Box::new(move || plan.run(1.0, &o.x, 0.0, &mut y)))
    }),
    ("spmm, 8 columns", |o| {
        let plan = o.matrix.plan_spmm::<f64>(SpmmOptions::default().with_columns(8))?;
        let b = o.device.zeros_dense::<f64>(o.matrix.cols(), 8, Layout::RowMajor)?;
        let mut c = o.device.zeros_dense::<f64>(o.matrix.rows(), 8, Layout::RowMajor)?;
        Ok(Box::new(move || plan.run(1.0, &b, 0.0, &mut c)))
    }),
    ("hisparse spmv, leaves", |o| {
        let tree = o.matrix.to_hisparse::<32>(HiSparseOptions::default())?;
        let plan = tree.plan_spmv(HiSparseSpmvOptions::default().with_method(HiSparseSpmvMethod::Leaves))?;
        let mut y = o.device.zeros(o.matrix.rows())?;
        Ok(Box::new(move || plan.run(1.0, &o.x, 0.0, &mut y)))
    }),
    ("hisparse spmv, queues", |o| {
        let tree = o.matrix.to_hisparse::<32>(HiSparseOptions::default())?;
        let plan = tree.plan_spmv_queued(HiSparseQueuedOptions::default())?;
        let mut y = o.device.zeros(o.matrix.rows())?;
        Ok(Box::new(move || plan.run(1.0, &o.x, 0.0, &mut y)))
    }),
    ("scan", |o| Ok(Box::new(|| Scan::inclusive(Operator::Sum).run(&o.x).map(drop)))),
    ("scan by key", |o| Ok(Box::new(|| Scan::inclusive(Operator::Sum).by_keys(&o.keys).run(&o.x).map(drop)))),
    ("reduce by key", |o| Ok(Box::new(|| reduce::by_keys(&o.keys, &o.x, Operator::Sum).map(drop)))),
    ("sort of keys", |o| Ok(Box::new(|| sort::sort(&o.keys, SortOptions::default()).map(drop)))),
    ("sort of pairs", |o| Ok(Box::new(|| sort::sort_pairs(&o.keys, &o.x, SortOptions::default()).map(drop)))),
    ("merge of keys", |o| Ok(Box::new(|| merge::keys(&o.keys, &o.keys).map(drop)))),
    ("union of keys", |o| Ok(Box::new(|| sets::keys(SetOperation::Union, &o.keys, &o.keys).map(drop)))),
    ("spadd", |o| Ok(Box::new(|| o.matrix.add(1.0, &o.matrix, 2.0).map(drop)))),
    ("spadd, values", |o| {
        let plan = o.matrix.plan_add(&o.matrix)?;
        Ok(Box::new(move || plan.run(1.0, 2.0).map(drop)))
    }),
    ("spgemm", |o| Ok(Box::new(|| o.matrix.multiply_with(&o.matrix, SpgemmOptions::default()).map(drop)))),
    ("transpose", |o| Ok(Box::new(|| o.matrix.transpose().map(drop)))),
];

/// Operations of a graph, and microseconds of a launch on the host and of a run.
type GraphCost = (usize, f64, f64);

/// What was measured of an operation.
struct Cost {
    /// Microseconds of a call on the host, of each round.
    host: Vec<f64>,
    /// Calls of the driver, and microseconds in them.
    driver: (f64, f64),
    /// None where no graph holds it.
    graph: Option<GraphCost>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let is_wanted =
        |name: &str| arguments.op.is_empty() || arguments.op.iter().any(|op| name.contains(&**op));
    let device = arguments.device.open()?;
    let operands = Operands::new(&device, arguments.generate)?;
    if !arguments.json {
        println!(
            "{device}, {}: {} rows, {} nonzeros, microseconds",
            arguments.generate,
            operands.matrix.rows(),
            operands.matrix.nnz()
        );
        println!(
            "{:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9} {:>8}",
            "operation", "host", "spread", "calls", "driver", "ours", "nodes", "as graph", "a run"
        );
    }
    for (name, prepare) in OPERATIONS.iter().filter(|(name, _)| is_wanted(name)) {
        match measure(arguments, &operands, *prepare) {
            Ok(cost) => print(name, &cost, arguments.json),
            // The CPU does not have every method.
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(name: &str, cost: &Cost, as_json: bool) {
    let (host, (calls, driver)) = (median(&cost.host), cost.driver);
    let (spread, ours) = (spread(&cost.host), host - driver);
    if as_json {
        let graph = cost
            .graph
            .map(|(nodes, launch, run)| json!({ "nodes": nodes, "launch_us": launch, "run_us": run }));
        println!(
            "{}",
            json!({ "op": name, "host_us": host, "spread": spread, "driver_calls": calls, "driver_us": driver,
                    "own_us": ours, "graph": graph })
        );
        return;
    }
    let graph = cost
        .graph
        .map_or_else(String::new, |(nodes, launch, run)| format!("{nodes:>6} {launch:>9.2} {run:>8.2}"));
    println!("{name:<26} {host:>8.2} {spread:>8.2} {calls:>8.1} {driver:>8.2} {ours:>8.2} {graph}");
}

fn measure(
    arguments: &Arguments,
    operands: &Operands,
    prepare: fn(&Operands) -> Result<Call<'_>, OpError>,
) -> Result<Cost, Box<dyn Error>> {
    let device = &operands.device;
    let mut call = prepare(operands)?;
    let calls = f64::from(arguments.calls);
    let round = |call: &mut Call<'_>| -> Result<f64, OpError> {
        device.synchronize()?;
        let begin = Instant::now();
        for _ in 0..arguments.calls {
            call()?;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e6 / calls)
    };
    round(&mut call)?;
    let host = (0..ROUNDS).map(|_| round(&mut call)).collect::<Result<Vec<_>, _>>()?;
    // The clock takes its time too: the rounds above are without it. What they left to do is not waited for in this one.
    device.synchronize()?;
    Device::measure_driver_calls(true);
    round(&mut call)?;
    let (count, time) = Device::measure_driver_calls(false);
    // The wait before the round is one of them.
    let driver = (count as f64 / calls, time.as_secs_f64() * 1e6 / calls);
    Ok(Cost { host, driver, graph: as_graph(device, call, arguments.calls)? })
}

/// The cost of the call as a graph, if one holds it.
fn as_graph(device: &Device, call: Call<'_>, calls: u32) -> Result<Option<GraphCost>, Box<dyn Error>> {
    let graph = device.capture(call, |call| call());
    let mut graph = match graph {
        Ok(graph) => graph,
        Err(OpError::Device(DeviceError::Capture { .. } | DeviceError::WrittenByGraph { .. })) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let (mut launches, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        device.synchronize()?;
        let begin = Instant::now();
        for _ in 0..calls {
            if let Err(OpError::Device(DeviceError::Capture { .. })) = graph.launch() {
                return Ok(None); // of the CPU, which captures nothing
            }
        }
        launches.push(begin.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
        device.synchronize()?;
        runs.push(begin.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    // The first round sets the graph up on the device.
    Ok(Some((graph.operations(), median(&launches[1..]), median(&runs[1..]))))
}
