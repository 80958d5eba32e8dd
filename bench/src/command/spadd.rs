use std::error::Error;
use std::process::ExitCode;

use crate::arguments::ValueType;
use crate::measure::copy_rate;
use crate::peers::PeerValue;
use crate::operations::spadd::{Addend, PeerSum, check, fastest_peer, measure};
use crate::operations::spmv::Peers;
use crate::statistics::{correlation, geometric_mean};
use evenpath::{Csr, Device};
use serde_json::json;

use super::selection::{MatrixSelection, Measuring, Values};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// What is added to each matrix.
    #[arg(long, value_delimiter = ',', default_values = Addend::ALL.map(Addend::name))]
    addend: Vec<Addend>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    values: Values,
    /// Print one JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

/// The setup of a session, and its results.
struct Session<'a> {
    device: Device,
    copy_gbps: f64,
    peers: Peers,
    arguments: &'a Arguments,
    all_right: bool,
    /// The ratios of cuSPARSE's time to ours.
    ratios: Vec<f64>,
    /// For each value type, the bytes of all three matrices and the milliseconds.
    times: [Vec<(f64, f64)>; 2],
    /// Fractions of the copy rate, for sums of 10 million nonzeros or more.
    shares: Vec<f64>,
}

/// The number of nonzeros of A and B together from which a sum is large.
const LARGE: usize = 10_000_000;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let sources = arguments.matrices.sources()?;
    let device = arguments.measuring.device.open()?;
    let copy_gbps = copy_rate(&device)?;
    let peers = arguments.measuring.open_peers(&device);
    if arguments.json {
        println!("{}", json!({ "device": device.to_string(), "copy_gbps": copy_gbps }));
    } else {
        println!("{device}, copies at {copy_gbps:.0} GB/s");
        println!(
            "{:<22} {:<9} {:>4} {:>10} {:>10} {:>9} {:>8} {:>9} {:>9} {:>6} {:>9} {:>6}",
            "matrix",
            "plus",
            "",
            "A and B",
            "C",
            "ms",
            "of copy",
            "values ms",
            "peer ms",
            "x",
            "values ms",
            "x"
        );
    }
    let mut session = Session {
        device,
        copy_gbps,
        peers,
        arguments,
        all_right: true,
        ratios: Vec::new(),
        times: [Vec::new(), Vec::new()],
        shares: Vec::new(),
    };
    for (_, source) in sources {
        let mut matrix = source.load()?;
        matrix.canonicalize();
        for &addend in &arguments.addend {
            for value in &arguments.values.value {
                match value {
                    ValueType::F64 => session.case(&source.to_string(), &matrix, addend)?,
                    ValueType::F32 => {
                        session.case(&source.to_string(), &matrix.clone().into_values::<f32>(), addend)?;
                    }
                }
            }
        }
    }
    session.conclude();
    Ok(if session.all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Session<'_> {
    /// Measures one sum, and prints a line.
    fn case<V: PeerValue>(&mut self, name: &str, a: &Csr<V>, addend: Addend) -> Result<(), Box<dyn Error>> {
        let Some(b) = addend.of(a) else { return Ok(()) };
        let (alpha, beta) = (V::from_f64(1.5), V::from_f64(-0.5));
        let repetitions = self.arguments.measuring.repetitions(self.device.kind(), 20, 20, 20);
        let measured = measure(&self.device, (alpha, a), (beta, &b), repetitions)?;
        let verdict = check((alpha, a), (beta, &b), &measured.result);
        let mut failures = Vec::new();
        let peer = self
            .peers
            .cusparse()
            .and_then(|library| fastest_peer(library, (alpha, a), (beta, &b), repetitions, &mut failures));
        for failure in failures {
            eprintln!("{name}: {failure}");
        }
        self.all_right &= verdict.is_ok();
        let nonzeros = a.nnz() + b.nnz();
        let (ms, values_ms) = (measured.whole.ms, measured.values.ms);
        let share = measured.whole.gbps / self.copy_gbps;
        self.ratios.extend(peer.map(|peer| peer.ms / ms));
        self.times[usize::from(size_of::<V>() == 4)].push((measured.whole.bytes as f64, ms));
        if nonzeros >= LARGE {
            self.shares.push(share);
        }
        if self.arguments.json {
            println!(
                "{}",
                json!({ "op": "spadd", "matrix": name, "plus": addend.name(), "value": V::NAME, "rows": a.rows(),
                    "cols": a.cols(), "nnz_a": a.nnz(), "nnz_b": b.nnz(), "nnz_c": measured.result.nnz(), "ms": ms,
                    "range_ms": measured.whole.range_ms, "bytes": measured.whole.bytes, "copy_share": share,
                    "values_ms": values_ms, "workspace_bytes": measured.workspace_bytes, "verified": verdict.is_ok(),
                    "cusparse_ms": peer.map(|peer| peer.ms), "cusparse_values_ms": peer.map(|peer| peer.values_ms),
                    "cusparse_workspace_bytes": peer.map(|peer| peer.workspace_bytes),
                    "cusparse_over_ours": peer.map(|peer| peer.ms / ms) })
            );
            return Ok(());
        }
        print!(
            "{name:<22} {:<9} {:>4} {nonzeros:>10} {:>10} {ms:>9.4} {share:>8.2} {values_ms:>9.4}",
            addend.name(),
            V::NAME,
            measured.result.nnz()
        );
        if let Some(PeerSum { ms: whole, values_ms: values, .. }) = peer {
            print!(" {whole:>9.4} {:>6.2} {values:>9.4} {:>6.2}", whole / ms, values / values_ms);
        }
        println!("{}", verdict.map_or_else(|error| format!("  FAIL: {error}"), |()| String::new()));
        Ok(())
    }

    /// Prints the summary.
    fn conclude(&self) {
        let mean = geometric_mean(self.ratios.iter().copied());
        let worst = self.shares.iter().copied().reduce(f64::min);
        let correlations = [correlation(&self.times[0]), correlation(&self.times[1])];
        if self.arguments.json {
            println!(
                "{}",
                json!({ "op": "spadd", "cases": self.ratios.len(), "geometric_mean_of_cusparse_over_ours": mean,
                    "correlation_f64": correlations[0], "correlation_f32": correlations[1],
                    "worst_copy_share_of_large": worst, "copy_share_of_large": geometric_mean(self.shares.clone()) })
            );
            return;
        }
        if let Some(mean) = mean {
            println!(
                "{mean:.2} times as fast as the best of cuSPARSE (geometric mean of {})",
                self.ratios.len()
            );
        }
        for (value, correlation) in ["f64", "f32"].iter().zip(correlations) {
            if let Some(correlation) = correlation {
                println!("{value}: correlation of time and bytes of A, B and C {correlation:.4}");
            }
        }
        if let (Some(worst), Some(mean)) = (worst, geometric_mean(self.shares.clone())) {
            println!(
                "{LARGE} nonzeros or more: {mean:.2} of the copy rate (geometric mean), lowest {worst:.2}"
            );
        }
    }
}
