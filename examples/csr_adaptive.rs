//! CSR-Adaptive, y = Ax by row blocks: short rows through shared memory together, long rows alone.
//!
//! ```sh
//! cargo run --release --example csr_adaptive
//! cargo run --release --example csr_adaptive -- --generate rmat:20 --device cuda:0
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

/// CSR-Adaptive, y = Ax: how many row blocks go by CSR-Stream, CSR-Vector and CSR-VectorL, the time, and a check.
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
        (ValueType::F32, OffsetType::U32) => csr_adaptive::<f32, u32>(arguments),
        (ValueType::F32, OffsetType::U64) => csr_adaptive::<f32, u64>(arguments),
        (ValueType::F64, OffsetType::U32) => csr_adaptive::<f64, u32>(arguments),
        (ValueType::F64, OffsetType::U64) => csr_adaptive::<f64, u64>(arguments),
    })
}

fn csr_adaptive<V: Value, O: Offset>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.spmv.start_for_kernels::<V, O>()?;
    let (device, rows) = (example.device.clone(), example.matrix.rows());

    // The plan gets the row offsets back to the host, which makes the row blocks.
    let start = Instant::now();
    let a = device.upload(&example.matrix)?;
    let x = device.upload(&example.x)?;
    let mut y = device.upload(&vec![V::from_f64(f64::NAN); rows])?; // shows what is not written
    let plan = a.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::CsrAdaptive))?;
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
