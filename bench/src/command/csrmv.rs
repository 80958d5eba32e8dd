//! y = αAx + βy by several methods, as CSV.

use std::error::Error;
use std::io::{StdoutLock, stdout};
use std::process::ExitCode;

use evenpath::Device;
use evenpath::device::DeviceKind;

use super::selection::MatrixSelection;
use crate::arguments::{DeviceChoice, ValueType};
use crate::csrmv::{Case, Factors, Peer, Record, Table, is_trivial, measure};
use crate::measure::{Repetitions, copy_rate};
use crate::peers::PeerValue;
use crate::suite::Source;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// Where to run: best, cuda:0 (or another number), cpu, simulated.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    device: DeviceChoice,
    /// Do not compare with cuSPARSE, in any of its versions, or MKL.
    #[arg(long)]
    no_peers: bool,
    /// Number of runs to time per method. [default: 100 on a GPU, 20 on the CPU, 3 on the simulated GPU]
    #[arg(long, value_name = "N", visible_alias = "iterations")]
    repetitions: Option<usize>,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
    /// The factor of the product.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    alpha: f64,
    /// The factor of y. If it is zero, y is not read.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    beta: f64,
    /// Skip matrices of at most one row, column or nonzero.
    #[arg(long)]
    skip_trivial: bool,
    /// Print only errors on stderr: not the device, the statistics and rates of each matrix, and skipped matrices.
    #[arg(long)]
    quiet: bool,
}

impl Arguments {
    fn repetitions(&self, kind: DeviceKind) -> Repetitions {
        let default = match kind {
            DeviceKind::Cuda(_) => 100,
            DeviceKind::Cpu => 20,
            DeviceKind::Simulated => 3,
        };
        self.repetitions.unwrap_or(default).into()
    }

    /// Prints a line on stderr, unless that is unwanted.
    fn note(&self, line: std::fmt::Arguments<'_>) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    fn open_peer(&self, device: &Device) -> Option<Peer> {
        if self.no_peers {
            return None;
        }
        let (peer, absent) = Peer::open(device.kind());
        for reason in absent {
            self.note(format_args!("note: {reason}"));
        }
        peer
    }
}

/// The exit code is 1 if a matrix could not be measured or a result of evenpath is wrong.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    match arguments.value {
        ValueType::F32 => csrmv::<f32>(arguments),
        ValueType::F64 => csrmv::<f64>(arguments),
    }
}

fn csrmv<V: PeerValue>(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let factors = Factors::<V>::new(arguments.alpha, arguments.beta)?;
    let sources = arguments.matrices.sources()?;
    let device = arguments.device.open()?;
    let peer = arguments.open_peer(&device);
    let copy_gbps = copy_rate(&device)?;
    let beside = peer.as_ref().map_or(String::new(), |peer| format!(", beside {}", peer.name()));
    arguments.note(format_args!("{device}, copies at {copy_gbps:.3} GB/s{beside}"));
    let case = Case {
        device: &device,
        copy_gbps,
        peer: peer.as_ref(),
        factors,
        repetitions: arguments.repetitions(device.kind()),
    };
    let mut table = Table::new(stdout().lock())?;
    let mut is_right = true;
    for (_, source) in &sources {
        match measure_source(arguments, &case, source) {
            Ok(None) => {}
            Ok(Some(record)) => is_right &= print(arguments, &mut table, &record)?,
            Err(reason) => {
                eprintln!("error: {reason}");
                is_right = false;
            }
        }
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures a matrix; `None` if it is skipped. The error names the matrix.
fn measure_source<V: PeerValue>(
    arguments: &Arguments,
    case: &Case<'_, V>,
    source: &Source,
) -> Result<Option<Record>, String> {
    let file = match source {
        Source::Generated(kind) => kind.to_string(),
        Source::File(path) => path.display().to_string(),
    };
    let matrix = source.load().map_err(|error| error.to_string())?;
    if arguments.skip_trivial && is_trivial(&matrix) {
        let (rows, cols, nnz) = (matrix.rows(), matrix.cols(), matrix.nnz());
        arguments.note(format_args!("{file}: skipped, trivial: {rows} × {cols} with {nnz} nonzeros"));
        return Ok(None);
    }
    let matrix = matrix.into_values::<V>();
    measure(case, file.clone(), &matrix).map(Some).map_err(|error| format!("{file}: {error}"))
}

/// Prints the row of a record, and what went wrong. Returns whether the results of evenpath are correct.
fn print(arguments: &Arguments, table: &mut Table<StdoutLock>, record: &Record) -> csv::Result<bool> {
    arguments.note(format_args!("{record}"));
    for failure in record.failures() {
        eprintln!("error: {failure}");
    }
    table.row(record)?;
    Ok(record.is_right())
}
