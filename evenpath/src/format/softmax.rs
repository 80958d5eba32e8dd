//! Softmax of the rows of a matrix.

use evenpath_kernels::softmax::SoftmaxStep;

use super::DeviceCsr;
use super::path_tiles::PathTiles;
use crate::device::DeviceSlice;
use crate::operand::OpError;
use crate::operand::check::check_countable;
use crate::operation::Operator;
use crate::sequence::reduce;
use crate::{DeviceKind, Offset, Value, cpu};

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Replaces each value x of a row by e^(x − m) / Σ e^(y − m), where y are the values of the row and m is the greatest of
    /// them: the softmax of the row's nonzeros. Entries that are not stored do not count; rows without entries stay so.
    /// A row with NaN or ∞, or with −∞ alone, becomes NaN; −∞ beside other values becomes zero.
    ///
    /// Like [`set_values`](Self::set_values), it applies to clones, plans and graphs too; in a captured graph, each launch
    /// changes the values again. Runs in the order of the device's stream; the call does not wait. Results are the
    /// same to the bit in every run.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let scores = Csr::from_triplets(3, 3, [(0, 0, 7.0), (2, 0, 1000.0), (2, 2, 1000.0 + f64::ln(3.0))])?;
    /// let weights = Device::best()?.upload(&scores)?;
    /// weights.softmax_rows()?;
    /// let weights = weights.download()?;
    /// assert_eq!(weights.values()[0], 1.0);
    /// assert!((weights.values()[1] - 0.25).abs() < 1e-12 && (weights.values()[2] - 0.75).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the values are [borrowed](Self::values), there are 2³² nonzeros or more and the device is not the CPU, there is
    /// too little memory for another vector of values and two elements per row, or the device was lost.
    pub fn softmax_rows(&self) -> Result<(), OpError> {
        match self.device().kind() {
            DeviceKind::Cpu => self.shared_values().change(|values| {
                let offsets = self.pattern().row_offsets.host_slice();
                if let (Some(offsets), Some(values)) = (offsets, values.host_slice_mut()) {
                    cpu::softmax_rows(offsets, values);
                }
                Ok::<(), OpError>(())
            }),
            DeviceKind::Cuda(_) | DeviceKind::Simulated => {
                check_countable("a softmax", self.nnz())?;
                self.shared_values().change(|values| softmax_by_kernels(self, values))
            }
        }
    }
}

/// Replaces values, one per nonzero of the matrix. Nothing is written to them before the last launch.
fn softmax_by_kernels<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    values: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    let (device, pattern) = (matrix.device(), matrix.pattern());
    let (tiles, launch) = PathTiles::find(matrix, device.kernel())?;
    let step = SoftmaxStep {
        pattern: pattern.view(),
        tile_rows: tiles.rows.as_global(),
        source: values.as_global(),
        of_rows: values.as_global(),
        target: values.as_global_mut(),
        is_division: 0,
    };
    let mut greatest = device.uninitialized(matrix.nrows())?;
    reduce::by_valid_offsets_into(&pattern.row_offsets, values, Operator::Max, &mut greatest)?;
    let mut exponentials = device.uninitialized(matrix.nnz())?;
    let target = exponentials.as_global_mut();
    // SAFETY: the tiles are the matrix's, of the kernel's length; there is a value and an exponential per nonzero, and a maximum per
    // row; buffers are freed in the stream's order.
    unsafe { launch.launch(SoftmaxStep { of_rows: greatest.as_global(), target, ..step }) }?;
    let mut sums = greatest;
    reduce::by_valid_offsets_into(&pattern.row_offsets, &exponentials, Operator::Sum, &mut sums)?;
    let source = exponentials.as_global();
    // SAFETY: the same, with a sum per row.
    unsafe { launch.launch(SoftmaxStep { source, of_rows: sums.as_global(), is_division: 1, ..step }) }?;
    Ok(())
}
