//! Sum of sparse matrices, C = A + B: on a file or a generated matrix, timed and checked.
//!
//! ```sh
//! cargo run --release --example spadd
//! cargo run --release --example spadd -- --matrix a.mtx.gz --plus itself --value f32
//! ```

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use evenpath::device::DeviceKind;
use evenpath::generate::Kind;
use evenpath::{Device, Value};
use evenpath_bench::arguments::{MatrixArguments, RunArguments, ValueType};
use evenpath_bench::measure::{Measurement, copy_rate, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::spadd::{Addend, check, work};
use serde_json::json;

/// Sum of sparse matrices, C = A + B: timed, and checked against a computation in f64.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// B: the matrix itself, its transpose, or the matrix shifted by a column.
    #[arg(long, value_enum, default_value = "shifted")]
    plus: Addend,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.value {
        ValueType::F32 => spadd::<f32>(arguments),
        ValueType::F64 => spadd::<f64>(arguments),
    })
}

fn spadd<V: Value>(
    &Arguments { ref input, ref run, plus, .. }: &Arguments,
) -> Result<Report, Box<dyn Error>> {
    let device = run.device.open()?;
    let input = input.load::<V, u32>(default_matrix(&device), run.seed)?;
    let (name, mut a) = (input.name, input.matrix);
    a.canonicalize();
    let Some(b) = plus.of(&a) else {
        return Err(format!("{name} is {} x {}, and its transpose is not", a.rows(), a.cols()).into());
    };

    // Matrices to the device, the sum, the result back.
    let (device_a, device_b) = (device.upload(&a)?, device.upload(&b)?);
    let c = device_a.add(V::ONE, &device_b, V::ONE)?;
    let verdict = check((V::ONE, &a), (V::ONE, &b), &c.download()?);
    let nonzeros = c.nnz();
    drop(c);
    let iterations = run.iterations(&device);
    let times = times_ms(&device, iterations, || device_a.add(V::ONE, &device_b, V::ONE).map(drop))?;

    // With a plan made, values can change as often as one likes.
    let plan = device_a.plan_add(&device_b)?;
    let values_times = times_ms(&device, iterations, || plan.run(V::ONE, V::ONE).map(drop))?;
    let workspace_bytes = plan.info()?.workspace_bytes;

    drop((device_a, device_b, plan)); // room for the copy rate's buffers
    let mut report = Report::new(run.json, verdict);
    report.matrix(&name, &a);
    report.line(
        "sum",
        format_args!("A + {}, {nonzeros} nonzeros", plus.name()),
        json!({ "plus": plus.name(), "nnz_c": nonzeros }),
    );
    report.device(&device);
    let work = work(&a, &b, nonzeros);
    let values = Measurement::new(work, &values_times);
    report.line(
        "planned",
        format_args!("{:.4} ms for the values alone, {workspace_bytes} bytes beside the result", values.ms),
        json!({ "values_ms": values.ms, "workspace_bytes": workspace_bytes }),
    );
    report.measurement(&device, &Measurement::new(work, &times), copy_rate(&device)?);
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
