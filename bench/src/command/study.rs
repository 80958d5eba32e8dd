//! The experiments of a publication.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use evenpath::device::DeviceKind;

use super::options::{Measuring, command_line};
use crate::operations::Bench;
use crate::results::Setting;
use crate::study::{self, Report, Study, Table};

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
    /// Size of the stand-ins of the study `hisparse`, as a fraction of the published one. [default: 1]
    #[arg(long, value_name = "FRACTION")]
    scale: Option<f64>,
    /// Write cases and tables to a file, which `report` turns into a page if its name is `study-*.jsonl`. A file of the same
    /// study and setting is continued.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object per line, instead of tables.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if arguments.scale.is_some() && arguments.study != Study::Hisparse {
        return Err(format!("--scale: the study `{}` has only one size", arguments.study.name()).into());
    }
    let device = arguments.measuring.device.open()?;
    let peers = arguments.measuring.open_peers(&device, &[]);
    let most_nonzeros = arguments.most_nonzeros.unwrap_or(match device.kind() {
        DeviceKind::Cuda(_) => usize::MAX,
        DeviceKind::Cpu => 3_000_000,
        DeviceKind::Simulated => 20_000,
    });
    let bench = Bench { most_nonzeros, ..arguments.measuring.bench(&device, &peers)? };
    let setting = Setting::new(&device, bench.copy_gbps, peers.versions(), command_line(std::env::args()));
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
        report = report.into_file(path)?;
    }
    study::run(&bench, arguments.scale.unwrap_or(1.0), &mut report)?;
    Ok(if report.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
