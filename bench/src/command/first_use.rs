//! Time of the first call of each operation on a new device, when the driver has to compile its kernels.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::error::OpError;
use evenpath::generate::Kind;
use serde_json::json;

use super::calls::{Call, Operands, selected};
use crate::arguments::CommonArguments;

/// The matrix.
const KIND: Kind = Kind::PowerLaw { rows: 20_000 };

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Measure only operations with this in their name. Can be given several times.
    #[arg(long, value_name = "FILTER")]
    op: Vec<String>,
    #[command(flatten)]
    common: CommonArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if std::env::var_os("CUDA_CACHE_DISABLE").is_none_or(|value| value != "1") {
        eprintln!("note: without CUDA_CACHE_DISABLE=1 the driver may have the kernels in its cache");
    }
    if !arguments.common.json {
        println!("{:<42} {:>10} {:>10}", "operation", "first ms", "again ms");
    }
    for (name, prepare) in selected(&arguments.op) {
        let operands = Operands::new(&arguments.common.device.open()?, KIND)?;
        let first = match time(&operands, *prepare) {
            Ok(first) => first,
            // The CPU does not have every method.
            Err(error) => {
                eprintln!("{name}: {error}");
                continue;
            }
        };
        let again = time(&operands, *prepare)?;
        if arguments.common.json {
            println!("{}", json!({ "op": name, "first_ms": first, "again_ms": again }));
        } else {
            println!("{name:<42} {first:>10.1} {again:>10.1}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Milliseconds of a call and what it needs before, including the wait for the device.
fn time(operands: &Operands, prepare: fn(&Operands) -> Result<Call<'_>, OpError>) -> Result<f64, OpError> {
    operands.device.synchronize()?;
    let start = Instant::now();
    prepare(operands)?()?;
    operands.device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
