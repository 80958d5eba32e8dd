//! HiSparse, the hierarchical format: what a matrix's tree is made of and takes, y = Ax, y = Aᵀx and A + Aᵀ on it, timed and
//! checked, and a picture of the tree over the sparsity pattern. Runs on the CPU.
//!
//! ```sh
//! cargo run --release --example hisparse
//! cargo run --release --example hisparse -- --generate rmat:12 --node 32 --share --picture tree.svg
//! ```

#[path = "hisparse/picture.rs"]
mod picture;

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::generate::Kind;
use evenpath::{Csr, Device, HiSparse, HiSparseOptions, HiSparseStatistics, NodeKind, Value};
use evenpath_bench::arguments::{MatrixArguments, ValueType};
use evenpath_bench::input::random_vector;
use evenpath_bench::measure::{median, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::spmv::check;
use serde_json::json;

/// HiSparse: the tree's statistics and bytes a nonzero; y = Ax, y = Aᵀx and A + Aᵀ, timed and checked; a picture. Runs on
/// the CPU.
///
/// Exit code: 0 if every result is right, 1 if one is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f32")]
    value: ValueType,
    /// Rows and columns of a node: 32, 64, 128 or 256.
    #[arg(long, value_name = "D", default_value = "128", value_parser = ["32", "64", "128", "256"])]
    node: String,
    /// Store equal subtrees once.
    #[arg(long)]
    share: bool,
    /// Draw the tree over the sparsity pattern, as SVG.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Runs that are timed.
    #[arg(long, value_name = "N", default_value = "20")]
    iterations: NonZeroUsize,
    /// Seed of everything that is random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.value {
        ValueType::F32 => of_value::<f32>(arguments),
        ValueType::F64 => of_value::<f64>(arguments),
    })
}

fn of_value<V: Value>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    match arguments.node.as_str() {
        "32" => hisparse::<V, 32>(arguments),
        "64" => hisparse::<V, 64>(arguments),
        "256" => hisparse::<V, 256>(arguments),
        _ => hisparse::<V, 128>(arguments),
    }
}

fn hisparse<V: Value, const D: usize>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut input = arguments.input.load::<V, u32>(Kind::Stencil5 { side: 300 }, arguments.seed)?;
    input.matrix.canonicalize();
    let csr = &input.matrix;
    let mut report = Report::new(arguments.json, Ok(()));
    report.matrix(&input.name, csr);
    report.device(&Device::cpu());

    let start = Instant::now();
    let a: HiSparse<V, D> = csr.to_hisparse(HiSparseOptions { share: arguments.share })?;
    let conversion_ms = start.elapsed().as_secs_f64() * 1e3;
    report.line(
        "conversion",
        format_args!("{conversion_ms:.1} ms"),
        json!({ "conversion_ms": conversion_ms }),
    );
    report.check(right("back to CSR", a.to_csr::<u32>()? == *csr));
    say_statistics(&mut report, &a.statistics());

    let iterations = arguments.iterations.get();
    let transposed = csr.transpose();
    let products = [("spmv", "Ax", csr, a.clone()), ("spmv_transposed", "Aᵀx", &transposed, a.transpose())];
    for (name, label, csr, a) in products {
        let x: Vec<V> = random_vector(csr.cols(), arguments.seed);
        let mut y = vec![V::from_f64(f64::NAN); csr.rows()]; // shows what is not written
        let times = times_ms(&Device::cpu(), iterations, || a.spmv(V::ONE, &x, V::ZERO, &mut y))?;
        report.check(check(csr, &x, &y).map_err(|difference| format!("{name}: {difference}")));
        say_time(&mut report, (name, label), &times);
    }
    if a.rows() == a.cols() {
        let sum = a.add(&a.transpose())?;
        let expected = sum_with_transpose(csr)?;
        report.check(right("A + Aᵀ", sum.to_csr::<u32>()? == expected));
        let times = times_ms(&Device::cpu(), iterations, || {
            a.add(&a.transpose()).map(drop).map_err(Box::<dyn Error>::from)
        })?;
        say_time(&mut report, ("spadd_transposed", "A + Aᵀ"), &times);
    } else {
        report.remark("no A + Aᵀ: the matrix is not square");
    }

    if let Some(path) = &arguments.picture {
        std::fs::write(path, picture::draw(&a)).map_err(|error| format!("{}: {error}", path.display()))?;
        report.line("picture", path.display(), json!({ "picture": path }));
    }
    Ok(report)
}

fn right(what: &str, is_right: bool) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{what} is wrong")) }
}

/// A + Aᵀ of the entries: where both have one, a sum of two, which has one rounding in either order.
fn sum_with_transpose<V: Value>(a: &Csr<V>) -> Result<Csr<V>, evenpath::MatrixError> {
    let both = a.iter().flat_map(|(row, col, value)| [(row, col, value), (col, row, value)]);
    Csr::from_triplets(a.rows(), a.cols(), both)
}

fn say_time(report: &mut Report, (name, label): (&str, &str), times: &[f64]) {
    let (ms, count) = (median(times), times.len());
    report.line(label, format_args!("{ms:.3} ms, median of {count}"), json!({ name: { "ms": ms } }));
}

/// As in Figures 7.1 and 3.2 of the thesis.
fn say_statistics(report: &mut Report, statistics: &HiSparseStatistics) {
    for (number, level) in statistics.levels.iter().enumerate() {
        let is_leaf = number + 1 == statistics.levels.len();
        let (sparse, dense, all) = (level.sparse(), level.kind(NodeKind::Dense), level.all());
        let nodes = if is_leaf { "leaves" } else { "nodes" };
        report.line(
            &format!("level {number}"),
            format_args!(
                "{} sparse {nodes} ({} COO1, {} COO2, {} COO4), {} dense; {:.1} entries each, {} bytes",
                sparse.nodes,
                level.kind(NodeKind::Coo1).nodes,
                level.kind(NodeKind::Coo2).nodes,
                level.kind(NodeKind::Coo4).nodes,
                dense.nodes,
                all.mean_entries(),
                all.bytes
            ),
            json!({ format!("level_{number}"): {
                "sparse": sparse.nodes, "dense": dense.nodes, "entries": all.entries, "bytes": all.bytes
            } }),
        );
    }
    let bytes = [
        statistics.bytes_per_nonzero(),
        statistics.csr_bytes_per_nonzero(),
        statistics.coo_bytes_per_nonzero(),
    ];
    report.line(
        "pool",
        format_args!(
            "{:.2} bytes a nonzero, CSR {:.2}, COO {:.2}; shared nodes save {} bytes",
            bytes[0], bytes[1], bytes[2], statistics.saved_bytes
        ),
        json!({
            "bytes_per_nonzero": { "hisparse": bytes[0], "csr": bytes[1], "coo": bytes[2] },
            "pool_bytes": statistics.pool_bytes,
            "saved_bytes": statistics.saved_bytes,
        }),
    );
}
