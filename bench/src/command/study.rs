use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::measure::copy_rate;
use crate::results::Setting;
use crate::study::{self, Bench, Report, Study, Table};
use evenpath::device::DeviceKind;

use super::selection::Measuring;

/// Exit code: 0 if all results are correct, 1 if one is wrong.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The publication.
    study: Study,
    #[command(flatten)]
    measuring: Measuring,
    /// Skip matrices with more nonzeros. [default: none on a GPU, 3 million on the CPU, 20000 on the simulated GPU]
    #[arg(long, value_name = "N")]
    most_nonzeros: Option<usize>,
    /// Skip sparse products with more multiplications. [default: 10^10 on a GPU, 10^8 on the CPU, 10^6 on the simulated GPU]
    #[arg(long, value_name = "N")]
    most_products: Option<u64>,
    /// Write the tables to a file, which `report` turns into a section if its name is `study-*.jsonl`. The study `hisparse`
    /// also writes each case, and continues a file of the same setting; the others take a new file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object per line, instead of tables.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let device = arguments.measuring.device.open()?;
    let peers = arguments.measuring.open_peers(&device);
    let copy_gbps = copy_rate(&device)?;
    let (most_nonzeros, most_products, budget_ms) = match device.kind() {
        DeviceKind::Cuda(_) => (usize::MAX, 10_u64.pow(10), 30.0),
        DeviceKind::Cpu => (3_000_000, 10_u64.pow(8), 100.0),
        DeviceKind::Simulated => (20_000, 10_u64.pow(6), 10.0),
    };
    let bench = Bench {
        device: &device,
        copy_gbps,
        peers: &peers,
        repetitions: arguments.measuring.repetitions(device.kind(), 50, 10, 2).within(budget_ms),
        most_nonzeros: arguments.most_nonzeros.unwrap_or(most_nonzeros),
        most_products: arguments.most_products.unwrap_or(most_products),
    };
    let mut command = format!("evenpath-bench study {}", arguments.study.name());
    let limits = [
        ("nonzeros", arguments.most_nonzeros.map(|most| most as u64)),
        ("products", arguments.most_products),
    ];
    for (what, most) in limits {
        command.extend(most.map(|most| format!(" --most-{what} {most}")));
    }
    let setting = Setting::new(&device, copy_gbps, peers.versions(), command);
    let mut print = |table: &Table| {
        if arguments.json {
            println!("{}", serde_json::to_string(table)?);
        } else {
            println!("{}", table.to_markdown());
        }
        Ok(())
    };
    let mut report = Report::new(arguments.study, setting, &mut print);
    if let Some(path) = &arguments.out {
        report = report.to_file(path)?;
    }
    study::run(&bench, &mut report)?;
    Ok(if report.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
