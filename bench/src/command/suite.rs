use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::arguments::ValueType;
use crate::cases::{Bench, CaseValue, Named, Op};
use crate::measure::{Repetitions, copy_rate};
use crate::results::{Key, Results, ResultsFile, Row, Setting};
use crate::suite::{RandomSuite, Source, Suite};
use evenpath::Csr;
use evenpath::device::DeviceKind;

use super::selection::{MatrixSelection, Measuring, Values};

/// The exit code if some cases are left to measure.
const LEFT: u8 = 3;

/// Exit code: 0 if everything was measured, including recorded failures; 1 if a result is wrong, or nothing could be
/// measured; 3 if cases are left, which the same command then resumes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file of results, one JSON object per line. Cases that it has are not measured again.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    matrices: MatrixSelection,
    /// The operations to measure.
    #[arg(long, value_delimiter = ',', default_values = Op::ALL.map(Op::name))]
    op: Vec<Op>,
    #[command(flatten)]
    values: Values,
    #[command(flatten)]
    measuring: Measuring,
    /// Seconds after which no new case is started.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Measure failed cases again.
    #[arg(long)]
    retry_failed: bool,
    /// Skip sparse products with more multiplications. [default: 10^10 on a GPU, 10^9 on the CPU, 10^6 on the
    /// simulated GPU]
    #[arg(long, value_name = "N")]
    most_products: Option<u64>,
}

impl Arguments {
    fn repetitions(&self, kind: DeviceKind) -> Repetitions {
        let budget_ms = match kind {
            DeviceKind::Cuda(_) => 30.0,
            DeviceKind::Cpu => 100.0,
            DeviceKind::Simulated => 10.0,
        };
        self.measuring.repetitions(kind, 50, 10, 2).within(budget_ms)
    }

    fn most_products(&self, kind: DeviceKind) -> u64 {
        let default = match kind {
            DeviceKind::Cuda(_) => 10_u64.pow(10),
            DeviceKind::Cpu => 10_u64.pow(9),
            DeviceKind::Simulated => 10_u64.pow(6),
        };
        self.most_products.unwrap_or(default)
    }

    /// The distinct types.
    fn values(&self) -> Vec<(ValueType, &'static str)> {
        let all = [(ValueType::F64, "f64"), (ValueType::F32, "f32")];
        all.into_iter().filter(|(value, _)| self.values.value.contains(value)).collect()
    }

    /// The command line, without file names.
    fn command(&self, peers: &[String]) -> String {
        let mut parts = vec!["evenpath-bench suite".to_owned()];
        let mut part = |option: &str, names: Vec<String>| {
            if !names.is_empty() {
                parts.push(format!("--{option} {}", names.join(",")));
            }
        };
        part("suite", self.matrices.suite.iter().map(|suite| suite.name().into()).collect());
        if self.matrices.suite.contains(&Suite::Random) {
            let RandomSuite { seeds, count, most_nonzeros } = self.matrices.random();
            part("seed", seeds.iter().map(u64::to_string).collect());
            part("count", vec![count.to_string()]);
            part("most-nonzeros", most_nonzeros.iter().map(usize::to_string).collect());
        }
        part("generate", self.matrices.generate.clone());
        part("op", self.op.iter().map(Op::to_string).collect());
        part("value", self.values().into_iter().map(|(_, name)| name.into()).collect());
        if peers.is_empty() {
            parts.push("--no-peers".into());
        }
        parts.join(" ")
    }

    /// The cases of a matrix, in the order in which they are measured.
    fn keys(&self, suite: &str, matrix: &str) -> Vec<Key> {
        let mut keys = Vec::new();
        for (_, value) in self.values() {
            for op in Op::ALL.into_iter().filter(|op| self.op.contains(op)) {
                keys.extend(op.variants().iter().map(|&variant| Key {
                    op,
                    variant: variant.into(),
                    suite: suite.into(),
                    matrix: matrix.into(),
                    value: value.into(),
                }));
            }
        }
        keys
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let start = Instant::now();
    let sources = arguments.matrices.sources()?;
    let device = arguments.measuring.device.open()?;
    let peers = arguments.measuring.open_peers(&device);
    let copy_gbps = copy_rate(&device)?;
    let command = arguments.command(peers.versions());
    let setting = Setting::new(&device, copy_gbps, peers.versions(), command);
    let (file, known) = ResultsFile::open(&arguments.out, setting)?;
    let bench = Bench {
        device: &device,
        copy_gbps,
        peers: &peers,
        repetitions: arguments.repetitions(device.kind()),
        most_products: arguments.most_products(device.kind()),
    };
    let mut named = BTreeSet::new();
    let mut matrices = Vec::new();
    for (suite, source) in sources {
        let name = source.to_string();
        if named.insert((suite, name.clone())) {
            let keys = arguments.keys(suite, &name);
            matrices.push(Matrix { suite, name, source, keys });
        }
    }
    let total = matrices.iter().map(|matrix| matrix.keys.len()).sum();
    let mut run = Run {
        bench,
        file,
        known,
        retry_failed: arguments.retry_failed,
        end: arguments.limit.map(|seconds| start + Duration::from_secs(seconds)),
        progress: Progress { total, ..Progress::default() },
    };
    let mut interrupted = None;
    for matrix in &matrices {
        if let Some(reason) = run.matrix(matrix)? {
            interrupted = Some(reason);
            break;
        }
    }
    Ok(run.progress.conclude(interrupted.as_deref()))
}

/// A matrix and its cases.
struct Matrix {
    suite: &'static str,
    name: String,
    source: Source,
    keys: Vec<Key>,
}

/// A run of the suite in progress.
struct Run<'b> {
    bench: Bench<'b>,
    file: ResultsFile,
    known: Results,
    retry_failed: bool,
    end: Option<Instant>,
    progress: Progress,
}

impl Run<'_> {
    /// Measures the missing cases of a matrix. Returns a reason if nothing more can be measured.
    fn matrix(&mut self, matrix: &Matrix) -> Result<Option<String>, Box<dyn Error>> {
        let mut missing = Vec::new();
        for key in &matrix.keys {
            match self.known.get(key) {
                Some(row) if !(self.retry_failed && row.failure().is_some()) => self.progress.count(row),
                _ => missing.push(key),
            }
        }
        if missing.is_empty() {
            return Ok(None);
        }
        if let Some(reason) = self.over() {
            return Ok(Some(reason));
        }
        let mut loaded = match matrix.source.load() {
            Ok(loaded) => loaded,
            Err(error) => {
                for &key in &missing {
                    self.take(&Row::failed(key.clone(), None, error.to_string()), Duration::ZERO)?;
                }
                return Ok(None);
            }
        };
        loaded.canonicalize();
        if let Some(structure) = matrix.source.structure() {
            eprintln!("{}: {structure}", matrix.name);
        }
        let (double, single): (Vec<_>, Vec<_>) = missing.into_iter().partition(|key| key.value == "f64");
        if let Some(reason) = self.cases(matrix, &loaded, &double)? {
            return Ok(Some(reason));
        }
        if single.is_empty() {
            return Ok(None);
        }
        self.cases(matrix, &loaded.into_values::<f32>(), &single)
    }

    fn cases<V: CaseValue>(
        &mut self,
        matrix: &Matrix,
        loaded: &Csr<V>,
        keys: &[&Key],
    ) -> Result<Option<String>, Box<dyn Error>> {
        let named = Named {
            suite: matrix.suite,
            name: &matrix.name,
            is_generated: matrix.source.is_generated(),
            matrix: loaded,
        };
        for key in keys {
            if let Some(reason) = self.over() {
                return Ok(Some(reason));
            }
            let start = Instant::now();
            let row = self.bench.measure(key.op, &key.variant, &named);
            let row = row.of_structure(matrix.source.structure());
            self.take(&row, start.elapsed())?;
            // After a fault the device is unusable, and every later row would fail.
            if let Err(lost) = self.bench.device.synchronize() {
                return Ok(Some(format!("the device is lost: {lost}")));
            }
        }
        Ok(None)
    }

    /// The reason to stop, if time is up.
    fn over(&self) -> Option<String> {
        self.end.filter(|end| Instant::now() >= *end).map(|_| "time is up".into())
    }

    /// Writes a row, and prints it with the total time that it took.
    fn take(&mut self, row: &Row, took: Duration) -> Result<(), Box<dyn Error>> {
        self.file.append(row)?;
        self.progress.count(row);
        self.progress.show(row, took);
        Ok(())
    }
}

/// The progress of a run.
#[derive(Default)]
struct Progress {
    total: usize,
    done: usize,
    wrong: usize,
    failed: usize,
}

impl Progress {
    fn count(&mut self, row: &Row) {
        self.done += 1;
        if row.is_wrong() {
            self.wrong += 1;
        } else if row.failure().is_some() {
            self.failed += 1;
        }
    }

    fn show(&self, row: &Row, took: Duration) {
        let Key { op, variant, matrix, value, .. } = &row.key;
        let variant = if variant.is_empty() { String::new() } else { format!(", {variant}") };
        let mut text = format!("[{}/{}] {op}{variant} {matrix} {value}: ", self.done, self.total);
        match (row.failure(), row.figures()) {
            (None, Some(figures)) => {
                // Writing to a String does not fail.
                let _ = write!(text, "{:.4} ms", figures.ms.unwrap_or(f64::NAN));
                if let Some(timing) = figures.best_own().and_then(|own| own.timing) {
                    let (low, high) = timing.quartiles_ms;
                    let wide = if timing.wide { ", wide" } else { "" };
                    let _ = write!(text, " ({low:.4} to {high:.4}{wide})");
                }
                for (library, ratio) in &figures.ratio {
                    let wide = figures.best_peer(library).is_some_and(|(peer, _)| peer.is_wide());
                    let _ = write!(text, ", {ratio:.2} of {library}{}", if wide { " (wide)" } else { "" });
                }
                if row.is_wrong() {
                    text += ", WRONG";
                }
            }
            (reason, _) => text += &reason.unwrap_or_default(),
        }
        eprintln!("{text} ({:.1} s)", took.as_secs_f64());
    }

    /// Prints the totals and returns the exit code.
    fn conclude(&self, interrupted: Option<&str>) -> ExitCode {
        let Self { total, done, wrong, failed } = self;
        eprintln!("{done} of {total} cases measured, {failed} failed, {wrong} wrong");
        if let Some(reason) = interrupted {
            eprintln!("{} are left: {reason}", total - done);
        }
        if *wrong > 0 {
            return ExitCode::FAILURE;
        }
        if interrupted.is_some() { ExitCode::from(LEFT) } else { ExitCode::SUCCESS }
    }
}
