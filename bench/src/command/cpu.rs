use std::error::Error;
use std::process::ExitCode;

use evenpath::device::DeviceKind;
use evenpath::spmm::SpmmOptions;
use evenpath::{Csr, Device, DeviceDense, Layout};
use serde_json::json;

use crate::arguments::ValueType;
use crate::input::random_vector;
use crate::measure::{Repetitions, Times, median, times_ms};
use crate::peers::{PeerError, PeerValue, sprs};
use crate::operations::spgemm::{Check, other_factor, products};
use crate::operations::spmv::{PeerName, Peers};
use crate::statistics::geometric_mean;
use crate::operations::{spadd, spmm};

use super::selection::{MatrixSelection, Values};

/// Milliseconds that the samples of a contender take together, at most, unless three take longer.
const BUDGET_MS: f64 = 1000.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrices: MatrixSelection,
    #[command(flatten)]
    values: Values,
    /// The operations.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["spadd", "spgemm", "spmm"])]
    op: Vec<Op>,
    /// Libraries to compare with, if installed.
    #[arg(long, value_delimiter = ',', default_values = ["mkl", "sprs"])]
    peers: Vec<PeerName>,
    /// Columns of the dense matrix.
    #[arg(long, value_name = "N", default_value_t = 32)]
    columns: usize,
    /// Maximum number of samples of a contender.
    #[arg(long, value_name = "N", default_value_t = 15)]
    repetitions: usize,
    /// Leave out products of sparse matrices with more multiplications.
    #[arg(long, value_name = "N", default_value_t = 200_000_000)]
    most_products: u64,
    /// Print one JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Op {
    /// C = 1.5 A + B; B is A with every column moved by one.
    Spadd,
    /// C = AA, or `AAᵀ` if A is not square.
    Spgemm,
    /// C = AB, B dense and row by row.
    Spmm,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Self::Spadd => "spadd",
            Self::Spgemm => "spgemm",
            Self::Spmm => "spmm",
        }
    }
}

/// A contender's milliseconds, and what is wrong with its result.
struct Outcome {
    name: &'static str,
    found: Result<(Times, Result<(), String>), String>,
}

/// Times of a peer over ours.
struct PeerRatios {
    op: Op,
    value: &'static str,
    peer: &'static str,
    ratios: Vec<f64>,
}

/// Times and a result, or why there are none; nothing of a peer that is not open.
type Measured<C> = Option<Result<(Times, C), PeerError>>;

/// What is measured, and the ratios of the peers' times to ours.
struct Session<'a> {
    device: Device,
    peers: Peers,
    arguments: &'a Arguments,
    repetitions: Repetitions,
    all_right: bool,
    ratios: Vec<PeerRatios>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let sources = arguments.matrices.sources()?;
    let (peers, absent) = Peers::open(&arguments.peers, DeviceKind::Cpu);
    for reason in absent {
        eprintln!("note: {reason}");
    }
    let mut session = Session {
        device: Device::cpu(),
        peers,
        arguments,
        repetitions: Repetitions::from(arguments.repetitions).within(BUDGET_MS),
        all_right: true,
        ratios: Vec::new(),
    };
    if !arguments.json {
        println!("{}; ~ spread widely", session.device);
    }
    for (_, source) in sources {
        let mut matrix = source.load()?;
        matrix.canonicalize();
        let name = source.to_string();
        for value in &arguments.values.value {
            match value {
                ValueType::F64 => session.measure(&name, &matrix)?,
                ValueType::F32 => session.measure(&name, &matrix.clone().into_values::<f32>())?,
            }
        }
    }
    session.conclude();
    Ok(if session.all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Session<'_> {
    fn measure<V: PeerValue>(&mut self, name: &str, matrix: &Csr<V>) -> Result<(), Box<dyn Error>> {
        for &op in &self.arguments.op {
            let outcomes = match op {
                Op::Spadd => self.sum(matrix)?,
                Op::Spgemm => self.product(matrix)?,
                Op::Spmm => self.dense_product(matrix)?,
            };
            self.report::<V>(name, op, matrix.nnz(), &outcomes);
        }
        Ok(())
    }

    fn sum<V: PeerValue>(&self, a: &Csr<V>) -> Result<Vec<Outcome>, Box<dyn Error>> {
        let Some(b) = spadd::Addend::Shifted.of(a) else { return Ok(Vec::new()) };
        let (alpha, one) = (V::from_f64(1.5), V::from_f64(1.0));
        let (own, own_b) = (self.device.upload(a)?, self.device.upload(&b)?);
        let times = times_ms(&self.device, self.repetitions, || own.add(alpha, &own_b, one).map(drop))?;
        let ours = (times, own.add(alpha, &own_b, one)?.download()?);
        let mkl = self.peers.mkl().map(|mkl| mkl.measure_spadd((alpha, a), &b, self.repetitions));
        let sprs = self.peers.sprs().then(|| sprs::measure_spadd((alpha, a), &b, self.repetitions));
        Ok(outcomes(ours, [("mkl", mkl), ("sprs", sprs)], |c| spadd::check((alpha, a), (one, &b), c)))
    }

    fn product<V: PeerValue>(&self, a: &Csr<V>) -> Result<Vec<Outcome>, Box<dyn Error>> {
        let b = other_factor(a);
        if products(a, &b) > self.arguments.most_products {
            return Ok(Vec::new());
        }
        let (own, own_b) = (self.device.upload(a)?, self.device.upload(&b)?);
        let times = times_ms(&self.device, self.repetitions, || own.multiply(&own_b).map(drop))?;
        let check = Check::new(a, &b);
        let ours = (times, own.multiply(&own_b)?.download()?);
        let mkl = self.peers.mkl().map(|mkl| mkl.measure_spgemm(a, &b, self.repetitions));
        let sprs = self.peers.sprs().then(|| sprs::measure_spgemm(a, &b, self.repetitions));
        let check_arrays = |c: &Csr<V>| check.check(c.row_offsets(), c.column_indices(), c.values());
        Ok(outcomes(ours, [("mkl", mkl), ("sprs", sprs)], check_arrays))
    }

    fn dense_product<V: PeerValue>(&self, a: &Csr<V>) -> Result<Vec<Outcome>, Box<dyn Error>> {
        let columns = self.arguments.columns;
        let b: Vec<V> = random_vector(a.cols() * columns, 3);
        let own = self.device.upload(a)?;
        let dense = |values: &[V], rows| -> Result<_, Box<dyn Error>> {
            Ok(DeviceDense::try_new(self.device.upload(values)?, rows, columns, Layout::RowMajor)?)
        };
        let (own_b, mut own_c) =
            (dense(&b, a.cols())?, dense(&vec![V::zero(); a.rows() * columns], a.rows())?);
        let plan = own.plan_spmm(SpmmOptions::default().with_columns(columns))?;
        let times =
            times_ms(&self.device, self.repetitions, || plan.run(V::ONE, &own_b, V::zero(), &mut own_c))?;
        let ours = (times, own_c.into_vec().download()?);
        let mkl = self.peers.mkl().map(|mkl| mkl.measure_spmm(a, &b, columns, self.repetitions));
        let sprs = self.peers.sprs().then(|| sprs::measure_spmm(a, &b, columns, self.repetitions));
        Ok(outcomes(ours, [("mkl", mkl), ("sprs", sprs)], |c| {
            spmm::check(a, &b, c, columns, Layout::RowMajor)
        }))
    }

    /// Prints what was measured of an operation, and keeps the ratios; ours come first.
    fn report<V: PeerValue>(&mut self, matrix: &str, op: Op, nonzeros: usize, outcomes: &[Outcome]) {
        let Some(ours) = outcomes.first().and_then(Outcome::right) else {
            self.all_right &= outcomes.is_empty();
            for wrong in outcomes {
                eprintln!("{matrix}, {}: {}", op.name(), wrong.text());
            }
            return;
        };
        let ours_ms = median(ours);
        for outcome in outcomes {
            let times = outcome.right();
            let ratio = times.map(|times| median(times) / ours_ms);
            if self.arguments.json {
                println!(
                    "{}",
                    json!({ "op": op.name(), "matrix": matrix, "value": V::NAME, "nnz": nonzeros,
                        "library": outcome.name, "ms": times.map(|times| median(times)),
                        "is_wide": times.map(Times::is_wide), "over_ours": ratio,
                        "error": times.is_none().then(|| outcome.text()) })
                );
            } else {
                let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:>8.3}"));
                println!(
                    "{matrix:<22} {:<4} {nonzeros:>10} {:<7} {:<8} {:>12} {ratio}",
                    V::NAME,
                    op.name(),
                    outcome.name,
                    outcome.text()
                );
            }
        }
        for outcome in &outcomes[1..] {
            let Some(times) = outcome.right() else { continue };
            let (value, peer, ratio) = (V::NAME, outcome.name, median(times) / ours_ms);
            let of_kind = |own: &&mut PeerRatios| (own.op, own.value, own.peer) == (op, value, peer);
            match self.ratios.iter_mut().find(of_kind) {
                Some(own) => own.ratios.push(ratio),
                None => self.ratios.push(PeerRatios { op, value, peer, ratios: vec![ratio] }),
            }
        }
    }

    /// Prints the means.
    fn conclude(&self) {
        for PeerRatios { op, value, peer, ratios } in &self.ratios {
            let op = op.name();
            let mean = geometric_mean(ratios.iter().copied());
            let lowest = ratios.iter().copied().reduce(f64::min);
            let (Some(mean), Some(lowest)) = (mean, lowest) else { continue };
            if self.arguments.json {
                println!(
                    "{}",
                    json!({ "summary": { "op": op, "value": value, "library": peer, "matrices": ratios.len(),
                        "geometric_mean_over_ours": mean, "lowest": lowest } })
                );
            } else {
                println!(
                    "{op} {value}: {peer}'s time over ours on {}: geometric mean {mean:.3}, lowest {lowest:.3}",
                    ratios.len()
                );
            }
        }
    }
}

/// The outcomes of ours and of the peers that are open, ours first.
fn outcomes<C>(
    ours: (Times, C),
    peers: [(&'static str, Measured<C>); 2],
    check: impl Fn(&C) -> Result<(), String>,
) -> Vec<Outcome> {
    let peers = peers.into_iter().filter_map(|(name, found)| Some((name, found?)));
    std::iter::once(("evenpath", Ok(ours)))
        .chain(peers)
        .map(|(name, found)| {
            let checked = found.map(|(times, c)| (times, check(&c)));
            Outcome { name, found: checked.map_err(|error| error.to_string()) }
        })
        .collect()
}

impl Outcome {
    /// The times, if the result is right.
    fn right(&self) -> Option<&Times> {
        match &self.found {
            Ok((times, Ok(()))) => Some(times),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match &self.found {
            Ok((times, Ok(()))) => {
                format!("{:.4}{}", median(times), if times.is_wide() { "~" } else { "" })
            }
            Ok((_, Err(wrong))) => format!("FAIL: {wrong}"),
            Err(error) => error.clone(),
        }
    }
}
