//! The HiSparse tree of one matrix: nodes and bytes by level, y = Ax, y = Aᵀx and A + Aᵀ, timed and checked, and a picture of
//! the tree over the sparsity pattern.

mod picture;

use std::error::Error;
use std::path::PathBuf;

use evenpath::device::DeviceKind;
use evenpath::error::DeviceError;
use evenpath::generate::Kind;
use evenpath::hisparse::{self, DeviceHiSparse, NodeKind};
use evenpath::{Csr, Device, DeviceVec, Value};
use serde_json::json;

use crate::arguments::{MatrixArguments, RunArguments, ValueType};
use crate::input::random_vector;
use crate::measure::{median, times_ms};
use crate::operations::spmv::check;
use crate::report::Report;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    match arguments.value {
        ValueType::F32 => of_value::<f32>(arguments),
        ValueType::F64 => of_value::<f64>(arguments),
    }
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
    let run = &arguments.run;
    let device = run.common.device.open()?;
    let mut input = arguments.input.load::<V, u32>(default_matrix(&device), run.seed)?;
    input.matrix.canonicalize();
    let csr = &input.matrix;
    let mut report = Report::new(run.common.json, Ok(()));
    report.matrix(&input.name, csr);
    report.device(&device);

    let options = hisparse::Options::default().with_share(arguments.share);
    let on_device = device.upload(csr)?;
    let a: DeviceHiSparse<V, D> = on_device.to_hisparse(options)?;
    report.check(right("back to CSR", a.to_csr()?.download()? == *csr));
    let times =
        times_ms(&device, run.repetitions(&device), || on_device.to_hisparse::<D>(options).map(drop))?;
    say_time(&mut report, ("conversion", "from CSR"), &times);
    if device.kind() != DeviceKind::Cpu && !arguments.share {
        let queues = hisparse::ConversionOptions::default().with_method(hisparse::ConversionMethod::Queues);
        let queued = on_device.to_hisparse::<D>(queues)?;
        report.check(right("back to CSR, by queues", queued.to_csr()?.download()? == *csr));
        let times =
            times_ms(&device, run.repetitions(&device), || on_device.to_hisparse::<D>(queues).map(drop))?;
        say_time(&mut report, ("conversion_by_queues", "from CSR by queues"), &times);
    }
    let tree = a.download()?;
    say_statistics(&mut report, &tree.statistics());

    let transposed = csr.transpose()?;
    let products = [("spmv", "Ax", csr, a.clone()), ("spmv_transposed", "Aᵀx", &transposed, a.transpose())];
    for (name, label, csr, a) in products {
        let (x, mut y) = vectors(csr, &device, run.seed)?;
        let plan = a.plan_spmv(hisparse::SpmvOptions::default())?;
        let times = times_ms(&device, run.repetitions(&device), || plan.run(V::ONE, &x, V::ZERO, &mut y))?;
        let verdict = check(csr, &x.download()?, &y.download()?);
        report.check(verdict.map_err(|difference| format!("{name}: {difference}")));
        say_time(&mut report, (name, label), &times);
    }
    if a.nrows() == a.ncols() {
        let sum = a.spadd(&a.transpose(), hisparse::SpaddOptions::default())?.to_csr()?.download()?;
        report.check(right("A + Aᵀ", sum == sum_with_transpose(csr)?));
        let times = times_ms(&device, run.repetitions(&device), || {
            a.spadd(&a.transpose(), hisparse::SpaddOptions::default()).map(drop)
        })?;
        say_time(&mut report, ("spadd_transposed", "A + Aᵀ"), &times);
    } else {
        report.remark("no A + Aᵀ: the matrix is not square");
    }

    if let Some(path) = &arguments.picture {
        report.drawing("picture", path, &picture::draw(&tree))?;
    }
    Ok(report)
}

/// A matrix that takes well under a second.
fn default_matrix(device: &Device) -> Kind {
    let side = match device.kind() {
        DeviceKind::Cuda(_) => 2000,
        DeviceKind::Cpu => 300,
        DeviceKind::Simulated => 60,
    };
    Kind::Stencil5 { side }
}

/// A random x, and a y of NaN, which reveals elements that are not written.
fn vectors<V: Value>(
    csr: &Csr<V>,
    device: &Device,
    seed: u64,
) -> Result<(DeviceVec<V>, DeviceVec<V>), DeviceError> {
    let x: Vec<V> = random_vector(csr.ncols(), seed);
    Ok((device.upload(&x)?, device.upload(&vec![V::from_f64(f64::NAN); csr.nrows()])?))
}

fn right(what: &str, is_right: bool) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{what} is wrong")) }
}

/// A + Aᵀ from the entries. If both have an entry, the sum rounds once, in either order.
fn sum_with_transpose<V: Value>(a: &Csr<V>) -> Result<Csr<V>, evenpath::error::MatrixError> {
    let both = a.iter().flat_map(|(row, col, value)| [(row, col, value), (col, row, value)]);
    Csr::from_triplets(a.nrows(), a.ncols(), both)
}

fn say_time(report: &mut Report, (name, label): (&str, &str), times: &[f64]) {
    let (ms, count) = (median(times), times.len());
    report.line(label, format_args!("{ms:.3} ms, median of {count}"), json!({ name: { "ms": ms } }));
}

/// Adds the statistics of Figures 7.1 and 3.2 of the thesis.
fn say_statistics(report: &mut Report, statistics: &hisparse::Statistics) {
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
            "{:.2} bytes per nonzero, CSR {:.2}, COO {:.2}; shared nodes save {} bytes",
            bytes[0], bytes[1], bytes[2], statistics.saved_bytes
        ),
        json!({
            "bytes_per_nonzero": { "hisparse": bytes[0], "csr": bytes[1], "coo": bytes[2] },
            "pool_bytes": statistics.pool_bytes,
            "saved_bytes": statistics.saved_bytes,
        }),
    );
}
