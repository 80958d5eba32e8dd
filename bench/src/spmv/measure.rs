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
use crate::measure::{Measurement, Repetitions, median, times_ms};
use crate::peers::{Operation, PeerValue};

/// The number of plans made to time one.
const PLANS: usize = 5;
/// The number of runs that are compared bitwise.
const REPEATED_RUNS: usize = 3;

/// A way of evenpath to multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// With the matrix, by a method.
    Direct(SpmvMethod),
    /// With its transpose, in a mode.
    Transposed(SpmvTransposedMethod),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(method) => method.fmt(f),
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
pub struct Case<'c> {
    /// The device.
    pub device: &'c Device,
    /// The copy rate of the device, in GB/s.
    pub copy_gbps: f64,
    /// The ways, either all with the matrix or all with its transpose.
    pub ways: &'c [Way],
    /// The libraries to compare with.
    pub peers: &'c Peers,
    /// The corresponding operation of the peers.
    pub operation: Operation,
    /// How many runs to time.
    pub repetitions: Repetitions,
    /// The suite.
    pub suite: &'c str,
    /// The matrix.
    pub matrix: &'c str,
    /// Whether it is generated.
    pub generated: bool,
}

/// Measures all methods, and all peers.
///
/// # Errors
///
/// If there is not enough device memory for matrix and vectors, or the device was lost.
pub fn measure<V: PeerValue>(case: &Case<'_>, matrix: &Csr<V>) -> Result<Record, OpError> {
    let (rows, cols) = case.operation.shape(matrix.rows(), matrix.cols());
    let x: Vec<V> = random_vector(cols, 1);
    let transposed = (case.operation == Operation::Transposed).then(|| matrix.transpose());
    let multiplied = transposed.as_ref().unwrap_or(matrix);
    let Ok(reference) = Reference::new(multiplied, &x) else { unreachable!("x has one element per column") };
    let statistics = matrix.statistics();
    let mut record = Record {
        op: match case.operation {
            Operation::Direct => "spmv",
            Operation::Transposed => "spmv_transposed",
        },
        suite: case.suite.into(),
        matrix: case.matrix.into(),
        generated: case.generated,
        value: V::NAME,
        rows: matrix.rows(),
        cols: matrix.cols(),
        nnz: matrix.nnz(),
        row_length_std_dev: statistics.row_length_std_dev,
        row_length_max: statistics.row_length_max,
        fits_l2: case.device.properties().l2_bytes.map(|l2| work(matrix).bytes <= l2),
        methods: Vec::new(),
        peers: case.peers.measure(matrix, case.operation, &x, &reference, case.repetitions),
    };
    let unprepared = record.best_peer(|_, figures| figures.preprocessing_ms == 0.0).map(|(_, peer)| peer.ms);
    let problem = Problem {
        case,
        host: multiplied,
        a: case.device.upload(matrix)?,
        x: case.device.upload(&x)?,
        rows,
        reference: &reference,
        unprepared,
    };
    for &way in case.ways {
        let outcome = match problem.measure(way) {
            Ok(figures) => Outcome::Measured(figures),
            Err(OpError::Device(lost)) => return Err(lost.into()),
            Err(error) => Outcome::Failed { error: error.to_string() },
        };
        record.methods.push(MethodRecord { method: way.to_string(), outcome });
    }
    Ok(record)
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
    /// Milliseconds of the fastest peer without preprocessing.
    unprepared: Option<f64>,
}

impl<V: Value> Problem<'_, V> {
    fn measure(&self, way: Way) -> Result<Figures, OpError> {
        let device = self.case.device;
        let mut plan = Plan::new(&self.a, way)?;
        // The first plan, and the first run, also load code.
        let mut y = self.nowhere()?;
        plan.run(&self.x, &mut y)?;
        device.synchronize()?;
        let mut plans_ms = Vec::new();
        for _ in 0..PLANS {
            plan = Plan::new(&self.a, way)?;
            plans_ms.push(plan.figures()?.analysis_ms);
        }
        let times = times_ms(device, self.case.repetitions, || plan.run(&self.x, &mut y))?;
        let result = y.download()?;
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
        let measured = Measurement::new(work(self.host), &times);
        let plan_ms = median(&plans_ms);
        Ok(Figures {
            chosen: info.chosen,
            reason: info.reason,
            copy_share: measured.gbps / self.case.copy_gbps,
            plan_ms,
            workspace_bytes: info.workspace_bytes,
            break_even: self.unprepared.and_then(|peer_ms| break_even(plan_ms, measured.ms, peer_ms)),
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
