use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use evenpath::{Csr, DeviceKind};
use evenpath_bench::arguments::{DeviceChoice, ValueType};
use evenpath_bench::hisparse::{Case, Product, Record, Summary, measure};
use evenpath_bench::measure::copy_rate;
use evenpath_bench::peers::PeerValue;
use evenpath_bench::spmv::{PeerName, Peers};
use evenpath_bench::suite::{FOLDER_VARIABLE, Source, Suite};
use serde_json::json;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Suites of matrices to measure with; the thesis's are `figure7`. [default: generated]
    #[arg(long, value_delimiter = ',')]
    suite: Vec<Suite>,
    /// Kinds of matrix to generate, such as `stencil5:2000`, beside the suites.
    #[arg(long, value_delimiter = ',')]
    generate: Vec<String>,
    /// Matrix Market files to read, beside the suites.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    matrix: Vec<PathBuf>,
    /// The folder of the suite `folder`.
    #[arg(long, value_name = "FOLDER", env = FOLDER_VARIABLE)]
    folder: Option<PathBuf>,
    /// Rows and columns of a node: 32, 64, 128 or 256.
    #[arg(long, value_delimiter = ',', value_name = "D", default_values = ["128"], value_parser = ["32", "64", "128", "256"])]
    node: Vec<String>,
    /// Libraries to compare with, where they are installed. [default: cusparse on a GPU]
    #[arg(long, value_delimiter = ',')]
    peers: Option<Vec<PeerName>>,
    /// Types of the values.
    #[arg(long, value_delimiter = ',', default_values = ["f64", "f32"])]
    value: Vec<ValueType>,
    /// Runs that are timed for each measurement. [default: 50 on a GPU, 10 on the CPU, 2 on the simulated GPU]
    #[arg(long, value_name = "N")]
    repetitions: Option<usize>,
    /// Where to run: best, cuda:0 (or another number), cpu, simulated.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    device: DeviceChoice,
    /// One JSON object a line, instead of a table.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The matrices, each with the name of its suite.
    fn sources(&self) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        let mut sources = Vec::new();
        for name in &self.generate {
            sources.push(("-", Source::Generated(name.parse()?)));
        }
        sources.extend(self.matrix.iter().map(|path| ("-", Source::File(path.clone()))));
        let default = if sources.is_empty() { &[Suite::Generated][..] } else { &[] };
        for suite in if self.suite.is_empty() { default } else { &self.suite } {
            let of_suite = suite.sources(self.folder.as_deref())?;
            sources.extend(of_suite.into_iter().map(|source| (suite.name(), source)));
        }
        Ok(sources)
    }

    fn repetitions(&self, kind: DeviceKind) -> usize {
        let default = match kind {
            DeviceKind::Cuda(_) => 50,
            DeviceKind::Cpu => 10,
            DeviceKind::Simulated => 2,
        };
        self.repetitions.unwrap_or(default).max(1)
    }

    /// Measures a matrix with nodes of every size that was asked for.
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
    let sources = arguments.sources()?;
    let device = arguments.device.open()?;
    let default_peers: &[PeerName] =
        if matches!(device.kind(), DeviceKind::Cuda(_)) { &[PeerName::Cusparse] } else { &[] };
    let (peers, absent) = Peers::open(arguments.peers.as_deref().unwrap_or(default_peers), device.kind());
    for reason in absent {
        eprintln!("note: {reason}");
    }
    let copy_gbps = copy_rate(&device)?;
    begin(arguments.json, &device.to_string(), copy_gbps, peers.versions());
    let mut records = Vec::new();
    for (suite, source) in sources {
        let name = source.to_string();
        let case = Case {
            device: &device,
            copy_gbps,
            peers: &peers,
            repetitions: arguments.repetitions(device.kind()),
            suite,
            matrix: &name,
            generated: source.is_generated(),
        };
        let mut matrix = source.load()?;
        matrix.canonicalize();
        if arguments.value.contains(&ValueType::F64) {
            arguments.measure(&case, &matrix, &mut records)?;
        }
        if arguments.value.contains(&ValueType::F32) {
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
    Ok(if records.iter().all(Record::is_right) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

/// A line for the matrix, and one for each product and schedule.
fn lines(record: &Record) -> String {
    let start = format!("{:<22} {:>4} {:>4} {:>10}", record.matrix, record.value, record.node, record.nnz);
    let nonzeros = record.nnz.max(1) as f64;
    let bytes = &record.bytes;
    let mut text = format!(
        "{start} bytes a nonzero: {:.2}, csr {:.2}, coo {:.2}\n",
        bytes.hisparse_bytes as f64 / nonzeros,
        bytes.csr_bytes as f64 / nonzeros,
        bytes.coo_bytes as f64 / nonzeros
    );
    for product in &record.products {
        text += &product_lines(&start, product);
    }
    text
}

fn product_lines(start: &str, product: &Product) -> String {
    let mut text = String::new();
    let beside = |other: Option<f64>, ms: f64| match other {
        Some(other) => format!("{other:>9.4} {:>6.3}", other / ms),
        None => format!("{:>9} {:>6}", "-", "-"),
    };
    for way in &product.ways {
        let verdict =
            way.difference.as_ref().map_or(String::new(), |difference| format!("  FAIL: {difference}"));
        text += &format!(
            "{start} {:<16} {:<8} {:>9.4} {:>8.3} {} {}{verdict}\n",
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
        "{} of {} x {}: {} matrices; bytes {:.3} of CSR's",
        summary.value, summary.node, summary.node, summary.matrices, summary.mean_bytes_over_csr
    );
    for (name, means) in [("CSR", &summary.csr_over), ("cuSPARSE", &summary.cusparse_over)] {
        for (product, mean) in means {
            text += &format!("; {name}'s time over {product} {mean:.3}");
        }
    }
    text
}

fn to_json(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_else(|error| unreachable!("records are plain data: {error}"))
}
