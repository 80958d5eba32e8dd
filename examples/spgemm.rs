//! Sparse matrix times sparse matrix: a squared graph, a Galerkin product of algebraic multigrid, or a matrix and its
//! transpose; timed and checked.
//!
//! ```sh
//! cargo run --release --example spgemm
//! cargo run --release --example spgemm -- --product galerkin --generate stencil27:60
//! cargo run --release --example spgemm -- --generate rmat:17 --method two-level-sort --value f32
//! ```

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use evenpath::device::DeviceKind;
use evenpath::generate::Kind;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions, SpgemmPlanInfo};
use evenpath::{Csr, Device, DeviceCsr, Value};
use evenpath_bench::arguments::{MatrixArguments, RunArguments, ValueType};
use evenpath_bench::input::random_vector;
use evenpath_bench::measure::{median, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use serde_json::json;

/// Sparse matrix times sparse matrix: timed, and checked against vectors in f64.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Which product.
    #[arg(long, value_enum, default_value = "square")]
    product: Product,
    /// How: auto, row-wise or two-level-sort.
    #[arg(long, default_value_t = SpgemmMethod::Auto)]
    method: SpgemmMethod,
    /// Bytes that workspace and result may take. [default: nine tenths of what is free]
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Product {
    /// A·A: paths of two steps in a graph.
    Square,
    /// Pᵀ·A·P: the coarse matrix of algebraic multigrid, with four neighboring unknowns an aggregate.
    Galerkin,
    /// A·Aᵀ.
    Outer,
    /// Aᵀ·A.
    Inner,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.value {
        ValueType::F32 => spgemm::<f32>(arguments),
        ValueType::F64 => spgemm::<f64>(arguments),
    })
}

fn spgemm<V: Value>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { input, run, product, .. } = arguments;
    let device = run.device.open()?;
    let input = input.load::<V, u32>(default_matrix(&device), run.seed)?;
    let mut options = SpgemmOptions::default().with_method(arguments.method);
    options.memory_limit = arguments.memory_limit;
    let factors = factors(*product, &input.matrix)?;
    let on_device: Vec<DeviceCsr<V>> = factors.iter().map(|f| device.upload(f)).collect::<Result<_, _>>()?;

    // The product from the right: each step is one multiplication.
    let whole = || {
        let (last, rest) = on_device.split_last().expect("a product has factors");
        rest.iter().rev().try_fold(last.clone(), |right, left| left.multiply_with(&right, options))
    };
    let result = whole()?;
    let verdict = check(&factors, &result.download()?);
    drop(result);
    let iterations = run.iterations(&device);
    let whole_ms = median(&times_ms(&device, iterations, || whole().map(drop))?);

    // With a plan, the last multiplication for new values.
    let right = match &on_device[1..] {
        [right] => right.clone(),
        [middle, right] => middle.multiply_with(right, options)?,
        _ => unreachable!("two factors or three"),
    };
    let plan = on_device[0].plan_multiply(&right, options)?;
    plan.run()?;
    let again_ms = median(&times_ms(&device, iterations, || plan.run().map(drop))?);
    let analyzed_ms =
        median(&times_ms(&device, iterations, || on_device[0].plan_multiply(&right, options).map(drop))?);
    let info = plan.info()?;

    let mut report = Report::new(run.json, verdict);
    report.matrix(&input.name, &input.matrix);
    report.device(&device);
    report.line("plan", info, plan_fields(&info));
    let gflops = 2.0 * info.products as f64 / whole_ms / 1e6;
    report.line(
        "time",
        format_args!(
            "{whole_ms:.4} ms, {gflops:.1} GFLOP/s; the last product: {analyzed_ms:.4} ms of analysis, {again_ms:.4} ms for new values"
        ),
        json!({ "ms": whole_ms, "gflops": gflops, "analysis_ms": analyzed_ms, "again_ms": again_ms }),
    );
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

/// The matrices that are multiplied.
fn factors<V: Value>(product: Product, a: &Csr<V>) -> Result<Vec<Csr<V>>, Box<dyn Error>> {
    let needs_square = matches!(product, Product::Square | Product::Galerkin);
    if needs_square && a.rows() != a.cols() {
        return Err(format!("a matrix of {} x {} is not square: --product outer", a.rows(), a.cols()).into());
    }
    Ok(match product {
        Product::Square => vec![a.clone(), a.clone()],
        Product::Outer => vec![a.clone(), a.transpose()],
        Product::Inner => vec![a.transpose(), a.clone()],
        Product::Galerkin => {
            let aggregates = a.rows().div_ceil(4);
            let entries = (0..a.rows()).map(|row| (row, row / 4, V::ONE));
            let p = Csr::from_triplets(a.rows(), aggregates, entries)?;
            vec![p.transpose(), a.clone(), p]
        }
    })
}

/// Whether C is the product of the factors, tried on a vector in f64: an element may be off by (n + f)·ε·Σ of magnitudes
/// for rows of n products and f factors; n is taken as the entries that A's row leads to, at most.
fn check<V: Value>(factors: &[Csr<V>], c: &Csr<V>) -> Result<(), String> {
    c.check_canonical().map_err(|error| error.to_string())?;
    let x: Vec<f64> = random_vector(c.cols(), 7);
    let magnitudes: Vec<f64> = x.iter().map(|x: &f64| x.abs()).collect();
    // Sums, their magnitudes, and how many roundings they had.
    let mut expected: Vec<(f64, f64, f64)> =
        x.iter().zip(&magnitudes).map(|(&x, &magnitude)| (x, magnitude, 0.0)).collect();
    for factor in factors.iter().rev() {
        expected = factor
            .iter_rows()
            .map(|row| {
                row.iter().fold((0.0, 0.0, 0.0), |(sum, magnitude, count), (k, value)| {
                    let (next, next_magnitude, next_count) = expected[k as usize];
                    let value = value.to_f64();
                    (
                        sum + value * next,
                        magnitude + value.abs() * next_magnitude,
                        f64::max(count, next_count) + 1.0,
                    )
                })
            })
            .collect();
    }
    if c.rows() != expected.len() {
        return Err(format!("{} rows, not {}", c.rows(), expected.len()));
    }
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    for (index, (row, (sum, magnitude, count))) in c.iter_rows().zip(expected).enumerate() {
        let found: f64 = row.iter().map(|(column, value)| value.to_f64() * x[column as usize]).sum();
        let bound = 2.0 * (count + row.len() as f64 + 4.0) * epsilon * magnitude;
        // Not `>`, which NaN would pass.
        let close = (found - sum).abs() <= bound;
        if !close {
            return Err(format!("row {index} times a vector is {found}, not {sum} within {bound:.1e}"));
        }
    }
    Ok(())
}

fn plan_fields(info: &SpgemmPlanInfo) -> serde_json::Value {
    json!({ "plan": {
        "method": info.method.to_string(),
        "products": info.products,
        "nonzeros": info.nnz,
        "workspace_bytes": info.workspace_bytes,
        "analysis_ms": info.analysis_ms,
    } })
}
