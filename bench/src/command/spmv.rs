use std::error::Error;
use std::process::ExitCode;

use crate::arguments::ValueType;
use crate::measure::copy_rate;
use crate::peers::{Operation, full_name};
use crate::operations::spmv::{Case, ChoiceError, MAY_COPY, Record, Summary, Way, measure};
use evenpath::device::DeviceKind;
use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};

use super::selection::{MatrixSelection, Measuring, Values};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// Methods by name, or `all` of the device; `may-copy`, the choice among those that may copy; with the transpose, modes.
    /// [default: auto; all modes]
    #[arg(long, value_delimiter = ',')]
    method: Vec<String>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    values: Values,
    /// Multiply with the transposed matrices: evenpath in its modes, the peers without forming the
    /// transpose.
    #[arg(long)]
    transposed: bool,
    /// Print one JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The methods to measure or, with the transpose, the modes.
    fn ways(&self, kind: DeviceKind) -> Result<Vec<Way>, Box<dyn Error>> {
        if self.transposed {
            let all = self.method.iter().any(|name| name == "all");
            if all || self.method.is_empty() {
                return Ok(SpmvTransposedMethod::ALL.into_iter().map(Way::Transposed).collect());
            }
            return self.method.iter().map(|name| Ok(Way::Transposed(name.parse()?))).collect();
        }
        let mut ways = Vec::new();
        for name in &self.method {
            match name.as_str() {
                "all" => ways.extend(all_of(kind)),
                MAY_COPY => ways.push(Way::MayCopy),
                name => ways.push(Way::Direct(name.parse()?)),
            }
        }
        if ways.is_empty() {
            ways.push(Way::Direct(SpmvMethod::Auto));
        }
        Ok(ways)
    }
}

/// All methods of a device.
fn all_of(kind: DeviceKind) -> impl Iterator<Item = Way> {
    SpmvMethod::ALL.iter().copied().filter(move |method| method.runs_on(kind)).map(Way::Direct)
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let sources = arguments.matrices.sources()?;
    let device = arguments.measuring.device.open()?;
    let ways = arguments.ways(device.kind())?;
    let peers = arguments.measuring.open_peers(&device);
    let copy_gbps = copy_rate(&device)?;
    let operation = if arguments.transposed { Operation::Transposed } else { Operation::Direct };
    let mut printer = Printer { json: arguments.json, records: Vec::new() };
    printer.begin(&device.to_string(), copy_gbps, peers.versions());
    for (suite, source) in sources {
        let name = source.to_string();
        let case = Case {
            device: &device,
            copy_gbps,
            ways: &ways,
            peers: &peers,
            operation,
            repetitions: arguments.measuring.repetitions(device.kind(), 100, 20, 3),
            suite,
            matrix: &name,
            structure: source.structure(),
            generated: source.is_generated(),
        };
        let matrix = source.load()?;
        if arguments.values.value.contains(&ValueType::F64) {
            printer.record(measure(&case, &matrix)?);
        }
        if arguments.values.value.contains(&ValueType::F32) {
            printer.record(measure(&case, &matrix.into_values::<f32>())?);
        }
    }
    Ok(printer.finish())
}

/// Prints records as they arrive, and their summary.
struct Printer {
    json: bool,
    records: Vec<Record>,
}

impl Printer {
    fn begin(&self, device: &str, copy_gbps: f64, peers: &[String]) {
        if self.json {
            let line = serde_json::json!({ "device": device, "copy_gbps": copy_gbps, "peers": peers });
            return println!("{line}");
        }
        let beside = if peers.is_empty() { String::new() } else { format!(", beside {}", peers.join(", ")) };
        println!(
            "{device}, copies at {copy_gbps:.0} GB/s{beside}; * fits in L2, and so do the peers'; ~ spread widely"
        );
        println!(
            "{:<22} {:>4} {:>10} {:<12} {:>9} {:>7} {:>8} {:>8} {:>7} {:>8} {:>6}  {:<38} {:>9} {:>6}",
            "matrix",
            "",
            "nonzeros",
            "method",
            "ms",
            "spread",
            "GFLOP/s",
            "eff.GB/s",
            "of copy",
            "plan ms",
            "even",
            "best of each peer",
            "ms",
            "ratio"
        );
    }

    fn record(&mut self, record: Record) {
        if self.json {
            println!("{}", to_json(&record));
        } else {
            if let Some(structure) = &record.structure {
                println!("{}: {structure}", record.matrix);
            }
            print!("{}", lines(&record));
        }
        self.records.push(record);
    }

    /// Prints the summaries and returns the exit code.
    fn finish(self) -> ExitCode {
        for summary in Summary::all(&self.records) {
            if self.json {
                println!("{}", serde_json::json!({ "summary": summary }));
            } else {
                println!("{}", summary_text(&summary));
            }
        }
        for error in ChoiceError::all(&self.records) {
            if self.json {
                println!("{}", serde_json::json!({ "choice": error }));
            } else {
                println!("{}", choice_text(&error));
            }
        }
        if self.records.iter().all(Record::is_right) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// One line per method; the first also has the best of each peer.
fn lines(record: &Record) -> String {
    let mut libraries: Vec<_> = record.peers.iter().map(|peer| peer.library).collect();
    libraries.dedup();
    let peers: Vec<_> = libraries
        .into_iter()
        .map(|library| match record.best_peer(|peer, _| peer.library == library) {
            Some((peer, figures)) => format!(
                "{:<38} {:>9.4}{} {:>6.3}",
                format!("{} {}", peer.full_name(), peer.algorithm),
                figures.ms,
                if figures.timing.wide { "~" } else { "" },
                record.ratio(library, None, None).unwrap_or(f64::NAN)
            ),
            None => format!("{library}: no correct result"),
        })
        .collect();
    let star = if record.fits_l2 == Some(true) { "*" } else { "" };
    let mut text = String::new();
    for (index, method) in record.methods.iter().enumerate() {
        let name = format!("{}{star}", record.matrix);
        let start = format!("{name:<22} {:>4} {:>10} {:<12}", record.value, record.nnz, method.method);
        let peer = if index == 0 { peers.join("  ") } else { String::new() };
        let line = match method.outcome.figures() {
            None => format!("{start} cannot run"),
            Some(figures) => {
                let measured = &figures.measured;
                let even = figures.break_even.map_or("-".into(), |runs| runs.to_string());
                let verdict = match (&figures.difference, figures.repeatable || !figures.ordered) {
                    (Some(difference), _) => format!("  FAIL: {difference}"),
                    (None, false) => "  FAIL: differs from run to run".into(),
                    (None, true) => String::new(),
                };
                format!(
                    "{start} {:>9.4} {:>6.1}%{} {:>8.1} {:>8.1} {:>7.3} {:>8.4} {even:>6}  {peer}{verdict}",
                    measured.ms,
                    100.0 * measured.timing.spread,
                    if measured.timing.wide { "~" } else { "" },
                    measured.gflops,
                    measured.effective_gbps,
                    figures.copy_share,
                    figures.plan_ms
                )
            }
        };
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn summary_text(summary: &Summary) -> String {
    let mut parts = vec![format!("{} {}: {} matrices", summary.op, summary.value, summary.matrices)];
    if let (Some(library), Some(mean)) = (summary.library, summary.geometric_mean_ratio) {
        let format = summary.format.map_or(String::new(), |format| format!(" by {format}"));
        let library = full_name(library, summary.version.as_deref());
        parts.push(format!("against {library}{format} on {}: geometric mean {mean:.3}", summary.compared));
        if let Some(worst) = &summary.worst_large {
            parts.push(format!(
                "lowest with a million nonzeros or more {:.3} ({})",
                worst.value, worst.matrix
            ));
        }
        parts.push(format!("slower on {} of {} smaller", summary.small_slower, summary.small));
    }
    if let Some(correlation) = summary.correlation_table2 {
        parts.push(format!("correlation of time with nonzeros over table2 {correlation:.4}"));
    }
    if let Some(longest) = &summary.longest_plan_runs {
        parts.push(format!("longest plan {:.1} runs ({})", longest.value, longest.matrix));
    }
    parts.join("; ")
}

fn choice_text(error: &ChoiceError) -> String {
    let ChoiceError { op, value, group, matrices, good, geometric_mean, worst, wide } = error;
    format!(
        "{op} {value}, choice on {group}: within 5% of the best method on {good} of {matrices}; geometric mean \
         {geometric_mean:.3}; worst {:.3} ({}); times of {wide} are spread widely",
        worst.value, worst.matrix
    )
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("records are plain data: {error}"))
}
