//! Time that one call of each operation takes the host, beside the driver's part of it, and the time in a graph.
//!
//! Operands are small, so that the device is done before the host has asked for the next.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::Device;
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::Kind;
use evenpath_lab::measure_driver_calls;
use serde_json::json;

use super::calls::{Call, Operands, selected};
use crate::arguments::CommonArguments;
use crate::columns::{Cell, decimal, head, line};
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
    #[command(flatten)]
    common: CommonArguments,
}

/// Operations of a graph, and microseconds of a launch on the host and of a run.
type GraphCost = (usize, f64, f64);

/// Measurements of an operation.
struct Cost {
    /// Microseconds of a call on the host, of each round.
    host: Vec<f64>,
    /// Calls of the driver, and microseconds in them.
    driver: (f64, f64),
    /// `None` where no graph holds it.
    graph: Option<GraphCost>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let device = arguments.common.device.open()?;
    let operands = Operands::new(&device, arguments.generate)?;
    if !arguments.common.json {
        println!(
            "{device}, {}: {} rows, {} nonzeros, microseconds",
            arguments.generate,
            operands.matrix.nrows(),
            operands.matrix.nnz()
        );
    }
    let mut has_head = arguments.common.json;
    for (name, prepare) in selected(&arguments.op) {
        match measure(arguments, &operands, *prepare) {
            Ok(cost) if arguments.common.json => println!("{}", json(name, &cost)),
            Ok(cost) => {
                let cells = cells(name, &cost);
                if !std::mem::replace(&mut has_head, true) {
                    println!("{}", head(&cells));
                }
                println!("{}", line(&cells));
            }
            // The CPU does not have every method.
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn json(name: &str, cost: &Cost) -> serde_json::Value {
    let (host, (calls, driver)) = (median(&cost.host), cost.driver);
    let graph =
        cost.graph.map(|(nodes, launch, run)| json!({ "nodes": nodes, "launch_us": launch, "run_us": run }));
    json!({ "op": name, "host_us": host, "spread": spread(&cost.host), "driver_calls": calls, "driver_us": driver,
            "own_us": host - driver, "graph": graph })
}

fn cells(name: &'static str, cost: &Cost) -> Vec<Cell> {
    let (host, (calls, driver)) = (median(&cost.host), cost.driver);
    let nodes = cost.graph.map_or_else(|| "-".into(), |(nodes, ..)| nodes.to_string());
    vec![
        ("operation", -26, name.into()),
        ("host", 8, decimal(host, 2)),
        ("spread", 8, decimal(spread(&cost.host), 2)),
        ("calls", 8, decimal(calls, 1)),
        ("driver", 8, decimal(driver, 2)),
        ("ours", 8, decimal(host - driver, 2)),
        ("nodes", 6, nodes),
        ("as graph", 9, decimal(cost.graph.map(|(_, launch, _)| launch), 2)),
        ("a run", 8, decimal(cost.graph.map(|(.., run)| run), 2)),
    ]
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
    // The clock takes its time too: the rounds above are without it. Their work that is still running is not waited for here.
    device.synchronize()?;
    measure_driver_calls(true);
    round(&mut call)?;
    let (count, time) = measure_driver_calls(false);
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
