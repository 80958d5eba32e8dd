//! The rows of factors, in the order of levels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenpath_kernels::factorization::FactorRows;

use super::info::FactorizationPlanInfo;
use crate::cpu::{FactorizedRows, Triangle};
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Event};
use crate::format::DeviceCsr;
use crate::format::canonical::check_canonical;
use crate::format::csr::DevicePattern;
use crate::op::triangular::entries::{
    Entries, MAX_ROWS, SortedSteps, find_entries, find_levels, first_row, sort_steps,
};
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::{Entry, Offset, RealStorage, Scalar};

/// The pattern of factors, analyzed, and the outcome of the last factorization.
pub(super) struct FactorAnalysis<V: Scalar, O: Offset> {
    pattern: Arc<DevicePattern<O>>,
    rows: Rows<V, O>,
    events: (Event, Event),
}

enum Rows<V: Scalar, O: Offset> {
    Cpu {
        /// The entries of each row below the diagonal, and the levels of the rows.
        triangle: Triangle<O>,
        /// The first row that broke down.
        breakdown: Mutex<Option<usize>>,
    },
    Kernels(Box<OnDevice<V, O>>),
}

/// Rows on a device with kernels.
struct OnDevice<V: Scalar, O: Offset> {
    entries: Entries<O>,
    /// The rows in the order of levels.
    order: DeviceVec<u32>,
    levels: usize,
    state: Mutex<State<V>>,
}

/// Memory of one factorization at a time.
struct State<V: Scalar> {
    /// The parts of the entries that rows pass on.
    passed: DeviceVec<V::Real>,
    drawn: DeviceVec<u64>,
    found: DeviceVec<u64>,
}

/// Checks that a matrix is square, canonical and not too large. Waits for the device the first time.
pub(super) fn check_matrix<V: Entry, O: Offset>(a: &DeviceCsr<V, O>) -> Result<(), OpError> {
    a.device().check_threads()?;
    let rows = a.nrows();
    check_shape("A", a.shape(), (rows, rows))?;
    if rows > MAX_ROWS {
        return Err(OpError::TooLong { what: "a factorization", len: rows, limit: MAX_ROWS });
    }
    check_canonical("A", a.pattern())
}

impl<V: Scalar, O: Offset> FactorAnalysis<V, O> {
    /// Analyzes the pattern of factors, of which that below the diagonal counts. `start` is when the analysis began. Waits for the
    /// device.
    pub(super) fn new(pattern: &Arc<DevicePattern<O>>, start: Event) -> Result<Self, OpError> {
        let device = pattern.row_offsets.device();
        let rows = match pattern.host_arrays() {
            Some(arrays) => {
                let missing = |row| OpError::MissingDiagonal { operand: "A", row };
                let triangle = Triangle::find(arrays, (false, false), |_, _| 1).map_err(missing)?;
                Rows::Cpu { triangle, breakdown: Mutex::default() }
            }
            None => Self::for_kernels(pattern)?,
        };
        Ok(Self { pattern: Arc::clone(pattern), rows, events: (start, device.record()?) })
    }

    fn for_kernels(pattern: &DevicePattern<O>) -> Result<Rows<V, O>, OpError> {
        let (rows, device) = (pattern.rows, pattern.row_offsets.device());
        let (entries, found) = find_entries(pattern, false)?;
        if let Some(row) = found.missing {
            return Err(OpError::MissingDiagonal { operand: "A", row });
        }
        let levels = find_levels(pattern, &entries, &found)?;
        let SortedSteps { units: order, last: levels, .. } = sort_steps(&levels, rows)?;
        let words = pattern.column_indices.len().saturating_mul(V::PARTS);
        let state =
            State { passed: device.uninitialized(words)?, drawn: device.zeros(1)?, found: device.zeros(1)? };
        Ok(Rows::Kernels(Box::new(OnDevice { entries, order, levels, state: Mutex::new(state) })))
    }

    pub(super) fn device(&self) -> &Device {
        self.pattern.row_offsets.device()
    }

    /// The pattern of the factors.
    pub(super) fn pattern(&self) -> &Arc<DevicePattern<O>> {
        &self.pattern
    }

    /// Checks that a matrix, named in errors, has the given pattern, that of the plan.
    pub(super) fn check_pattern(
        (operand, matrix): (&'static str, &DeviceCsr<V, O>),
        pattern: &Arc<DevicePattern<O>>,
    ) -> Result<(), OpError> {
        if Arc::ptr_eq(matrix.pattern(), pattern) { Ok(()) } else { Err(OpError::PatternOfPlan { operand }) }
    }

    /// The rows on the CPU, and where to note the first that breaks down.
    pub(super) fn on_cpu(&self) -> Option<(FactorizedRows<'_, O>, MutexGuard<'_, Option<usize>>)> {
        let Rows::Cpu { triangle, breakdown } = &self.rows else { return None };
        let (row_offsets, column_indices) = self.pattern.host_arrays()?;
        let rows = FactorizedRows { row_offsets, column_indices, triangle };
        Some((rows, breakdown.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Calls `launch` with the rows as a kernel argument, for one factorization; does nothing on the CPU.
    pub(super) fn with_rows(
        &self,
        factors: &mut DeviceSlice<V>,
        launch: impl FnOnce(FactorRows<V, O>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let Rows::Kernels(on_device) = &self.rows else { return Ok(()) };
        let OnDevice { entries, order, state, .. } = &**on_device;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.found.set_zero()?;
        state.passed.set_zero()?;
        let State { passed, drawn, found } = &mut *state;
        launch(FactorRows {
            pattern: self.pattern.view(),
            entries: entries.view(),
            order: order.as_global(),
            factors: factors.as_global_mut(),
            passed: passed.as_global_mut(),
            drawn: drawn.as_global_mut(),
            found: found.as_global_mut(),
        })
    }

    /// Checks that the last factorization has not broken down. Waits for the device.
    pub(super) fn check_pivots(&self) -> Result<(), OpError> {
        self.device().refuse_in_graph("the host waits for the row of a pivot")?;
        let row = match &self.rows {
            Rows::Cpu { breakdown, .. } => *breakdown.lock().unwrap_or_else(PoisonError::into_inner),
            Rows::Kernels(on_device) => {
                first_row(on_device.state.lock().unwrap_or_else(PoisonError::into_inner).found.get(0)?)
            }
        };
        row.map_or(Ok(()), |row| Err(OpError::Breakdown { row }))
    }

    /// Costs of a plan that holds `other_bytes` of its own. Waits for the analysis.
    pub(super) fn info(&self, other_bytes: u64) -> Result<FactorizationPlanInfo, DeviceError> {
        let (start, end) = &self.events;
        let analysis_ms = end.elapsed_since(start)?;
        let (levels, own) = match &self.rows {
            Rows::Cpu { triangle, .. } => (triangle.levels, triangle.bytes() as u64),
            Rows::Kernels(on_device) => {
                let OnDevice { entries, order, levels, state } = &**on_device;
                let State { passed, drawn, found } = &*state.lock().unwrap_or_else(PoisonError::into_inner);
                let rows = entries.lengths.bytes() + order.bytes() + entries.begins.bytes();
                (*levels, rows + passed.bytes() + drawn.bytes() + found.bytes())
            }
        };
        Ok(FactorizationPlanInfo { levels, workspace_bytes: own + other_bytes, analysis_ms })
    }
}

/// The factor of the diagonal for a shift.
pub(super) fn diagonal_factor<V: Scalar>(shift: f64) -> V {
    V::from_parts(V::Real::from_f64(1.0 + shift), V::Real::from_f64(0.0))
}
