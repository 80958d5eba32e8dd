//! Measures one matrix.

use std::fmt;

use evenpath::error::OpError;
use evenpath::spmv::{
    SpmvMethod, SpmvOptions, SpmvPlan, SpmvTransposedMethod, SpmvTransposedOptions, SpmvTransposedPlan,
};
use evenpath::{Csr, Device, DeviceCsr, DeviceVec, Value};

use super::Reference;
use super::figures::{Figures, MethodRecord, Outcome, Record, break_even};
use super::peers::Peers;
use super::work;
use crate::input::random_vector;
use crate::measure::{Measurement, Repetitions, Timed, Times, median, sampled};
use crate::peers::{Operation, PeerError, PeerValue, SpmvOperands};

/// The number of plans made to time one.
const PLANS: usize = 5;
/// The number of runs that are compared bitwise.
const REPEATED_RUNS: usize = 3;

/// The name of [`Way::MayCopy`].
pub(crate) const MAY_COPY: &str = "may-copy";

/// A way of evenpath to multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// With the matrix, by a method.
    Direct(SpmvMethod),
    /// With the matrix, by the plan's own choice among methods that may copy.
    MayCopy,
    /// With its transpose, in a mode.
    Transposed(SpmvTransposedMethod),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(method) => method.fmt(f),
            Self::MayCopy => f.write_str(MAY_COPY),
            Self::Transposed(mode) => mode.fmt(f),
        }
    }
}

/// The plan of a way.
enum Plan<V: Value> {
    Direct(SpmvPlan<V>),
    Transposed(SpmvTransposedPlan<V>),
}

/// The figures that a plan reports.
struct PlanFigures {
    chosen: String,
    reason: String,
    workspace_bytes: u64,
    analysis_ms: f64,
}

impl<V: Value> Plan<V> {
    fn new(a: &DeviceCsr<V>, way: Way) -> Result<Self, OpError> {
        Ok(match way {
            Way::Direct(method) => Self::Direct(a.plan_spmv(SpmvOptions::default().with_method(method))?),
            Way::MayCopy => Self::Direct(a.plan_spmv(SpmvOptions::default().with_may_copy(true))?),
            Way::Transposed(mode) => {
                Self::Transposed(a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(mode))?)
            }
        })
    }

    /// y = Ax or Aᵀx.
    fn run(&self, x: &DeviceVec<V>, y: &mut DeviceVec<V>) -> Result<(), OpError> {
        match self {
            Self::Direct(plan) => plan.run(V::ONE, x, V::ZERO, y),
            Self::Transposed(plan) => plan.run(V::ONE, x, V::ZERO, y),
        }
    }

    fn figures(&self) -> Result<PlanFigures, OpError> {
        Ok(match self {
            Self::Direct(plan) => {
                let info = plan.info()?;
                PlanFigures {
                    chosen: info.method.to_string(),
                    reason: info.reason,
                    workspace_bytes: info.workspace_bytes,
                    analysis_ms: info.analysis_ms,
                }
            }
            Self::Transposed(plan) => {
                let info = plan.info()?;
                PlanFigures {
                    chosen: info.method.to_string(),
                    reason: "asked for".into(),
                    workspace_bytes: info.workspace_bytes + info.run_bytes,
                    analysis_ms: info.analysis_ms,
                }
            }
        })
    }
}

/// What to measure, and how.
pub(crate) struct Case<'c> {
    /// The device.
    pub(crate) device: &'c Device,
    /// The copy rate of the device, in GB/s.
    pub(crate) copy_gbps: f64,
    /// The ways, either all with the matrix or all with its transpose.
    pub(crate) ways: &'c [Way],
    /// The libraries to compare with.
    pub(crate) peers: &'c Peers,
    /// The corresponding operation of the peers.
    pub(crate) operation: Operation,
    /// How many runs to time.
    pub(crate) repetitions: Repetitions,
    /// The suite.
    pub(crate) suite: &'c str,
    /// The matrix.
    pub(crate) matrix: &'c str,
    /// The parameters that were drawn for it, if its structure is random.
    pub(crate) structure: Option<String>,
    /// Whether it is generated.
    pub(crate) generated: bool,
}

/// Why a contender has no time.
enum Failure {
    Own(OpError),
    Peer(PeerError),
}

/// Measures all methods, and all peers, in turns.
///
/// # Errors
///
/// If there is not enough device memory for matrix and vectors, or the device was lost.
pub(crate) fn measure<V: PeerValue>(case: &Case<'_>, matrix: &Csr<V>) -> Result<Record, OpError> {
    let (rows, cols) = case.operation.shape(matrix.rows(), matrix.cols());
    let x: Vec<V> = random_vector(cols, 1);
    let transposed = (case.operation == Operation::Transposed).then(|| matrix.transpose()).transpose()?;
    let multiplied = transposed.as_ref().unwrap_or(matrix);
    let Ok(reference) = Reference::new(multiplied, &x) else { unreachable!("x has one element per column") };

    // An element that is not written stays NaN.
    let nowhere = vec![V::from_f64(f64::NAN); rows];
    let operands = SpmvOperands { alpha: V::ONE, x: &x, beta: V::ZERO, y: &nowhere };
    let on_gpu = case.peers.problem(matrix, case.operation, operands);
    let mut peers = case.peers.prepare(on_gpu.as_ref(), matrix, case.operation, operands);
    let problem = Problem {
        case,
        host: multiplied,
        a: case.device.upload(matrix)?,
        x: case.device.upload(&x)?,
        rows,
        reference: &reference,
    };
    let mut own: Vec<Result<Prepared<V>, OpError>> =
        case.ways.iter().map(|&way| problem.prepare(way)).collect();

    let mut contenders: Vec<Timed<'_, Failure>> = Vec::new();
    for prepared in own.iter_mut().flatten() {
        contenders.push(Box::new(|runs| problem.time_ms(prepared, runs).map_err(Failure::Own)));
    }
    for ready in peers.iter_mut().filter_map(|(_, peer)| peer.outcome.as_mut().ok()) {
        contenders.push(Box::new(|runs| ready.prepared.time_ms(runs).map_err(Failure::Peer)));
    }
    let mut times = case.repetitions.interleaved(contenders).into_iter();
    let own_times: Vec<Option<Result<Times, Failure>>> =
        own.iter().map(|prepared| prepared.is_ok().then(|| times.next()).flatten()).collect();

    let mut record = record(case, matrix);
    for (library, peer) in peers {
        let next = || match times.next() {
            Some(Ok(times)) => Ok(times),
            Some(Err(Failure::Peer(error))) => Err(error),
            Some(Err(Failure::Own(_))) | None => unreachable!("one result per contender, in their order"),
        };
        record.peers.push(super::peers::record(library, peer, next, &reference));
    }
    let unprepared = record.best_peer(|_, figures| figures.preprocessing_ms == 0.0).map(|(_, peer)| peer.ms);
    for ((&way, prepared), times) in case.ways.iter().zip(own).zip(own_times) {
        let times = match times {
            None | Some(Ok(_)) => times.and_then(Result::ok),
            Some(Err(Failure::Own(error))) => {
                record.methods.push(failed(way, error)?);
                continue;
            }
            Some(Err(Failure::Peer(_))) => unreachable!("one result per contender, in their order"),
        };
        let figures = prepared.and_then(|prepared| {
            let Some(times) = times else { unreachable!("what is prepared is timed") };
            problem.figures(prepared, &times, unprepared)
        });
        record.methods.push(match figures {
            Ok(figures) => MethodRecord { method: way.to_string(), outcome: Outcome::Measured(figures) },
            Err(error) => failed(way, error)?,
        });
    }
    Ok(record)
}

/// The record of a method that cannot run; an error if the device was lost.
fn failed(way: Way, error: OpError) -> Result<MethodRecord, OpError> {
    match error {
        OpError::Device(lost) => Err(lost.into()),
        error => {
            let outcome = Outcome::Failed { error: error.to_string() };
            Ok(MethodRecord { method: way.to_string(), outcome })
        }
    }
}

/// A record without methods and peers.
fn record<V: PeerValue>(case: &Case<'_>, matrix: &Csr<V>) -> Record {
    let statistics = matrix.statistics();
    Record {
        op: match case.operation {
            Operation::Direct => "spmv",
            Operation::Transposed => "spmv_transposed",
        },
        suite: case.suite.into(),
        matrix: case.matrix.into(),
        structure: case.structure.clone(),
        generated: case.generated,
        value: V::NAME,
        rows: matrix.rows(),
        cols: matrix.cols(),
        nnz: matrix.nnz(),
        row_length_std_dev: statistics.row_length_std_dev,
        row_length_max: statistics.row_length_max,
        fits_l2: case.device.properties().l2_bytes.map(|l2| work(matrix).bytes <= l2),
        methods: Vec::new(),
        peers: Vec::new(),
    }
}

fn bits<V: Value>(values: &[V]) -> &[u8] {
    bytemuck::cast_slice(values)
}

/// Operands on the device.
struct Problem<'c, V: Value> {
    case: &'c Case<'c>,
    host: &'c Csr<V>,
    a: DeviceCsr<V>,
    x: DeviceVec<V>,
    rows: usize,
    reference: &'c Reference,
}

/// A plan that is ready to run.
struct Prepared<V: Value> {
    way: Way,
    plan: Plan<V>,
    plan_ms: f64,
    y: DeviceVec<V>,
}

impl<V: Value> Problem<'_, V> {
    fn prepare(&self, way: Way) -> Result<Prepared<V>, OpError> {
        let mut plan = Plan::new(&self.a, way)?;
        // The first plan, and the first run, also load code.
        let mut y = self.nowhere()?;
        plan.run(&self.x, &mut y)?;
        self.case.device.synchronize()?;
        let mut plans_ms = Vec::new();
        for _ in 0..PLANS {
            plan = Plan::new(&self.a, way)?;
            plans_ms.push(plan.figures()?.analysis_ms);
        }
        Ok(Prepared { way, plan, plan_ms: median(&plans_ms), y })
    }

    fn time_ms(&self, prepared: &mut Prepared<V>, runs: usize) -> Result<f64, OpError> {
        let Prepared { plan, y, .. } = prepared;
        sampled(self.case.device, || plan.run(&self.x, y))(runs)
    }

    /// The figures of a plan. `unprepared` is the time of the fastest peer without preprocessing.
    fn figures(
        &self,
        prepared: Prepared<V>,
        times: &Times,
        unprepared: Option<f64>,
    ) -> Result<Figures, OpError> {
        let Prepared { way, mut plan, plan_ms, y } = prepared;
        let result = y.download()?;
        drop(y);
        let mut repeatable = true;
        for run in 0..REPEATED_RUNS {
            let mut again = self.nowhere()?;
            if run + 1 == REPEATED_RUNS {
                plan = Plan::new(&self.a, way)?;
            }
            plan.run(&self.x, &mut again)?;
            repeatable &= bits(&again.download()?) == bits(&result);
        }
        let info = plan.figures()?;
        let measured = Measurement::new(work(self.host), times);
        Ok(Figures {
            chosen: info.chosen,
            reason: info.reason,
            copy_share: measured.gbps / self.case.copy_gbps,
            plan_ms,
            workspace_bytes: info.workspace_bytes,
            break_even: unprepared.and_then(|peer_ms| break_even(plan_ms, measured.ms, peer_ms)),
            repeatable,
            ordered: way != Way::Transposed(SpmvTransposedMethod::Unordered),
            difference: self.reference.check(&result).err(),
            measured,
        })
    }

    /// A buffer for results, filled with NaN, which must not remain in them.
    fn nowhere(&self) -> Result<DeviceVec<V>, OpError> {
        Ok(self.case.device.upload(&vec![V::from_f64(f64::NAN); self.rows])?)
    }
}
