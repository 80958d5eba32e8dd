use std::error::Error;
use std::process::ExitCode;

use crate::input::random_vector;
use crate::measure::{Repetitions, copy_rate, median};
use crate::peers::cusparse;
use crate::peers::{PeerRun, PeerValue};
use crate::spmm::{check, measure};
use crate::spmv::Peers;
use evenpath::spmm::SpmmOperand;
use evenpath::{Compute, Csr, Device, Layout, Storage, bf16, f16};
use serde_json::{Value as Json, json};

use super::selection::{MatrixSelection, Measuring};

/// The generated matrices that are measured by default: of every shape that decides over speed.
const GENERATED: [&str; 7] = [
    "stencil5:1000",
    "stencil27:80",
    "block-fem:30000x3",
    "uniform:500000",
    "power-law:500000",
    "rmat:17",
    "lp:2000",
];

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// Columns of B and C.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 8, 16, 32, 64, 128, 256, 512])]
    columns: Vec<usize>,
    /// Types of the values; the 16-bit ones are computed with in `f32`, and have no peers.
    #[arg(long, value_delimiter = ',', default_values = ["f64", "f32"])]
    value: Vec<ValueType>,
    #[command(flatten)]
    measuring: Measuring,
    /// One JSON object a line, instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ValueType {
    F16,
    Bf16,
    F32,
    F64,
}

/// What is measured with, and what was found.
struct Session<'a> {
    device: Device,
    copy_gbps: f64,
    peers: Peers,
    arguments: &'a Arguments,
    all_right: bool,
    /// Logarithms of cuSPARSE's best time over ours, where there are 4 to 128 columns: by layout.
    ratios: [Vec<f64>; 2],
}

/// The best that a peer did with a problem, over layouts.
struct Best {
    ms: f64,
    algorithm: String,
    layout: Layout,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let sources = arguments.matrices.sources_or(&GENERATED)?;
    let device = arguments.measuring.device.open()?;
    let copy_gbps = copy_rate(&device)?;
    let peers = arguments.measuring.open_peers(&device);
    if arguments.json {
        println!("{}", json!({ "device": device.to_string(), "copy_gbps": copy_gbps }));
    } else {
        println!("{device}, copies at {copy_gbps:.0} GB/s");
        println!(
            "{:<20} {:>5} {:>7} {:>10} {:>10} {:>8} {:>8} {:>10} {:>6} {:>6}  best of cuSPARSE",
            "matrix",
            "value",
            "columns",
            "row ms",
            "col ms",
            "GFLOP/s",
            "of copy",
            "peer ms",
            "row x",
            "col x"
        );
    }
    let ratios = [Vec::new(), Vec::new()];
    let mut session = Session { device, copy_gbps, peers, arguments, all_right: true, ratios };
    for (_, source) in sources {
        let (name, matrix) = (&source.to_string(), source.load()?);
        for value in &arguments.value {
            for &columns in &arguments.columns {
                let len = matrix.cols() * columns;
                match value {
                    ValueType::F16 => {
                        let (matrix, b) = (matrix.clone().into_values::<f16>(), random_vector::<f16>(len, 1));
                        session.report(name, &matrix, &b, columns, None)?;
                    }
                    ValueType::Bf16 => {
                        let (matrix, b) =
                            (matrix.clone().into_values::<bf16>(), random_vector::<bf16>(len, 1));
                        session.report(name, &matrix, &b, columns, None)?;
                    }
                    ValueType::F32 => {
                        let (matrix, b) = (matrix.clone().into_values::<f32>(), random_vector::<f32>(len, 1));
                        let best = session.peer(&matrix, &b, columns)?;
                        session.report(name, &matrix, &b, columns, best.as_ref())?;
                    }
                    ValueType::F64 => {
                        let b = random_vector::<f64>(len, 1);
                        let best = session.peer(&matrix, &b, columns)?;
                        session.report(name, &matrix, &b, columns, best.as_ref())?;
                    }
                }
            }
        }
    }
    session.conclude();
    Ok(if session.all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Session<'_> {
    fn repetitions(&self) -> Repetitions {
        self.arguments.measuring.repetitions(self.device.kind(), 20, 20, 20)
    }

    /// The best of cuSPARSE's algorithms, over both layouts; nothing where there is no cuSPARSE.
    fn peer<V: PeerValue>(
        &mut self,
        matrix: &Csr<V>,
        b: &[V],
        columns: usize,
    ) -> Result<Option<Best>, Box<dyn Error>> {
        let Some(library) = self.peers.cusparse() else { return Ok(None) };
        let mut best: Option<Best> = None;
        let mut all_right = true;
        for layout in LAYOUTS {
            let peer_layout = match layout {
                Layout::RowMajor => cusparse::Layout::RowMajor,
                Layout::ColumnMajor => cusparse::Layout::ColumnMajor,
            };
            let problem = library.spmm_problem(matrix, b, columns, peer_layout)?;
            problem.measure(self.repetitions(), |PeerRun { algorithm, outcome, .. }| match outcome {
                Ok(run) => {
                    let ms = median(&run.times_ms);
                    let right = check(matrix, b, &run.result, columns, layout);
                    if self.arguments.json {
                        println!(
                            "{}",
                            json!({ "op": "spmm", "peer": "cusparse", "algorithm": algorithm, "columns": columns,
                                "layout": layout.to_string(), "ms": ms, "preprocessing_ms": run.preprocessing_ms,
                                "workspace_bytes": run.workspace_bytes, "verified": right.is_ok() })
                        );
                    }
                    if let Err(error) = right {
                        eprintln!("cuSPARSE {algorithm}, {layout}: {error}");
                        all_right = false;
                    } else if best.as_ref().is_none_or(|best| ms < best.ms) {
                        best = Some(Best { ms, algorithm, layout });
                    }
                }
                Err(error) => eprintln!("cuSPARSE {algorithm}, {layout}: {error}"),
            });
        }
        self.all_right &= all_right;
        Ok(best)
    }

    /// Measures both layouts and prints a line.
    fn report<S: Storage, T: SpmmOperand<S>>(
        &mut self,
        name: &str,
        matrix: &Csr<S>,
        b: &[T],
        columns: usize,
        best: Option<&Best>,
    ) -> Result<(), Box<dyn Error>>
    where
        Compute<S>: Storage,
    {
        let mut measured = Vec::new();
        let mut verdict = Ok(());
        for layout in LAYOUTS {
            let (measurement, plan, c) =
                measure(&self.device, matrix, b, columns, layout, self.repetitions())?;
            verdict = verdict.and(check(matrix, b, &c, columns, layout));
            measured.push((layout, measurement, plan));
        }
        self.all_right &= verdict.is_ok();
        let ratio = |ms: f64| best.map(|best| best.ms / ms);
        if (4..=128).contains(&columns) {
            for ((_, measurement, _), ratios) in measured.iter().zip(&mut self.ratios) {
                ratios.extend(ratio(measurement.ms).map(f64::ln));
            }
        }
        if self.arguments.json {
            for (layout, measurement, plan) in &measured {
                let mut line = json!({ "op": "spmm", "matrix": name, "value": S::NAME, "operands": T::NAME,
                    "rows": matrix.rows(), "cols": matrix.cols(), "nnz": matrix.nnz(), "columns": columns,
                    "layout": layout.to_string(), "copy_share": measurement.gbps / self.copy_gbps,
                    "plan_ms": plan.analysis_ms, "workspace_bytes": plan.workspace_bytes, "pieces": plan.pieces,
                    "verified": verdict.is_ok(), "cusparse_ms": best.map(|best| best.ms),
                    "cusparse_algorithm": best.map(|best| &best.algorithm),
                    "cusparse_layout": best.map(|best| best.layout.to_string()),
                    "cusparse_over_ours": ratio(measurement.ms) });
                if let (Some(line), Json::Object(fields)) =
                    (line.as_object_mut(), serde_json::to_value(measurement)?)
                {
                    line.extend(fields);
                }
                println!("{line}");
            }
        } else {
            let [by_rows, by_columns] = [&measured[0].1, &measured[1].1];
            print!(
                "{name:<20} {:>5} {columns:>7} {:>10.4} {:>10.4} {:>8.0} {:>8.2}",
                S::NAME,
                by_rows.ms,
                by_columns.ms,
                by_rows.gflops,
                by_rows.gbps / self.copy_gbps
            );
            if let Some(Best { ms, algorithm, layout }) = best {
                print!(
                    " {ms:>10.4} {:>6.2} {:>6.2}  {algorithm}, {layout}",
                    ms / by_rows.ms,
                    ms / by_columns.ms
                );
            }
            println!(
                "{}",
                verdict.as_ref().map_or_else(|error| format!("  FAIL: {error}"), |()| String::new())
            );
        }
        Ok(())
    }

    /// Prints the geometric means.
    fn conclude(&self) {
        for (layout, ratios) in LAYOUTS.iter().zip(&self.ratios) {
            if ratios.is_empty() {
                continue;
            }
            let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp();
            let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min).exp();
            if self.arguments.json {
                println!(
                    "{}",
                    json!({ "op": "spmm", "layout": layout.to_string(), "cases": ratios.len(),
                        "geometric_mean_of_cusparse_over_ours": mean, "worst": worst })
                );
            } else {
                println!(
                    "{layout}, 4 to 128 columns: {mean:.2} times as fast as the best of cuSPARSE (geometric mean of {}; worst {worst:.2})",
                    ratios.len()
                );
            }
        }
    }
}
