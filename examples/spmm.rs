//! Sparse matrix times dense matrix, C = AB: on a file or a generated matrix, timed and checked.
//!
//! ```sh
//! cargo run --release --example spmm
//! cargo run --release --example spmm -- --matrix a.mtx.gz --columns 64 --layout column-major --value f16
//! ```

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use evenpath::device::DeviceKind;
use evenpath::generate::Kind;
use evenpath::spmm::{SpmmOperand, SpmmOptions, SpmmPlanInfo};
use evenpath::{Compute, Device, DeviceDense, Layout, Storage, bf16, f16};
use evenpath_bench::arguments::{MatrixArguments, RunArguments};
use evenpath_bench::input::random_vector;
use evenpath_bench::measure::{Measurement, copy_rate, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::spmm::{check, work};
use serde_json::json;

/// Sparse matrix times dense matrix, C = AB: timed, and checked against a computation in f64.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Columns of B and C.
    #[arg(long, default_value_t = 32)]
    columns: usize,
    /// Layout of B and C: row-major or column-major.
    #[arg(long, default_value_t = Layout::RowMajor)]
    layout: Layout,
    /// Type of the values of all three matrices; those of 16 bits are computed with in f32.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
}

#[derive(Clone, Copy, ValueEnum)]
enum ValueType {
    F16,
    Bf16,
    F32,
    F64,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.value {
        ValueType::F16 => spmm::<f16, f16>(arguments),
        ValueType::Bf16 => spmm::<bf16, bf16>(arguments),
        ValueType::F32 => spmm::<f32, f32>(arguments),
        ValueType::F64 => spmm::<f64, f64>(arguments),
    })
}

fn spmm<S: Storage, T: SpmmOperand<S>>(
    &Arguments { ref input, ref run, columns, layout, .. }: &Arguments,
) -> Result<Report, Box<dyn Error>>
where
    Compute<S>: Storage,
{
    let device = run.device.open()?;
    let input = input.load::<f64, u32>(default_matrix(&device), run.seed)?;
    let (name, matrix) = (input.name, input.matrix.into_values::<S>());
    let b: Vec<T> = random_vector(matrix.cols() * columns, run.seed);

    // Matrices to the device, the analysis, the product, the result back.
    let a = device.upload(&matrix)?;
    let device_b = DeviceDense::try_new(device.upload(&b)?, matrix.cols(), columns, layout)?;
    let mut device_c = device.zeros_dense(matrix.rows(), columns, layout)?;
    let plan = a.plan_spmm(SpmmOptions::default().with_columns(columns).with_layout(layout))?;
    let (one, zero) = (<Compute<S> as Storage>::from_f64(1.0), <Compute<S> as Storage>::from_f64(0.0));
    plan.run(one, &device_b, zero, &mut device_c)?;
    let verdict = check(&matrix, &b, &device_c.as_vec().download()?, columns, layout);

    // With a plan made, as often as one likes.
    let times = times_ms(&device, run.iterations(&device), || plan.run(one, &device_b, zero, &mut device_c))?;

    let info = plan.info()?;
    drop((a, plan, device_b, device_c)); // room for the copy rate's buffers
    let mut report = Report::new(run.json, verdict);
    report.matrix(&name, &matrix);
    report.line(
        "dense",
        format_args!("{columns} columns, {layout}, {}", T::NAME),
        json!({ "columns": columns, "layout": layout.to_string(), "operands": T::NAME }),
    );
    report.device(&device);
    report.line("plan", &info, plan_fields(&info));
    let measured = Measurement::new(work::<S, T, u32>(&matrix, columns), &times);
    report.measurement(&device, &measured, copy_rate(&device)?);
    Ok(report)
}

/// As large as the device can do in a moment.
fn default_matrix(device: &Device) -> Kind {
    let side = match device.kind() {
        DeviceKind::Cuda(_) => 1000,
        DeviceKind::Cpu => 300,
        DeviceKind::Simulated => 20,
    };
    Kind::Stencil5 { side }
}

fn plan_fields(info: &SpmmPlanInfo) -> serde_json::Value {
    json!({ "plan": {
        "long_rows": info.long_rows,
        "pieces": info.pieces,
        "longest": info.longest,
        "workspace_bytes": info.workspace_bytes,
        "analysis_ms": info.analysis_ms,
    } })
}
