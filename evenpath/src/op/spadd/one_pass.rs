//! Sums of small matrices in one launch, which writes results before the host knows their number.

use evenpath_kernels::spadd::{OnePass, SpaddOutput, one_pass_state_words, path_items};

use super::operands::{Factors, SpaddOperands, countable};
use crate::device::{DeviceKind, Kernels};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// Maximum number of entries of both operands for a single launch. It saves two of three launches, and the
/// pause between the phases, which take most of the time here. Unused memory for possible results, a few
/// megabytes, is kept with the result.
const MOST_IN_ONE_PASS: usize = 1 << 18;

/// The kernels of one pass, to be compiled ahead.
fn kernels<V: Scalar, O: Offset>() -> Kernels {
    Kernels::default().and::<OnePass<V, O>>()
}

impl<V: Scalar, O: Offset> SpaddOperands<'_, V, O> {
    /// Computes the result in one pass; `None` if that is not possible. Waits for the device.
    pub(super) fn in_one_pass(&self, factors: Factors<V>) -> Result<Option<DeviceCsr<V, O>>, OpError> {
        if !self.fit_one_pass() {
            return Ok(None);
        }
        let (a, b, device) = (self.a.pattern(), self.b.pattern(), self.device());
        device.prepare(kernels::<V, O>)?;
        let launch = device.kernel().items(path_items(a.view(), b.view()) as usize)?;
        let mut state = device.launch_state(one_pass_state_words(launch.grid()))?;
        let most = self.a.nnz() + self.b.nnz();
        let mut row_offsets = device.uninitialized(a.rows + 1)?;
        let (mut columns, mut values) = (device.uninitialized(most)?, device.uninitialized(most)?);
        let pattern = (row_offsets.as_global_mut(), columns.as_global_mut());
        let (a_values, b_values) = (self.a.values_now(), self.b.values_now());
        let (stale, stale_words) = state.stale();
        let kernel = OnePass {
            a: a.with_values(&a_values),
            b: b.with_values(&b_values),
            state: state.own(),
            results: state.results(),
            stale,
            stale_words,
            output: SpaddOutput::new(Some(pattern), Some(values.as_global_mut())),
            keep: self.operation.code(),
            alpha: factors.0,
            beta: factors.1,
        };
        // SAFETY: the views are of two canonical matrices with the same number of rows, of the state of the path's tiles, which is
        // zero, and of outputs with room for all entries of both and `rows` + 1 row offsets. All are on this device, and buffers are freed in
        // the stream's order.
        unsafe { launch.launch(kernel) }?;
        let [results] = state.finish()?;
        let nonzeros = countable::<O>(results)?;
        columns.truncate(nonzeros);
        values.truncate(nonzeros);
        let pattern = DevicePattern::canonical(a.rows, a.cols, row_offsets, columns);
        Ok(Some(DeviceCsr::from_valid(pattern, values)))
    }

    /// Returns whether one pass suits these operands: the device runs kernels, both are small, have rows, and
    /// are known to be canonical. If this is not known, the walk of two phases checks it while it counts.
    fn fit_one_pass(&self) -> bool {
        let (a, b) = (self.a.pattern(), self.b.pattern());
        self.device().kind() != DeviceKind::Cpu
            && a.rows > 0
            && self.a.nnz() + self.b.nnz() <= MOST_IN_ONE_PASS
            && [a, b].iter().all(|pattern| pattern.is_canonical())
    }
}
