//! Sparse matrix times dense vector, y = Ax: on a file or a generated matrix, timed and checked.
//!
//! ```sh
//! cargo run --release --example spmv
//! cargo run --release --example spmv -- --matrix a.mtx.gz --device cuda:0 --value f32
//! cargo run --release --example spmv -- --generate power-law:2000000 --method flat
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Offset, Value};
use evenpath_bench::arguments::{OffsetType, ValueType};
use evenpath_bench::matrix_example::SpmvArguments;
use evenpath_bench::program;
use evenpath_bench::report::Report;

/// Sparse matrix times dense vector, y = Ax: timed, and checked against a computation in f64 from the triplets.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    spmv: SpmvArguments,
    /// Method. The help text lists the names.
    #[arg(long, value_name = "NAME", default_value_t = SpmvMethod::Auto, help = method_help())]
    method: SpmvMethod,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match (arguments.spmv.value, arguments.spmv.offset) {
        (ValueType::F32, OffsetType::U32) => spmv::<f32, u32>(arguments),
        (ValueType::F32, OffsetType::U64) => spmv::<f32, u64>(arguments),
        (ValueType::F64, OffsetType::U32) => spmv::<f64, u32>(arguments),
        (ValueType::F64, OffsetType::U64) => spmv::<f64, u64>(arguments),
    })
}

fn method_help() -> String {
    let names: Vec<String> = SpmvMethod::ALL.into_iter().map(|method| method.to_string()).collect();
    format!("Method: {}. The CPU has not all of them", names.join(", "))
}

fn spmv<V: Value, O: Offset>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.spmv.start::<V, O>()?;
    let (device, rows) = (example.device.clone(), example.matrix.rows());

    // Matrix and vectors to the device, the analysis, the product, the result back.
    let start = Instant::now();
    let a = device.upload(&example.matrix)?;
    let x = device.upload(&example.x)?;
    let mut y = device.upload(&vec![V::from_f64(f64::NAN); rows])?; // shows what is not written
    let plan = a.plan_spmv(SpmvOptions::default().with_method(arguments.method))?;
    plan.run(V::ONE, &x, V::ZERO, &mut y)?;
    let first_y = y.download()?;
    example.first_result(start);
    example.check(&first_y);

    // With a plan made, as often as one likes.
    let times = example.times_ms(|| plan.run(V::ONE, &x, V::ZERO, &mut y))?;
    example.check(&y.download()?);
    let info = plan.info()?;
    drop((a, plan, x, y)); // room to measure the copy rate
    Ok(example.finish(&info, &times)?)
}
