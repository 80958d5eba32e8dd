use std::error::Error;
use std::process::ExitCode;

use evenpath::generate::{Kind, generate};
use evenpath::{Csr, Device, SpmvMethod, SpmvOptions, Value};
use evenpath_bench::input::random_vector;
use evenpath_bench::measure::copy_rate;
use evenpath_bench::spmv::{check, measure};

/// The generated matrices that are measured by default: of every shape that decides over a schedule.
const SUITE: [&str; 6] =
    ["stencil5:2000", "fem:1000000", "power-law:2000000", "uniform:2000000", "lp:4284", "empty-rows:8000000"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Kinds of matrix to generate, such as `stencil5:2000`.
    #[arg(long, value_delimiter = ',', default_values = SUITE)]
    generate: Vec<String>,
    /// The method, by its name.
    #[arg(long, default_value_t = SpmvMethod::Auto)]
    method: SpmvMethod,
    /// Runs that are timed for each measurement.
    #[arg(long, default_value_t = 100)]
    repetitions: usize,
    /// One JSON object a line, instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let device = Device::best()?;
    let rate = copy_rate(&device)?;
    if arguments.json {
        println!("{}", serde_json::json!({ "device": device.to_string(), "copy_gbps": rate }));
    } else {
        println!("{device}, copies at {rate:.0} GB/s");
        println!(
            "{:<24} {:>5} {:>12} {:>10} {:>10} {:>10} {:>7} {:>9}",
            "matrix", "value", "nonzeros", "ms", "GFLOP/s", "GB/s", "of copy", "plan ms"
        );
    }
    let mut all_right = true;
    for name in &arguments.generate {
        let kind: Kind = name.parse()?;
        let matrix: Csr<f64> = generate(kind, 1)?;
        all_right &= report(&device, name, &matrix, rate, arguments)?;
        all_right &= report(&device, name, &matrix.into_values::<f32>(), rate, arguments)?;
    }
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures one matrix and prints a line; whether the result was right.
fn report<V: Value>(
    device: &Device,
    name: &str,
    matrix: &Csr<V>,
    rate: f64,
    arguments: &Arguments,
) -> Result<bool, Box<dyn Error>> {
    let x: Vec<V> = random_vector(matrix.cols(), 1);
    let (measured, plan, y) =
        measure(device, matrix, &x, SpmvOptions::with_method(arguments.method), arguments.repetitions)?;
    let checked = check(matrix, &x, &y);
    let verdict = checked.as_ref().map_or_else(|error| format!("  FAIL: {error}"), |()| String::new());
    if arguments.json {
        let mut line = serde_json::json!({ "op": "spmv", "matrix": name, "value": V::NAME, "rows": matrix.rows(), "cols": matrix.cols(), "nnz": matrix.nnz(), "copy_share": measured.gbps / rate, "plan_ms": plan.analysis_ms, "verified": checked.is_ok() });
        if let (Some(line), serde_json::Value::Object(fields)) =
            (line.as_object_mut(), serde_json::to_value(&measured)?)
        {
            line.extend(fields);
        }
        println!("{line}");
    } else {
        println!(
            "{name:<24} {:>5} {:>12} {:>10.4} {:>10.1} {:>10.1} {:>7.2} {:>9.4}{verdict}",
            V::NAME,
            matrix.nnz(),
            measured.ms,
            measured.gflops,
            measured.gbps,
            measured.gbps / rate,
            plan.analysis_ms
        );
    }
    Ok(checked.is_ok())
}
