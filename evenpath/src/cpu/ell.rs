//! Products with padded rows, ELL and sliced ELL, and permutations of vectors.

use super::vector::update;
use crate::device::{Device, DeviceKind, DeviceSlice};
use crate::matrix::PADDING;
use crate::{Value, parallel};

/// The minimum number of rows per task.
const GRAIN: usize = 1 << 10;

/// Padded rows in slices; ELL is a single slice.
#[derive(Clone, Copy)]
pub(crate) struct PaddedRows<'a, V> {
    column_indices: &'a [u32],
    values: &'a [V],
    slice_height: usize,
    /// Offsets in multiples of `slice_height` slots.
    slice_offsets: &'a [u64],
    /// True if the j-th nonzero of a row is multiplied by `x[min(j, column)]` instead of `x[column]`.
    in_sequence: bool,
}

impl<'a, V: Value> PaddedRows<'a, V> {
    /// Creates the rows from the arrays of a valid matrix, if the device is the CPU. The height is 0 only if
    /// there are no rows.
    pub(crate) fn new(
        device: &Device,
        column_indices: &'a DeviceSlice<u32>,
        values: &'a DeviceSlice<V>,
        slice_height: usize,
        slice_offsets: &'a [u64],
    ) -> Option<Self> {
        if device.kind() != DeviceKind::Cpu {
            return None;
        }
        let (column_indices, values) = (column_indices.host_slice()?, values.host_slice()?);
        Some(Self { column_indices, values, slice_height, slice_offsets, in_sequence: false })
    }

    /// Returns the same rows with a different choice of the elements of x.
    pub(crate) fn with_x_in_sequence(self, in_sequence: bool) -> Self {
        Self { in_sequence, ..self }
    }

    /// The product of the row at `position` and x, summed in the order of the nonzeros.
    fn dot(&self, position: usize, x: &[V]) -> V {
        let slice = position / self.slice_height;
        let (begin, end) = (self.slice_offsets[slice] as usize, self.slice_offsets[slice + 1] as usize);
        let mut sum = V::ZERO;
        for (slot, column_of_slots) in (begin..end).enumerate() {
            let place = column_of_slots * self.slice_height + position % self.slice_height;
            let column = self.column_indices[place];
            if column == PADDING {
                break;
            }
            let index = if self.in_sequence { slot.min(column as usize) } else { column as usize };
            sum += self.values[place] * x[index];
        }
        sum
    }
}

/// Computes `y = alpha A x + beta y`; row i is at `positions[i]`, or at i without positions. If `beta` is 0, `y` is
/// overwritten without being read.
pub(crate) fn spmv_padded<V: Value>(
    rows: PaddedRows<'_, V>,
    positions: Option<&[u32]>,
    alpha: V,
    x: &[V],
    beta: V,
    y: &mut [V],
) {
    parallel::parts_mut(y, GRAIN, |own_rows, y| {
        for (row, y) in own_rows.zip(y) {
            let position = positions.map_or(row, |positions| positions[row] as usize);
            update(y, alpha, rows.dot(position, x), beta);
        }
    });
}

/// Computes `y[i] = alpha source[positions[i]] + beta y[i]`. If `beta` is 0, `y` is overwritten without being read.
pub(crate) fn gather<V: Value>(source: &[V], positions: &[u32], alpha: V, beta: V, y: &mut [V]) {
    parallel::parts_mut(y, GRAIN, |range, y| {
        for (y, &position) in y.iter_mut().zip(&positions[range]) {
            update(y, alpha, source[position as usize], beta);
        }
    });
}
