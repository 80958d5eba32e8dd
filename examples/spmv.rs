//! Sparse matrix times dense vector, y = Ax: on a file or a generated matrix, timed and checked.
//!
//! ```sh
//! cargo run --release --example spmv
//! cargo run --release --example spmv -- a.mtx.gz --device cuda:0 --value f32
//! cargo run --release --example spmv -- power-law:2000000 --method flat
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::device::DeviceKind;
use evenpath::generate::Kind;
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions, SpmvPlanInfo};
use evenpath::{Device, Offset, Value};
use evenpath_bench_support::arguments::{MatrixArguments, OffsetType, RunArguments, ValueType};
use evenpath_bench_support::input::{Input, random_vector};
use evenpath_bench_support::measure::{Measurement, copy_rate, times_ms};
use evenpath_bench_support::program;
use evenpath_bench_support::report::Report;
use evenpath_bench_support::spmv::{Reference, work};
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
    /// Method. The help text lists the names.
    #[arg(long, value_name = "NAME", default_value_t = SpmvMethod::Auto, help = method_help())]
    method: SpmvMethod,
    /// Print the statistics of the matrix, the plan's details, and rates as other programs count them.
    #[arg(long)]
    details: bool,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match (arguments.value, arguments.offset) {
        (ValueType::F32, OffsetType::U32) => spmv::<f32, u32>(arguments),
        (ValueType::F32, OffsetType::U64) => spmv::<f32, u64>(arguments),
        (ValueType::F64, OffsetType::U32) => spmv::<f64, u32>(arguments),
        (ValueType::F64, OffsetType::U64) => spmv::<f64, u64>(arguments),
    })
}

fn method_help() -> String {
    let names: Vec<String> = SpmvMethod::ALL.into_iter().map(|method| method.to_string()).collect();
    format!("Method: {}. The CPU supports only some of them", names.join(", "))
}

fn spmv<V: Value, O: Offset>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { input, run, method, details, .. } = arguments;
    let start = Instant::now();
    let device = run.common.device.open()?;
    let opening = start.elapsed();
    let Input { name, matrix } = input.load::<V, O>(default_matrix(&device), run.seed)?;
    let host_x: Vec<V> = random_vector(matrix.ncols(), run.seed);

    // Upload the matrix and the vectors, plan, multiply, download the result.
    let start = Instant::now();
    let a = device.upload(&matrix)?;
    let x = device.upload(&host_x)?;
    let mut y = device.upload(&vec![V::from_f64(f64::NAN); matrix.nrows()])?; // unwritten elements stay NaN
    let plan = a.plan_spmv(SpmvOptions::default().with_method(*method))?;
    plan.run(V::ONE, &x, V::ZERO, &mut y)?;
    let first_y = y.download()?;
    let first_result = opening + start.elapsed();
    let reference = Reference::new(&matrix, &host_x)?;
    let mut verdict = reference.check(&first_y);

    // A plan serves any number of products.
    let times = times_ms(&device, run.repetitions(&device), || plan.run(V::ONE, &x, V::ZERO, &mut y))?;
    let last_y = y.download()?;
    verdict = verdict.and_then(|()| reference.check(&last_y));
    let info = plan.info()?;

    drop((a, plan, x, y)); // frees memory for the buffers of the copy rate
    let mut report = Report::new(run.common.json, verdict).brief(!details);
    report.matrix(&name, &matrix);
    report.device(&device);
    let SpmvPlanInfo { method, reason, analysis_ms, .. } = &info;
    let plan =
        if *details { info.to_string() } else { format!("{method}, in {analysis_ms:.2} ms: {reason}") };
    report.line("plan", plan, plan_fields(&info));
    report.measurement(&device, &Measurement::new(work(&matrix), &times), copy_rate(&device)?);
    report.first_result(opening, first_result);
    Ok(report)
}

/// A stencil that takes well under a second; on a GPU, larger than its cache.
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
    let figures = info.details.iter().flat_map(SpmvDetails::figures);
    let details: serde_json::Map<_, _> =
        figures.map(|(name, figure)| (name.to_string(), json!(figure))).collect();
    json!({ "plan": {
        "method": info.method.to_string(),
        "reason": info.reason,
        "tile": tile,
        "tiles": info.tiles,
        "details": details,
        "workspace_bytes": info.workspace_bytes,
        "analysis_ms": info.analysis_ms,
    } })
}
