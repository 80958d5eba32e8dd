//! The transpose: a stable counting sort of the nonzeros by column.

use std::ops::Range;

use super::compress::{self, TripletSlices};
use super::{Csr, CsrView, MatrixError, blocks, validate};
use crate::memory::try_zeroed;
use crate::parallel::{self, Slots};
use crate::{Entry, Offset};

/// Nonzeros that are worth a part of their own.
const GRAIN: usize = blocks::grain(1 << 15);
/// Columns per task, in passes over the counts.
const COLUMNS: usize = blocks::grain(1 << 14);
/// Mean number of columns from the first to the last of a row beyond which single nonzeros are not written in place: their
/// places are too far apart for the caches.
const SCATTERED: usize = 1 << 19;
/// Nonzeros whose arrays the last cache may hold.
const CACHED: usize = 1 << 21;
/// Rows that are read to find the average.
const SAMPLED_ROWS: usize = 256;

impl<V: Entry, O: Offset> CsrView<'_, V, O> {
    /// Returns Aᵀ, for A of m rows and n columns a matrix of n rows and m columns. Its rows are sorted; it
    /// has duplicates only if A has.
    ///
    /// # Errors
    ///
    /// If there is not enough memory. The transpose needs one row offset per column of A.
    pub fn transpose(&self) -> Result<Csr<V, O>, MatrixError> {
        validate::threads()?;
        if self.is_scattered() || self.ncols() > self.nnz() {
            let row_indices = self.row_indices()?;
            let entries =
                TripletSlices { rows: self.column_indices(), columns: &row_indices, values: self.values() };
            // The same number of nonzeros, so the offsets fit.
            return compress::compress(self.ncols(), self.nrows(), entries);
        }
        let parts = self.parts();
        let out_of_memory = |()| MatrixError::OutOfMemory { rows: self.ncols(), nnz: self.nnz() };
        let mut counts: Vec<O> = try_zeroed(parts.len() * self.ncols()).map_err(out_of_memory)?;
        let mut row_offsets: Vec<O> = try_zeroed(self.ncols() + 1).map_err(out_of_memory)?;
        let mut column_indices: Vec<u32> = try_zeroed(self.nnz()).map_err(out_of_memory)?;
        let mut values: Vec<V> = try_zeroed(self.nnz()).map_err(out_of_memory)?;
        if self.nnz() > 0 {
            self.count(&parts, &mut counts);
            place(&mut counts, &mut row_offsets);
            self.scatter(&parts, &mut counts, &mut column_indices, &mut values);
        }
        Ok(Csr::from_valid(self.ncols(), self.nrows(), row_offsets, column_indices, values))
    }

    /// Returns whether the places of neighboring nonzeros in the transpose are far apart. Two passes through buckets that
    /// caches hold are faster then.
    fn is_scattered(&self) -> bool {
        self.nnz() > CACHED && self.ncols() > SCATTERED && self.mean_span() > SCATTERED
    }

    /// Mean difference of the last and the first column of the rows of nonzeros, of those in a sample of rows.
    fn mean_span(&self) -> usize {
        let (mut sum, mut sampled) = (0, 0);
        let samples = SAMPLED_ROWS.min(self.nrows());
        for sample in 0..samples {
            let row = sample * self.nrows() / samples;
            let columns = &self.column_indices()[self.range(row)];
            if let (Some(&least), Some(&most)) = (columns.iter().min(), columns.iter().max()) {
                sum += u128::from(most - least) * columns.len() as u128;
                sampled += columns.len() as u128;
            }
        }
        sum.checked_div(sampled).map_or(0, |mean| mean as usize)
    }

    /// Consecutive rows with about equal nonzeros, one part for each thread. The counts of all take no more memory than
    /// the nonzeros.
    fn parts(&self) -> Vec<Range<usize>> {
        let most = (self.nnz() / GRAIN).min(self.nnz() / self.ncols().max(1));
        let count = rayon::current_num_threads().min(most).max(1);
        let start = |part: usize| {
            let nonzero = self.nnz() as u128 * part as u128 / count as u128;
            self.row_offsets().partition_point(|end| (end.to_usize() as u128) < nonzero).min(self.nrows())
        };
        (0..count)
            .map(|part| start(part)..if part + 1 == count { self.nrows() } else { start(part + 1) })
            .collect()
    }

    /// Counts the nonzeros of each column in each part.
    fn count(&self, parts: &[Range<usize>], counts: &mut [O]) {
        parallel::chunks_mut(counts, self.ncols(), |part, counts| {
            for &column in &self.column_indices()[self.nonzeros(&parts[part])] {
                let count = &mut counts[column as usize];
                *count = offset(count.to_usize() + 1);
            }
        });
    }

    /// Writes each part's nonzeros to their places, in their order; the places move on.
    fn scatter(
        &self,
        parts: &[Range<usize>],
        places: &mut [O],
        column_indices: &mut [u32],
        values: &mut [V],
    ) {
        let (column_slots, value_slots) = (Slots::new(column_indices), Slots::new(values));
        parallel::chunks_mut(places, self.ncols(), |part, places| {
            for row in parts[part].clone() {
                let nonzeros = self.range(row);
                let entries = self.column_indices()[nonzeros.clone()].iter().zip(&self.values()[nonzeros]);
                for (&column, &value) in entries {
                    let place = places[column as usize].to_usize();
                    // SAFETY: every pair of a column and a part has as many places of its own, inside the arrays, as were
                    // counted, and this part has as many nonzeros in the column. So each is written once, by one task.
                    unsafe {
                        column_slots.write(place, row as u32);
                        value_slots.write(place, value);
                    }
                    places[column as usize] = offset(place + 1);
                }
            }
        });
    }
}

/// Replaces the counts, part after part, by the first places: column by column, and part by part in each. Writes where each
/// column ends.
fn place<O: Offset>(counts: &mut [O], row_offsets: &mut [O]) {
    let cols = row_offsets.len() - 1;
    let tasks = cols.div_ceil(COLUMNS);
    let columns = |task: usize| task * COLUMNS..cols.min((task + 1) * COLUMNS);
    let of_part = |counts: &[O], columns: Range<usize>| -> usize {
        counts[columns].iter().map(|count| count.to_usize()).sum()
    };
    let sums = parallel::map(tasks, 1, |task| -> usize {
        counts.chunks(cols).map(|part| of_part(part, columns(task))).sum()
    });
    let mut parts: Vec<Vec<&mut [O]>> = (0..tasks).map(|_| Vec::new()).collect();
    for part in counts.chunks_mut(cols) {
        part.chunks_mut(COLUMNS).zip(&mut parts).for_each(|(counts, parts)| parts.push(counts));
    }
    let mut work = Vec::with_capacity(tasks);
    let mut before = 0;
    for ((parts, ends), sum) in parts.into_iter().zip(row_offsets[1..].chunks_mut(COLUMNS)).zip(sums) {
        work.push((parts, ends, before));
        before += sum;
    }
    parallel::for_each(work, |(mut parts, ends, mut place)| {
        for (column, end) in ends.iter_mut().enumerate() {
            for counts in &mut parts {
                place += std::mem::replace(&mut counts[column], offset(place)).to_usize();
            }
            *end = offset(place);
        }
    });
}

/// Converts an index that fits: at most the number of nonzeros.
fn offset<O: Offset>(index: usize) -> O {
    O::try_from_usize(index).expect("offsets count no more than the nonzeros")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_is_the_mean_of_the_nonzeros() {
        let a: Csr<f64> = Csr::from_triplets(4, 100, [(0, 0, 1.0), (0, 99, 1.0), (2, 7, 1.0)]).unwrap();
        assert_eq!(a.view().mean_span(), 66);
        assert_eq!(Csr::<f64>::empty(3, 3).unwrap().view().mean_span(), 0);
    }

    #[test]
    fn parts_of_several_threads_write_to_the_same_columns() {
        let rows = 4 * GRAIN;
        let triplets = (0..rows).flat_map(|row| (0..2).map(move |i| (row, (row * (i + 1)) % 7, row as f64)));
        let a: Csr<f64> = Csr::from_triplets(rows, 7, triplets).unwrap();
        let expected: Csr<f64> =
            Csr::from_triplets(7, rows, a.iter().map(|(row, column, value)| (column, row, value))).unwrap();
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                assert_eq!(a.view().parts().len(), threads);
                assert_eq!(a.transpose().unwrap(), expected);
            });
        }
    }

    #[test]
    fn columns_beyond_one_task_have_their_places() {
        let cols = 2 * COLUMNS + 3;
        let triplets = (0..2 * cols).map(|i| (i / cols, i % cols, i as f64));
        let a = Csr::from_triplets(2, cols, triplets).unwrap().try_into_offsets::<u64>().unwrap();
        let transpose = a.transpose().unwrap();
        assert!(transpose.iter().eq((0..2 * cols).map(|i| (i / 2, i % 2, (i % 2 * cols + i / 2) as f64))));
    }
}
