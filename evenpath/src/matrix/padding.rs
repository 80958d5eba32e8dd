//! Common parts of the padded formats: the limit on padding, and the conversion to CSR.

use std::ops::Range;

use super::blocks::{grain, row_blocks, split_both};
use super::limits::PADDING;
use super::{Csr, CsrView, MatrixError};
use crate::memory::try_zeroed;
use crate::{Offset, Value, parallel};

/// Rows per task.
const GRAIN: usize = grain(1 << 10);
/// Row lengths per task.
const LENGTHS: usize = grain(1 << 15);

/// Limit on the memory of padded rows. The size is computed before anything is allocated; a conversion that
/// exceeds the limit fails with [`MatrixError::PaddingTooLarge`].
///
/// The default is that of the CUSP library: three times the memory of the nonzeros without padding, but at
/// least 2²⁰ slots.
///
/// ```
/// use evenpath::ell::PaddingLimit;
/// use evenpath::error::MatrixError;
/// use evenpath::Csr;
///
/// let uneven = Csr::from_triplets(1000, 1000, (0..1000).map(|col| (0, col, 1.0)))?;
/// let refused = uneven.to_ell(PaddingLimit::Bytes(1 << 20)).unwrap_err(); // a million slots
/// assert!(matches!(refused, MatrixError::PaddingTooLarge { width: 1000, .. }));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PaddingLimit {
    /// A number of bytes.
    Bytes(u64),
    /// A multiple of the memory of the nonzeros without padding, but at least 2²⁰ slots.
    Times(u32),
}

impl Default for PaddingLimit {
    fn default() -> Self {
        Self::Times(3)
    }
}

impl PaddingLimit {
    /// Number of slots that a limit relative to the nonzeros always allows.
    const MIN_SLOTS: u64 = 1 << 20;

    /// The limit in bytes on the columns and values of a matrix with `nnz` nonzeros.
    fn bytes<V: Value>(self, nnz: usize) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Times(factor) => {
                let slots = (nnz as u64).saturating_mul(u64::from(factor)).max(Self::MIN_SLOTS);
                slots.saturating_mul(slot_bytes::<V>())
            }
        }
    }

    /// Checks the number of slots against the limit; `width` is the length of the longest row.
    pub(super) fn check<V: Value>(
        self,
        rows: usize,
        width: usize,
        nnz: usize,
        slots: u128,
    ) -> Result<usize, MatrixError> {
        let bytes = u64::try_from(slots * u128::from(slot_bytes::<V>())).unwrap_or(u64::MAX);
        let limit = self.bytes::<V>(nnz);
        let addressable = isize::try_from(bytes).is_ok();
        match usize::try_from(slots) {
            Ok(slots) if bytes <= limit && addressable => Ok(slots),
            _ => Err(MatrixError::PaddingTooLarge { rows, width, bytes, limit }),
        }
    }
}

/// Bytes per slot: a column and a value.
pub(super) fn slot_bytes<V: Value>() -> u64 {
    (size_of::<u32>() + size_of::<V>()) as u64
}

/// Columns and values that are all padding.
pub(super) fn padded_arrays<V: Value>(
    rows: usize,
    nnz: usize,
    slots: usize,
) -> Result<(Vec<u32>, Vec<V>), MatrixError> {
    let out_of_memory = MatrixError::OutOfMemory { rows, nnz };
    let mut columns = Vec::new();
    if columns.try_reserve_exact(slots).is_err() {
        return Err(out_of_memory);
    }
    columns.resize(slots, PADDING);
    let values = try_zeroed(slots).map_err(|()| out_of_memory)?;
    Ok((columns, values))
}

/// Length of the longest row.
pub(super) fn longest_row<V: Value, O: Offset>(matrix: CsrView<'_, V, O>) -> Result<usize, MatrixError> {
    let width = longest(matrix);
    if u32::try_from(width).is_ok() {
        return Ok(width);
    }
    let row = (0..matrix.nrows()).find(|&row| matrix.range(row).len() == width).unwrap_or(0);
    Err(MatrixError::RowTooLong { row, nonzeros: width })
}

/// Length of the longest row, of any length.
pub(super) fn longest<V: Value, O: Offset>(matrix: CsrView<'_, V, O>) -> usize {
    let of_rows = |rows: Range<usize>| rows.map(|row| matrix.range(row).len()).max().unwrap_or(0);
    parallel::reduce(matrix.nrows(), LENGTHS, 0, of_rows, usize::max)
}

/// Sum of row lengths.
pub(super) fn sum(lengths: &[u32]) -> usize {
    let of_rows = |rows: Range<usize>| lengths[rows].iter().map(|&length| length as usize).sum();
    parallel::reduce(lengths.len(), LENGTHS, 0, of_rows, |sum, part: usize| sum + part)
}

/// Sets the values of padding to 0.
pub(super) fn clear<V: Value>(columns: &[u32], values: &mut [V]) {
    parallel::parts_mut(values, 1, |range, values| {
        let slots = values.iter_mut().zip(&columns[range]);
        slots.filter(|&(_, &column)| column == PADDING).for_each(|(value, _)| *value = V::ZERO);
    });
}

/// Location of the slots of a row: the first slot and the stride.
#[derive(Clone, Copy)]
pub(super) struct RowSlots {
    pub(super) first: usize,
    pub(super) stride: usize,
    pub(super) width: usize,
}

impl RowSlots {
    /// The positions of the slots, in order.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..self.width).map(move |slot| self.first + slot * self.stride)
    }

    /// The number of nonzeros of the row, or as an error the slot of the first column after padding.
    pub(super) fn length(self, columns: &[u32]) -> Result<u32, usize> {
        let mut places = self.places();
        let length = places.by_ref().take_while(|&place| columns[place] != PADDING).count();
        match places.position(|place| columns[place] != PADDING) {
            None => Ok(length as u32),
            Some(behind) => Err(length + 1 + behind),
        }
    }
}

/// A zeroed array for the length of each row. Pages that are never written take no memory, so rows without slots, which
/// no array bounds, cost nothing.
pub(super) fn zero_lengths(rows: usize) -> Result<Vec<u32>, MatrixError> {
    try_zeroed(rows).map_err(|()| MatrixError::OutOfMemory { rows, nnz: 0 })
}

/// Sets the lengths of the rows starting at `first` to `length(row)`; returns the first error.
pub(super) fn set_lengths(
    first: usize,
    lengths: &mut [u32],
    length: impl Fn(usize) -> Result<u32, MatrixError> + Sync,
) -> Result<(), MatrixError> {
    let error = parallel::chunks_mut_until(lengths, GRAIN, |chunk, lengths| {
        let mut rows = (first + chunk * GRAIN..).zip(lengths);
        rows.try_for_each(|(row, slot)| length(row).map(|length| *slot = length)).err()
    });
    error.map_or(Ok(()), Err)
}

/// Converts padded rows to CSR. `slots` locates a row, `lengths` has its number of nonzeros.
pub(super) fn to_csr<V: Value, O: Offset>(
    cols: usize,
    lengths: &[u32],
    slots: impl Fn(usize) -> RowSlots + Sync,
    columns: &[u32],
    values: &[V],
) -> Result<Csr<V, O>, MatrixError> {
    let row_offsets: Vec<O> = row_offsets(lengths)?;
    let nnz = row_offsets[lengths.len()].to_usize();
    if nnz == 0 {
        return Ok(Csr::from_valid(lengths.len(), cols, row_offsets, Vec::new(), Vec::new()));
    }
    let out_of_memory = |()| MatrixError::OutOfMemory { rows: lengths.len(), nnz };
    let mut own_columns: Vec<u32> = try_zeroed(nnz).map_err(out_of_memory)?;
    let mut own_values: Vec<V> = try_zeroed(nnz).map_err(out_of_memory)?;
    let blocks = row_blocks(&row_offsets);
    let parts = split_both(&blocks, &row_offsets, &mut own_columns, &mut own_values);
    parallel::for_each(parts, |(block, own_columns, own_values)| {
        let places = block.flat_map(|row| slots(row).places().take(lengths[row] as usize));
        for ((column, value), place) in own_columns.iter_mut().zip(own_values).zip(places) {
            (*column, *value) = (columns[place], values[place]);
        }
    });
    Ok(Csr::from_valid(lengths.len(), cols, row_offsets, own_columns, own_values))
}

/// The row offsets of rows with these lengths.
pub(super) fn row_offsets<O: Offset>(lengths: &[u32]) -> Result<Vec<O>, MatrixError> {
    let nnz = sum(lengths);
    let out_of_memory = |()| MatrixError::OutOfMemory { rows: lengths.len(), nnz };
    let mut offsets: Vec<O> = try_zeroed(lengths.len() + 1).map_err(out_of_memory)?;
    if nnz == 0 {
        return Ok(offsets);
    }
    let mut end = 0;
    for (offset, &length) in offsets[1..].iter_mut().zip(lengths) {
        end += length as usize;
        *offset = O::try_from_usize(end).ok_or(MatrixError::offset_overflow::<O>(nnz))?;
    }
    Ok(offsets)
}
