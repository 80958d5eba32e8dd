//! LightSpMV, y = Ax with rows handed out while the kernel runs.
//!
//! ```sh
//! cargo run --release --example light_spmv
//! cargo run --release --example light_spmv -- --generate power-law:2000000 --value f32
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

/// LightSpMV, y = Ax: how many lanes a row gets, the time, and a check, of f32 as of f64.
///
/// Without a GPU it runs on the simulated one, with a small matrix. Exit code: 0 if the result is right, 1 if it is
/// wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    spmv: SpmvArguments,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match (arguments.spmv.value, arguments.spmv.offset) {
        (ValueType::F32, OffsetType::U32) => light_spmv::<f32, u32>(arguments),
        (ValueType::F32, OffsetType::U64) => light_spmv::<f32, u64>(arguments),
        (ValueType::F64, OffsetType::U32) => light_spmv::<f64, u32>(arguments),
        (ValueType::F64, OffsetType::U64) => light_spmv::<f64, u64>(arguments),
    })
}

fn light_spmv<V: Value, O: Offset>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.spmv.start_for_kernels::<V, O>()?;
    let (device, rows) = (example.device.clone(), example.matrix.rows());

    // The plan chooses the lanes a row gets from the mean row length.
    let start = Instant::now();
    let a = device.upload(&example.matrix)?;
    let x = device.upload(&example.x)?;
    let mut y = device.upload(&vec![V::from_f64(f64::NAN); rows])?; // shows what is not written
    let plan = a.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::Light))?;
    plan.run(V::ONE, &x, V::ZERO, &mut y)?;
    let first_y = y.download()?;
    example.first_result(start);
    example.check(&first_y);

    // Every run begins to hand rows out anew.
    let times = example.times_ms(|| plan.run(V::ONE, &x, V::ZERO, &mut y))?;
    example.check(&y.download()?);
    let info = plan.info()?;
    drop((a, plan, x, y)); // room to measure the copy rate
    Ok(example.finish(&info, &times)?)
}
