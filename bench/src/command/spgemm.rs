use std::error::Error;
use std::process::ExitCode;

use crate::arguments::ValueType;
use crate::spgemm::{Case, Figures, MethodRecord, Outcome, Record, Summary, measure, other_factor};
use evenpath::spgemm::SpgemmMethod;

use super::selection::{MatrixSelection, Measuring, Values};

/// The generated matrices that are measured by default: of every shape that decides over speed, and small enough for
/// their products.
const GENERATED: [&str; 8] = [
    "stencil5:1000",
    "stencil27:80",
    "block-fem:10000x3",
    "fem:60000",
    "uniform:250000",
    "power-law:200000",
    "rmat:16",
    "lp:1000",
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// Methods, by name.
    #[arg(long, value_delimiter = ',', default_values_t = SpgemmMethod::ALL.into_iter())]
    method: Vec<SpgemmMethod>,
    /// Bytes of device memory that a product may take. [default: nine tenths of what is free]
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    values: Values,
    /// One JSON object a line, instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let sources = arguments.matrices.sources_or(&GENERATED)?;
    let device = arguments.measuring.device.open()?;
    let peers = arguments.measuring.open_peers(&device);
    if arguments.json {
        println!("{}", serde_json::json!({ "device": device.to_string() }));
    } else {
        println!("{device}; C = AA, or AAᵀ where A is not square");
        println!(
            "{:<20} {:>5} {:>12} {:>11}  {:<16} {:>9} {:>9} {:>8} {:>9} {:>6}",
            "matrix",
            "value",
            "products",
            "nonzeros",
            "method",
            "ms",
            "numeric",
            "GFLOP/s",
            "peak MB",
            "ratio"
        );
    }
    let mut records = Vec::new();
    for (suite, source) in sources {
        let name = source.to_string();
        let case = Case {
            device: &device,
            methods: &arguments.method,
            cusparse: peers.cusparse(),
            memory_limit: arguments.memory_limit,
            repetitions: arguments.measuring.repetitions(device.kind(), 5, 5, 5),
            suite,
            matrix: &name,
        };
        let mut report = |record: Record| {
            if arguments.json {
                println!("{}", serde_json::json!(record));
            } else {
                print!("{}", lines(&record));
            }
            records.push(record);
        };
        let a = source.load()?;
        let b = other_factor(&a);
        if arguments.values.value.contains(&ValueType::F64) {
            report(measure(&case, &a, &b)?);
        }
        if arguments.values.value.contains(&ValueType::F32) {
            report(measure(&case, &a.into_values::<f32>(), &b.into_values::<f32>())?);
        }
    }
    for summary in Summary::all(&records) {
        if arguments.json {
            println!("{}", serde_json::json!({ "summary": summary }));
        } else {
            println!("{}", summary_text(&summary));
        }
    }
    Ok(if records.iter().all(Record::is_right) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line a method and algorithm, and the phases.
fn lines(record: &Record) -> String {
    let mut text = Vec::new();
    let mut line = |name: &str, outcome: &Outcome, ratio: Option<f64>| {
        let start = format!("{:<20} {:>5} {:>12}", record.matrix, record.value, record.products);
        match outcome {
            Outcome::Failed { error } => text.push(format!("{start} {:>11}  {name:<16} {error}\n", "")),
            Outcome::Measured(Figures { ms, numeric_ms, gflops, nonzeros, peak_bytes, difference }) => {
                let numeric = numeric_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
                let ratio = ratio.map_or("-".into(), |ratio| format!("{ratio:.3}"));
                let verdict = difference.as_ref().map_or(String::new(), |found| format!("  FAIL: {found}"));
                let megabytes = *peak_bytes as f64 / 1e6;
                text.push(format!(
                    "{start} {nonzeros:>11}  {name:<16} {ms:>9.4} {numeric:>9} {gflops:>8.1} {megabytes:>9.1} \
                     {ratio:>6}{verdict}\n"
                ));
            }
        }
    };
    for method in &record.methods {
        let MethodRecord { method: name, outcome } = method;
        line(name, outcome, record.ratio(method));
    }
    for peer in &record.cusparse {
        line(&format!("cusparse {}", peer.algorithm), &peer.outcome, None);
    }
    if let Some(phases) = record.phases {
        text.push(format!(
            "{:<20} {:>5} two-level-sort, ms: setup {:.3}, block sort {:.3}, global sort {:.3}, placement {:.3}, product \
             compute {:.3}, reduce by key {:.3}\n",
            record.matrix,
            record.value,
            phases.setup,
            phases.block_sort,
            phases.global_sort,
            phases.placement,
            phases.product_compute,
            phases.reduce_by_key
        ));
    }
    text.concat()
}

fn summary_text(summary: &Summary) -> String {
    let mut parts = vec![format!("{} {}: {} products", summary.method, summary.value, summary.right)];
    if let Some(mean) = summary.geometric_mean_ratio {
        parts.push(format!("against the best of cuSPARSE on {}: geometric mean {mean:.3}", summary.compared));
    }
    if let Some((ratio, matrix)) = &summary.lowest_large {
        parts.push(format!("lowest of ten million multiplications or more {ratio:.3} ({matrix})"));
    }
    if let Some(memory) = summary.most_memory {
        parts.push(format!("at most {memory:.3} of its memory"));
    }
    if let Some(correlation) = summary.correlation {
        parts.push(format!("correlation of time with multiplications {correlation:.4}"));
    }
    if let Some(share) = summary.numeric_share {
        parts.push(format!("known pattern at most {share:.3} of the time"));
    }
    parts.join("; ")
}
