//! Sparse matrix times dense vector, y = Ax: on a file or a generated matrix, timed and checked.
//!
//! ```sh
//! cargo run --release --example spmv
//! cargo run --release --example spmv -- --matrix a.mtx.gz --device cuda:0 --value f32
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::generate::Kind;
use evenpath::{Device, DeviceKind, Offset, SpmvOptions, SpmvPlanInfo, Value};
use evenpath_bench::arguments::{MatrixArguments, OffsetType, RunArguments, ValueType};
use evenpath_bench::input::random_vector;
use evenpath_bench::measure::{Measurement, copy_rate, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::spmv::{check, work};
use serde_json::json;

/// Sparse matrix times dense vector, y = Ax: timed, and checked against a computation in f64 from the triplets.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
    /// Type of the row offsets.
    #[arg(long, value_enum, default_value = "u32")]
    offset: OffsetType,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match (arguments.value, arguments.offset) {
        (ValueType::F32, OffsetType::U32) => spmv::<f32, u32>(arguments),
        (ValueType::F32, OffsetType::U64) => spmv::<f32, u64>(arguments),
        (ValueType::F64, OffsetType::U32) => spmv::<f64, u32>(arguments),
        (ValueType::F64, OffsetType::U64) => spmv::<f64, u64>(arguments),
    })
}

fn spmv<V: Value, O: Offset>(Arguments { input, run, .. }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let start = Instant::now();
    let device = run.device.open()?;
    let opening = start.elapsed();

    let input = input.load::<V, O>(default_matrix(&device), run.seed)?;
    let matrix = &input.matrix;
    let x = random_vector(matrix.cols(), run.seed);

    // Matrix and vectors to the device, the analysis, the product, the result back.
    let start = Instant::now();
    let a = device.upload(matrix)?;
    let device_x = device.upload_slice(&x)?;
    let mut device_y = device.upload_slice(&vec![V::from_f64(f64::NAN); matrix.rows()])?; // shows what is not written
    let plan = a.plan_spmv(SpmvOptions::default())?;
    plan.run(V::ONE, &device_x, V::ZERO, &mut device_y)?;
    let y = device_y.to_vec()?;
    let first_result = opening + start.elapsed();

    // With a plan made, as often as one likes.
    let iterations = run.iterations(&device);
    let times = times_ms(&device, iterations, || plan.run(V::ONE, &device_x, V::ZERO, &mut device_y))?;
    let last_y = device_y.to_vec()?;
    let verdict = check(matrix, &x, &y).and_then(|()| check(matrix, &x, &last_y));

    let info = plan.info()?;
    drop((a, plan, device_x, device_y)); // room for the copy rate's buffers
    let mut report = Report::new(run.json, verdict);
    report.matrix(&input.name, matrix);
    report.device(&device);
    report.line("plan", &info, plan_fields(&info));
    report.measurement(&device, &Measurement::new(work(matrix), &times), copy_rate(&device)?);
    report.first_result(opening, first_result);
    Ok(report)
}

/// As large as the device can do in a moment; on a GPU, larger than its cache.
fn default_matrix(device: &Device) -> Kind {
    let side = match device.kind() {
        DeviceKind::Cuda(_) => 2000,
        DeviceKind::Cpu => 1000,
        DeviceKind::Simulated => 60,
    };
    Kind::Stencil5 { side }
}

fn plan_fields(info: &SpmvPlanInfo) -> serde_json::Value {
    let tile = info
        .tile
        .map(|tile| json!({ "block_size": tile.block_size, "items_per_thread": tile.items_per_thread }));
    json!({ "plan": {
        "method": info.method.to_string(),
        "reason": info.reason,
        "tile": tile,
        "tiles": info.tiles,
        "workspace_bytes": info.workspace_bytes,
        "analysis_ms": info.analysis_ms,
    } })
}
