//! A transpose that follows the values of its matrix.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::DeviceCsr;
use super::csr::DevicePattern;
use super::transpose::{Transpose, check_countable, transpose};
use super::values::{CopyState, ValueCopy};
use crate::device::{DeviceError, DeviceKind, DeviceSlice, DeviceVec};
use crate::operand::OpError;
use crate::sequence::{complex, vector};
use crate::{CsrView, Offset, Scalar, cpu};

/// The transpose of a matrix. Its values are those of the matrix when it is [`current`](Self::current).
pub(crate) struct TransposedCopy<V: Scalar, O: Offset> {
    transpose: Transpose<V, O>,
    is_conjugated: bool,
    state: Mutex<CopyState>,
}

impl<V: Scalar, O: Offset> ValueCopy<V> for TransposedCopy<V, O> {
    fn refresh(&self, values: &DeviceVec<V>, version: u64) -> Result<(), OpError> {
        let mut state = self.state.lock();
        let Transpose { matrix, permutation } = &self.transpose;
        matrix.shared_values().write(|own| {
            gather(values, permutation, own)?;
            if self.is_conjugated { complex::conjugate(own) } else { Ok(()) }
        })?;
        state.refreshed(values, version);
        Ok(())
    }
}

/// Copies the values of a matrix to those of its transpose.
fn gather<V: Scalar>(
    values: &DeviceVec<V>,
    permutation: &DeviceVec<u32>,
    own: &mut DeviceSlice<V>,
) -> Result<(), DeviceError> {
    if let (Some(values), Some(permutation), Some(own)) =
        (values.host_slice(), permutation.host_slice(), own.host_slice_mut())
    {
        cpu::copy_at(values, permutation, own);
        return Ok(());
    }
    // SAFETY: the permutation's elements are the indices of the matrix's nonzeros, each of which has a value, there and in the
    // transpose; all are on the matrix's device.
    unsafe { vector::gather_into(values, permutation, own) }
}

impl<V: Scalar, O: Offset> TransposedCopy<V, O> {
    /// Transposes a matrix.
    pub(crate) fn new(matrix: &DeviceCsr<V, O>) -> Result<Arc<Self>, OpError> {
        Self::made(matrix, false)
    }

    /// Transposes a matrix, and conjugates its values; real ones stay.
    pub(crate) fn conjugated(matrix: &DeviceCsr<V, O>) -> Result<Arc<Self>, OpError> {
        Self::made(matrix, V::IS_COMPLEX)
    }

    fn made(matrix: &DeviceCsr<V, O>, is_conjugated: bool) -> Result<Arc<Self>, OpError> {
        let values = matrix.values_now();
        let transpose = match matrix.device().kind() {
            DeviceKind::Cpu => transpose_on_cpu(matrix, &values)?,
            DeviceKind::Simulated | DeviceKind::Cuda(_) => transpose(matrix, &values)?,
        };
        if is_conjugated {
            transpose.matrix.conjugate()?;
        }
        let copy = Arc::new(Self { transpose, is_conjugated, state: Mutex::new(values.copy_state()) });
        let weak: Weak<Self> = Arc::downgrade(&copy);
        matrix.shared_values().follow(weak);
        Ok(copy)
    }

    /// The transpose, with the values that it had last.
    pub(crate) fn matrix(&self) -> &DeviceCsr<V, O> {
        &self.transpose.matrix
    }

    /// Returns the transpose of the matrix that it was made of, with the values that this has now.
    pub(crate) fn current(&self, matrix: &DeviceCsr<V, O>) -> Result<&DeviceCsr<V, O>, OpError> {
        let values = matrix.values_now();
        let state = *self.state.lock();
        if state.is_stale(values.version()) {
            self.refresh(&values, values.version())?;
        }
        Ok(self.matrix())
    }

    /// Bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.transpose.matrix.bytes() + self.transpose.permutation.bytes()
    }
}

/// Computes the transpose and its permutation on the CPU: the permutation is the transposed numbers of the nonzeros.
fn transpose_on_cpu<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    values: &DeviceVec<V>,
) -> Result<Transpose<V, O>, OpError> {
    let nonzeros = check_countable(matrix)?;
    let (device, pattern) = (matrix.device(), matrix.pattern());
    let Some((row_offsets, column_indices)) = pattern.host_arrays() else {
        unreachable!("the CPU's buffers are the host's")
    };
    let numbers = cpu::iota(nonzeros);
    let numbered = CsrView::from_valid(pattern.rows, pattern.cols, row_offsets, column_indices, &numbers);
    let (row_offsets, column_indices, permutation) = numbered.transpose()?.into_parts();
    let mut own = device.uninitialized(values.len())?;
    if let (Some(values), Some(own)) = (values.host_slice(), own.host_slice_mut()) {
        cpu::copy_at(values, &permutation, own);
    }
    let (row_offsets, column_indices) = (device.adopt(row_offsets)?, device.adopt(column_indices)?);
    let pattern = DevicePattern::new(pattern.cols, pattern.rows, row_offsets, column_indices);
    Ok(Transpose { matrix: DeviceCsr::from_valid(pattern, own), permutation: device.adopt(permutation)? })
}
