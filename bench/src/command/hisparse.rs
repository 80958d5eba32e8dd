use std::error::Error;
use std::fmt::Write; // into strings, which does not fail
use std::process::ExitCode;

use crate::arguments::ValueType;
use crate::operations::hisparse::{Case, Extent, Product, Record, Summary, measure};
use crate::measure::copy_rate;
use crate::peers::PeerValue;
use crate::suite::SuiteError;
use evenpath::Csr;
use serde_json::json;

use super::selection::{MatrixSelection, Measuring, Values};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// Rows and columns of a node: 32, 64, 128 or 256.
    #[arg(long, value_delimiter = ',', value_name = "D", default_values = ["128"], value_parser = ["32", "64", "128", "256"])]
    node: Vec<String>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    values: Values,
    /// Print one JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Measures a matrix with every requested node size.
    fn measure<V: PeerValue>(
        &self,
        case: &Case<'_>,
        matrix: &Csr<V>,
        records: &mut Vec<Record>,
    ) -> Result<(), Box<dyn Error>> {
        for node in &self.node {
            let record = match node.as_str() {
                "32" => measure::<V, 32>(case, matrix)?,
                "64" => measure::<V, 64>(case, matrix)?,
                "256" => measure::<V, 256>(case, matrix)?,
                _ => measure::<V, 128>(case, matrix)?,
            };
            if self.json {
                println!("{}", to_json(&record));
            } else {
                print!("{}", lines(&record));
            }
            records.push(record);
        }
        Ok(())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let sources = arguments.matrices.sources()?;
    let device = arguments.measuring.device.open()?;
    let peers = arguments.measuring.open_peers(&device);
    let copy_gbps = copy_rate(&device)?;
    begin(arguments.json, &device.to_string(), copy_gbps, peers.versions());
    let (mut records, mut unread) = (Vec::new(), 0);
    for (suite, source) in sources {
        let name = source.to_string();
        let case = Case {
            device: &device,
            copy_gbps,
            peers: &peers,
            repetitions: arguments.measuring.repetitions(device.kind(), 50, 10, 2),
            suite,
            matrix: &name,
            generated: source.is_generated(),
            extent: Extent::Whole,
        };
        let mut matrix = match source.load() {
            Ok(matrix) => matrix,
            Err(error) => {
                report_unread(arguments.json, suite, &name, &error);
                unread += 1;
                continue;
            }
        };
        matrix.canonicalize();
        if arguments.values.value.contains(&ValueType::F64) {
            arguments.measure(&case, &matrix, &mut records)?;
        }
        if arguments.values.value.contains(&ValueType::F32) {
            arguments.measure(&case, &matrix.into_values::<f32>(), &mut records)?;
        }
    }
    for summary in Summary::all(&records) {
        if arguments.json {
            println!("{}", json!({ "summary": summary }));
        } else {
            println!("{}", summary_text(&summary));
        }
    }
    let is_nothing_measured = unread > 0 && records.is_empty();
    let is_right = !is_nothing_measured && records.iter().all(Record::is_right);
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says why a matrix is not measured. The others are.
fn report_unread(json: bool, suite: &str, matrix: &str, error: &SuiteError) {
    if json {
        let failed = error.to_string();
        println!("{}", json!({ "op": "hisparse", "suite": suite, "matrix": matrix, "failed": failed }));
    } else {
        println!("{matrix:<22} not measured: {error}");
    }
}

fn begin(json: bool, device: &str, copy_gbps: f64, peers: &[String]) {
    if json {
        return println!("{}", json!({ "device": device, "copy_gbps": copy_gbps, "peers": peers }));
    }
    let beside = if peers.is_empty() { String::new() } else { format!(", beside {}", peers.join(", ")) };
    println!("{device}, copies at {copy_gbps:.0} GB/s{beside}");
    println!(
        "{:<22} {:>4} {:>4} {:>10} {:<16} {:<8} {:>9} {:>8} {:>9} {:>6} {:>9} {:>6}",
        "matrix", "", "node", "nonzeros", "product", "", "ms", "of copy", "csr ms", "x", "cusparse", "x"
    );
}

/// One line for the matrix, and one per product and schedule.
fn lines(record: &Record) -> String {
    let start = format!("{:<22} {:>4} {:>4} {:>10}", record.matrix, record.value, record.node, record.nnz);
    let nonzeros = record.nnz.max(1) as f64;
    let bytes = &record.bytes;
    let mut text = format!(
        "{start} bytes per nonzero: {:.2}, csr {:.2}, coo {:.2}\n",
        bytes.hisparse_bytes as f64 / nonzeros,
        bytes.csr_bytes as f64 / nonzeros,
        bytes.coo_bytes as f64 / nonzeros
    );
    for product in &record.products {
        text += &product_lines(&start, product);
    }
    for sum in &record.sums {
        let verdict =
            sum.difference.as_ref().map_or(String::new(), |difference| format!("  FAIL: {difference}"));
        let making = sum.cusparse_transpose_ms.map_or(String::new(), |ms| format!(", csr2csc {ms:.4}"));
        let _ = writeln!(
            text,
            "{start} {:<16} {:<8} {:>9.4} {:>8} {} {}{making}{verdict}",
            sum.op,
            "",
            sum.ms,
            "",
            beside(Some(sum.csr_ms), sum.ms),
            beside(sum.cusparse_ms, sum.ms)
        );
    }
    let spmvs = record.conversion_spmvs().map_or(String::new(), |spmvs| format!(", {spmvs:.1} SpMVs in CSR"));
    if let Some(ms) = record.conversion_ms {
        let _ = writeln!(text, "{start} conversion from CSR {ms:.4} ms{spmvs}");
    }
    text
}

/// Another library's milliseconds, and their ratio to ours.
fn beside(other: Option<f64>, ms: f64) -> String {
    match other {
        Some(other) => format!("{other:>9.4} {:>6.3}", other / ms),
        None => format!("{:>9} {:>6}", "-", "-"),
    }
}

fn product_lines(start: &str, product: &Product) -> String {
    let mut text = String::new();
    for way in &product.ways {
        let verdict =
            way.difference.as_ref().map_or(String::new(), |difference| format!("  FAIL: {difference}"));
        let _ = writeln!(
            text,
            "{start} {:<16} {:<8} {:>9.4} {:>8.3} {} {}{verdict}",
            product.op,
            way.schedule,
            way.ms,
            way.copy_share,
            beside(product.csr_ms(), way.ms),
            beside(product.cusparse_ms(), way.ms)
        );
    }
    text
}

fn summary_text(summary: &Summary) -> String {
    let mut text = format!(
        "{} of {} x {}: {} matrices; {:.3} times the bytes of CSR",
        summary.value, summary.node, summary.node, summary.matrices, summary.mean_bytes_over_csr
    );
    for (name, means) in [("CSR", &summary.csr_over), ("cuSPARSE", &summary.cusparse_over)] {
        for (product, mean) in means {
            let _ = write!(text, "; time of {name} over {product}: {mean:.3}");
        }
    }
    if let Some(mean) = summary.queue_over_frozen {
        let _ = write!(text, "; time of queue over frozen: {mean:.3}");
    }
    if let Some(mean) = summary.conversion_spmvs {
        let _ = write!(text, "; conversion takes {mean:.1} SpMVs in CSR");
    }
    text
}

fn to_json(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_else(|error| unreachable!("records are plain data: {error}"))
}
