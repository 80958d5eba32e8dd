//! Measures and reports selected cases.

use evenpath::Device;
use evenpath::error::OpError;

use super::case::{Case, Figures, Measurement, Outcome};
use crate::measure::{Times, median, single_times_ms};

/// Measurements to take.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// log2 of the sizes; `None` for the default of the device.
    pub(crate) log2: Option<Vec<u32>>,
    /// Measure operations whose names contain one of these; all, if empty.
    pub(crate) ops: Vec<String>,
    /// Runs to time per measurement.
    pub(crate) repetitions: usize,
}

/// Measures and reports.
pub(super) struct Bench<'b> {
    pub(super) device: &'b Device,
    pub(super) copy_gbps: f64,
    pub(super) selection: &'b Selection,
    pub(super) report: &'b mut dyn FnMut(Outcome),
}

/// A measurement of an operation on a device's memory.
pub(super) struct Measured {
    pub(super) op: String,
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) n: usize,
    pub(super) times_ms: Times,
    /// Bytes of inputs and results, each counted once.
    pub(super) bytes: usize,
    pub(super) temporary_bytes: u64,
    pub(super) checked: Option<Result<(), String>>,
}

impl Bench<'_> {
    /// The selected cases, with the name of the operation.
    pub(super) fn selected<C: Copy>(
        &self,
        cases: impl IntoIterator<Item = C>,
        op: impl Fn(C) -> String,
    ) -> Vec<(String, C)> {
        let ops = &self.selection.ops;
        let is_selected = |op: &str| ops.is_empty() || ops.iter().any(|part| op.contains(part));
        let named = cases.into_iter().map(|case| (op(case), case));
        named.filter(|(op, _)| is_selected(op)).collect()
    }

    pub(super) fn times_ms(&self, run: impl FnMut() -> Result<(), OpError>) -> Result<Times, OpError> {
        single_times_ms(self.device, self.selection.repetitions, run)
    }

    pub(super) fn report(&mut self, measured: Measured) {
        let Measured { op, key, value, n, times_ms, bytes, temporary_bytes, checked } = measured;
        let ms = median(&times_ms);
        let gb_s = bytes as f64 / ms / 1e6;
        let figures = Figures::Sequence {
            ms,
            gkeys_s: n as f64 / ms / 1e6,
            gb_s,
            copy_share: gb_s / self.copy_gbps,
            temporary_bytes,
        };
        let case = Case::Sequence { op, key: key.into(), value: value.into(), n: n as u64 };
        (self.report)(Outcome::Measured(Measurement::new(case, figures, checked)));
    }
}
