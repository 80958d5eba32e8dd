//! Partitions, halos, messages and bytes of y = Ax on 1 to 4096 ranks, computed without running it, and the time that a model predicts.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use evenpath::Csr;
use evenpath::generate::Kind;
use serde_json::json;

use crate::arguments::{MatrixArguments, ValueType};
use crate::columns::{Cell, decimal, head, line};
use crate::scale::{Machine, Prediction, Problem, Rows, Volumes, row_offsets};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrix: MatrixArguments,
    /// A matrix that is computed row by row and never held in memory: stencil5:SIDE, stencil7:SIDE, stencil27:SIDE or rmat:SCALE.
    #[arg(long, value_name = "KIND", conflicts_with_all = ["matrix", "generate"])]
    by_rows: Option<Problem>,
    /// Numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = (0..=12).map(|log2| 1_u32 << log2),
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    ranks: Vec<u32>,
    /// Type of the values.
    #[arg(long, value_enum, default_value_t = ValueType::F64)]
    value: ValueType,
    #[command(flatten)]
    machine: Machine,
    /// Seed of a generated matrix.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if let Some(problem) = arguments.by_rows {
        let problem = problem.with_seed(arguments.seed);
        report(arguments, &problem.to_string(), &problem)?;
    } else {
        let input = arguments.matrix.load::<f32, u64>(Kind::Stencil27 { side: 100 }, arguments.seed)?;
        let matrix: Csr<f32, u64> = input.matrix;
        report(arguments, &input.name, &matrix)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(arguments: &Arguments, name: &str, matrix: &impl Rows) -> Result<(), Box<dyn Error>> {
    let Arguments { machine, .. } = arguments;
    let value = match arguments.value {
        ValueType::F32 => 4,
        ValueType::F64 => 8,
    };
    let offsets = row_offsets(matrix);
    let mut out = io::stdout().lock();
    if !arguments.json {
        let (rows, cols, nonzeros) = (matrix.nrows(), matrix.ncols(), offsets.last().copied().unwrap_or(0));
        writeln!(out, "{name}: {rows} x {cols}, {nonzeros} nonzeros, values of {value} bytes")?;
        writeln!(out, "{machine}; a model, not a measurement")?;
    }
    let alone = machine.predict(&Volumes::new(matrix, &offsets, 1), value).time;
    for (index, &ranks) in arguments.ranks.iter().enumerate() {
        let volumes = Volumes::new(matrix, &offsets, ranks as usize);
        let prediction = machine.predict(&volumes, value);
        let efficiency = alone / (prediction.time * f64::from(ranks));
        if arguments.json {
            writeln!(out, "{}", record(name, &volumes, value, &prediction, efficiency))?;
            continue;
        }
        let cells = cells(&volumes, value, &prediction, efficiency);
        if index == 0 {
            writeln!(out, "{}", head(&cells))?;
        }
        writeln!(out, "{}", line(&cells))?;
    }
    Ok(())
}

fn cells(volumes: &Volumes, value: u64, prediction: &Prediction, efficiency: f64) -> Vec<Cell> {
    vec![
        ("ranks", 6, volumes.ranks.len().to_string()),
        ("most rows", 10, volumes.most(|rank| rank.rows).to_string()),
        ("imbalance", 10, decimal(volumes.imbalance(), 3)),
        ("most halo", 9, volumes.most(|rank| rank.received).to_string()),
        ("neighbors", 9, volumes.most(|rank| rank.sources.max(rank.destinations)).to_string()),
        ("messages", 9, volumes.messages().to_string()),
        ("sent MB", 10, decimal((volumes.elements() * value) as f64 / 1e6, 3)),
        ("local µs", 9, decimal(prediction.local, 1)),
        ("exch. µs", 9, decimal(prediction.exchange, 1)),
        ("total µs", 9, decimal(prediction.time, 1)),
        ("eff.", 6, decimal(efficiency, 2)),
    ]
}

fn record(
    name: &str,
    volumes: &Volumes,
    value: u64,
    prediction: &Prediction,
    efficiency: f64,
) -> serde_json::Value {
    json!({
        "matrix": name,
        "value_bytes": value,
        "ranks": volumes.ranks.len(),
        "most_rows": volumes.most(|rank| rank.rows),
        "imbalance": volumes.imbalance(),
        "most_halo": volumes.most(|rank| rank.received),
        "most_neighbors": volumes.most(|rank| rank.sources.max(rank.destinations)),
        "messages": volumes.messages(),
        "sent_bytes": volumes.elements() * value,
        "most_sent_bytes": volumes.most(|rank| rank.sent) * value,
        "non_local_nonzeros": volumes.ranks.iter().map(|rank| rank.non_local_nonzeros).sum::<u64>(),
        "predicted_us": prediction.time,
        "predicted_local_us": prediction.local,
        "predicted_exchange_us": prediction.exchange,
        "predicted_boundary_us": prediction.boundary,
        "predicted_efficiency": efficiency,
    })
}
