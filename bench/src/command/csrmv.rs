//! y = αAx + βy by several methods, as CSV.

use std::error::Error;
use std::io::stdout;
use std::process::ExitCode;

use evenpath::Csr;
use evenpath::spmv::SpmvMethod;

use super::options::{MatrixSelection, Measuring};
use crate::arguments::ValueType;
use crate::csrmv::{Table, notes};
use crate::operations::spmv::{Product, Way};
use crate::operations::{Bench, Case};
use crate::peers::PeerName;
use crate::results::Row;
use crate::suite::Source;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    #[command(flatten)]
    measuring: Measuring,
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
    /// Prints a line on stderr, unless that is unwanted.
    fn note(&self, line: std::fmt::Arguments<'_>) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// Merge path with and without a plan, the default plan and HYB.
    fn case(&self) -> Result<Case, String> {
        let (limit, value) = match self.value {
            ValueType::F32 => (f64::from(f32::MAX), "f32"),
            ValueType::F64 => (f64::MAX, "f64"),
        };
        for (name, factor) in [("alpha", self.alpha), ("beta", self.beta)] {
            let is_of_type = factor.abs() <= limit;
            if !is_of_type {
                return Err(format!("{name} = {factor} is not a finite number of type {value}"));
            }
        }
        let [merge, default] = [SpmvMethod::MergePath, SpmvMethod::Auto].map(Way::method);
        let ways = vec![merge, Way::unplanned(), default, Way::hyb()];
        Ok(Case::Spmv(Product { factors: (self.alpha, self.beta), ..Product::direct(ways) }))
    }
}

/// The exit code is 1 if a matrix could not be measured or a result of evenpath is wrong.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let case = arguments.case()?;
    let sources = arguments.matrices.sources_or(&[])?;
    let device = arguments.measuring.device.open()?;
    let peers = arguments.measuring.open_peers(&device, &[PeerName::Mkl]);
    let bench = arguments.measuring.bench(&device, &peers)?;
    let names = peers.versions().join(" and ");
    let beside = if names.is_empty() { String::new() } else { format!(", beside {names}") };
    arguments.note(format_args!("{device}, copies at {:.3} GB/s{beside}", bench.copy_gbps));
    let mut table = Table::new(stdout().lock(), bench.copy_gbps)?;
    let mut is_right = true;
    for (_, source) in &sources {
        let file = match source {
            Source::Generated(kind) => kind.to_string(),
            Source::File(path) => path.display().to_string(),
        };
        let matrix = match source.load() {
            Ok(matrix) => matrix,
            Err(error) => {
                eprintln!("error: {error}");
                is_right = false;
                continue;
            }
        };
        let statistics = matrix.statistics();
        if arguments.skip_trivial && is_trivial(&matrix) {
            let (rows, cols, nnz) = (statistics.nrows, statistics.ncols, statistics.nnz);
            arguments.note(format_args!("{file}: skipped, trivial: {rows} × {cols} with {nnz} nonzeros"));
            continue;
        }
        let row = measure(arguments, &case, &bench, &file, matrix);
        arguments.note(format_args!("{}", notes(&file, &statistics, &row, bench.copy_gbps)));
        is_right &= print_errors(&file, &row);
        if let Some(figures) = row.figures() {
            table.row(&file, &statistics, figures)?;
        }
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(arguments: &Arguments, case: &Case, bench: &Bench<'_>, file: &str, matrix: Csr<f64>) -> Row {
    match arguments.value {
        ValueType::F64 => case.measure(bench, case.key("-", file, "f64"), &matrix),
        ValueType::F32 => case.measure(bench, case.key("-", file, "f32"), &matrix.into_values::<f32>()),
    }
}

/// Returns whether merge-spmv calls the matrix trivial: at most one row, column or nonzero.
fn is_trivial(matrix: &Csr<f64>) -> bool {
    matrix.nrows() <= 1 || matrix.ncols() <= 1 || matrix.nnz() <= 1
}

/// Prints what cannot run or is wrong. Returns whether every method of evenpath has run, with a correct result.
fn print_errors(file: &str, row: &Row) -> bool {
    let Some(figures) = row.figures() else {
        eprintln!("error: {file}: {}", row.failure().unwrap_or_default());
        return false;
    };
    for one in figures.ours.iter().chain(figures.peers.iter().filter(|peer| peer.format.is_none())) {
        if let Some(error) = &one.error {
            eprintln!("error: {file}: {} {}: {error}", one.full_name(), one.name);
        }
    }
    figures.ours.iter().all(|own| own.error.is_none())
}
