//! From entries in any order to a CSR matrix: a parallel, stable counting sort by row.

use bytemuck::Zeroable;

use super::blocks::grain;
use super::check_threads;
use super::{Csr, MatrixError};
use crate::memory::{try_copy, try_zeroed};
use crate::parallel::{self, Slots};
use crate::{Entry, Offset};

/// Entries per task.
const GRAIN: usize = grain(1 << 15);
/// Maximum number of buckets in the first pass: as many streams as one core writes at full speed.
const MAX_BUCKETS: usize = 512;

/// Borrowed entries: rows, columns and values, in slices of equal length.
#[derive(Clone, Copy)]
pub(super) struct TripletSlices<'a, V> {
    pub(super) rows: &'a [u32],
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [V],
}

#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
struct PackedTriplet<V> {
    row: u32,
    column: u32,
    value: V,
}

impl<V: Entry> TripletSlices<'_, V> {
    fn iter(&self) -> impl Iterator<Item = PackedTriplet<V>> {
        let indices = self.rows.iter().zip(self.columns);
        indices.zip(self.values).map(|((&row, &column), &value)| PackedTriplet { row, column, value })
    }

    /// One of the chunks of `GRAIN` entries.
    fn chunk(&self, number: usize) -> Self {
        let range = number * GRAIN..self.rows.len().min((number + 1) * GRAIN);
        let (rows, columns) = (&self.rows[range.clone()], &self.columns[range.clone()]);
        Self { rows, columns, values: &self.values[range] }
    }
}

/// Sorts entries by row, stably.
///
/// Every row must be below `rows`, and `O` must be able to count the entries. Two passes: the first distributes entries to
/// buckets of consecutive rows, the second sorts each bucket by counting, in cache.
///
/// # Errors
///
/// If there is too little memory for the matrix: few entries can have very many rows.
pub(super) fn compress<V: Entry, O: Offset>(
    rows: usize,
    cols: usize,
    entries: TripletSlices<'_, V>,
) -> Result<Csr<V, O>, MatrixError> {
    check_threads()?;
    let nnz = entries.rows.len();
    let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz };
    let mut row_offsets: Vec<O> = try_zeroed(rows + 1).map_err(out_of_memory)?;
    if nnz == 0 {
        // Zeroed pages that are never touched: the machine may have less memory than the row offsets would fill.
        return Ok(Csr::from_valid(rows, cols, row_offsets, Vec::new(), Vec::new()));
    }
    let descent = parallel::first(nnz - 1, GRAIN, |range| {
        (!entries.rows[range.start..=range.end].is_sorted()).then_some(())
    });
    if descent.is_none() {
        write_sorted_offsets(entries.rows, &mut row_offsets);
        let out_of_memory = |_| out_of_memory(());
        let column_indices = try_copy(entries.columns).map_err(out_of_memory)?;
        let values = try_copy(entries.values).map_err(out_of_memory)?;
        return Ok(Csr::from_valid(rows, cols, row_offsets, column_indices, values));
    }
    let mut bucketed: Vec<PackedTriplet<V>> = try_zeroed(nnz).map_err(out_of_memory)?;
    let mut column_indices: Vec<u32> = try_zeroed(nnz).map_err(out_of_memory)?;
    let mut values: Vec<V> = try_zeroed(nnz).map_err(out_of_memory)?;
    let buckets = Buckets::new(rows, nnz);
    let starts = buckets.fill(entries, &mut bucketed);

    let mut tasks = Vec::with_capacity(buckets.count);
    let (mut columns_left, mut values_left) = (&mut column_indices[..], &mut values[..]);
    for (bucket, ends) in row_offsets[1..].chunks_mut(1 << buckets.shift).enumerate() {
        let range = starts[bucket]..starts[bucket + 1];
        let (columns, values);
        (columns, columns_left) = columns_left.split_at_mut(range.len());
        (values, values_left) = values_left.split_at_mut(range.len());
        tasks.push((bucket, range, ends, columns, values));
    }
    parallel::for_each(tasks, |(bucket, range, ends, columns, values)| {
        let first_row = bucket << buckets.shift;
        counting_sort(&bucketed[range.clone()], first_row, range.start, ends, columns, values);
    });
    Ok(Csr::from_valid(rows, cols, row_offsets, column_indices, values))
}

/// Writes the row offsets of entries sorted by row.
fn write_sorted_offsets<O: Offset>(row_of_entry: &[u32], row_offsets: &mut [O]) {
    parallel::chunks_mut(&mut row_offsets[1..], GRAIN, |chunk, ends| {
        let first_row = chunk * GRAIN;
        let mut end = row_of_entry.partition_point(|&row| (row as usize) < first_row);
        for (row, slot) in (first_row..).zip(ends) {
            while row_of_entry.get(end).is_some_and(|&of| of as usize == row) {
                end += 1;
            }
            *slot = offset(end);
        }
    });
}

/// Sorts one bucket by row. `ends` is zeroed and receives the row ends; its first row is `first_row`. `base` is the number
/// of entries before the bucket.
fn counting_sort<V: Entry, O: Offset>(
    entries: &[PackedTriplet<V>],
    first_row: usize,
    base: usize,
    ends: &mut [O],
    columns: &mut [u32],
    values: &mut [V],
) {
    // First counts, then row starts; once all entries are placed, row ends.
    for entry in entries {
        let count = &mut ends[entry.row as usize - first_row];
        *count = offset(count.to_usize() + 1);
    }
    let mut sum = base;
    for end in &mut *ends {
        sum += std::mem::replace(end, offset(sum)).to_usize();
    }
    for entry in entries {
        let cursor = &mut ends[entry.row as usize - first_row];
        let place = cursor.to_usize() - base;
        columns[place] = entry.column;
        values[place] = entry.value;
        *cursor = offset(base + place + 1);
    }
}

/// Converts an index that fits: at most the number of entries, which was checked.
fn offset<O: Offset>(index: usize) -> O {
    O::try_from_usize(index).expect("offsets count no more than the entries")
}

/// Buckets of `1 << shift` consecutive rows.
struct Buckets {
    shift: u32,
    count: usize,
}

impl Buckets {
    fn new(rows: usize, nnz: usize) -> Self {
        let wanted = (nnz / GRAIN).clamp(1, MAX_BUCKETS);
        let shift = rows.div_ceil(wanted).max(1).next_power_of_two().trailing_zeros();
        Self { shift, count: rows.div_ceil(1 << shift) }
    }

    /// Distributes the entries to their buckets, stably, and returns where each bucket starts.
    fn fill<V: Entry>(&self, entries: TripletSlices<'_, V>, bucketed: &mut [PackedTriplet<V>]) -> Vec<usize> {
        let mut cursors = parallel::map(entries.rows.len().div_ceil(GRAIN), 1, |chunk| {
            let mut counts = vec![0; self.count];
            for &row in entries.chunk(chunk).rows {
                counts[(row >> self.shift) as usize] += 1;
            }
            counts
        });
        let mut starts = vec![0; self.count + 1];
        let mut sum = 0;
        for bucket in 0..self.count {
            starts[bucket] = sum;
            for chunk in &mut cursors {
                sum += std::mem::replace(&mut chunk[bucket], sum);
            }
        }
        starts[self.count] = sum;

        let slots = Slots::new(bucketed);
        parallel::chunks_mut(&mut cursors, 1, |chunk, cursors| {
            for entry in entries.chunk(chunk).iter() {
                let cursor = &mut cursors[0][(entry.row >> self.shift) as usize];
                // SAFETY: the counts of all (bucket, chunk) pairs were summed to give each pair a disjoint range inside
                // `bucketed`, and this chunk has exactly as many entries of the bucket as were counted. So every slot is
                // written once, by one task.
                unsafe { slots.write(*cursor, entry) };
                *cursor += 1;
            }
        });
        starts
    }
}
