//! Parallel construction of a rank's rows, divided into its own columns and those of others.
//!
//! Rows are built in batches of consecutive rows, and batches in chunks, one per task. The chunks of a batch
//! are then appended to the result. Each row is thus computed once, and memory holds one batch beside the
//! result. The result does not depend on batches, chunks or threads: a row is built by one task, and rows
//! stay in order.

use std::ops::Range;

use evenpath::Value;
use rayon::slice::ParallelSliceMut;

use crate::error::{Error, Result};
use crate::memory::{reserve, reserved, zeros};
use crate::parallel;
use crate::rows::canonicalize;

/// A rank's rows in host memory, canonical.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Divided<V> {
    /// Entries in the rank's own columns, counted from its first.
    pub(super) local: DividedCsr<u32, V>,
    /// Entries in columns of other ranks, with global column numbers; only rows that have some.
    pub(super) other: DividedCsr<u64, V>,
    /// These rows, ascending, counted from the rank's first.
    pub(super) boundary: Vec<u32>,
    /// Columns of other ranks, ascending and without duplicates.
    pub(super) needed: Vec<u64>,
}

/// CSR arrays.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DividedCsr<C, V> {
    pub(super) row_offsets: Vec<u32>,
    pub(super) columns: Vec<C>,
    pub(super) values: Vec<V>,
    /// Number of entries, including those beyond the limit, which are not stored.
    nonzeros: u64,
}

/// Sizes of batches, and the maximum number of entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Number of tasks per batch.
    pub(super) chunks: u64,
    /// Number of rows in the first batch; each later one has at most twice as many as the one before.
    pub(super) first_rows: u64,
    /// Maximum number of rows in a batch.
    pub(super) most_rows: u64,
    /// Approximate number of entries in a batch.
    pub(super) entries: u64,
    /// Maximum number of entries of either matrix.
    pub(super) limit: u64,
}

impl Sizes {
    pub(super) const DEFAULT: Self = Self {
        chunks: 128,
        first_rows: 4096,
        most_rows: 1 << 18,
        entries: 1 << 22,
        limit: evenpath::csr::MAX_DIMENSION as u64,
    };

    /// Number of rows of the next batch, after a batch of `rows` rows and `entries` entries.
    fn next(&self, rows: u64, entries: u64) -> u64 {
        let expected = u128::from(rows) * u128::from(self.entries) / u128::from(entries.max(1));
        let most = rows.saturating_mul(2).min(self.most_rows).max(1);
        u64::try_from(expected).unwrap_or(most).clamp(self.chunks.min(most), most)
    }
}

/// Builds the given rows of a matrix with `cols` columns, of which the rank owns `own`, fewer than 2³².
///
/// # Errors
///
/// If a row has a column outside the matrix: the first such column of the first such row. If there are too
/// many entries.
pub(super) fn divide<V: Value>(
    rows: Range<u64>,
    own: &Range<u64>,
    cols: u64,
    sizes: Sizes,
    row: impl Fn(u64, &mut Vec<(u64, V)>) + Sync,
) -> Result<Divided<V>> {
    let mut chunks: Vec<RowChunk<V>> = (0..sizes.chunks).map(|_| RowChunk::default()).collect();
    let mut result = Divided::with_rows((rows.end - rows.start) as usize)?;
    let (mut begin, mut count) = (rows.start, sizes.first_rows.max(1));
    while begin < rows.end {
        count = count.min(rows.end - begin);
        let boundary =
            |chunk: u64| begin + (u128::from(count) * u128::from(chunk) / u128::from(sizes.chunks)) as u64;
        let mut filled: Vec<Result<()>> = chunks.iter().map(|_| Ok(())).collect();
        let tasks = chunks.iter_mut().zip(&mut filled).enumerate().collect();
        parallel::for_each(
            tasks,
            |(number, (chunk, filled)): (usize, (&mut RowChunk<V>, &mut Result<()>))| {
                let rows = boundary(number as u64)..boundary(number as u64 + 1);
                *filled = chunk.fill(rows, own, cols, &row);
            },
        );
        // The first error is that of the first row: chunks are in row order.
        filled.into_iter().collect::<Result<()>>()?;
        result.append(&chunks, begin - rows.start, sizes.limit)?;
        begin += count;
        count = sizes.next(count, chunks.iter().map(RowChunk::entries).sum());
    }
    result.check(sizes.limit)?;
    result.needed.par_sort_unstable();
    result.needed.dedup();
    Ok(result)
}

/// Consecutive rows built by one task. Its memory is reused for the next batch.
struct RowChunk<V> {
    /// The current row, as given.
    row: Vec<(u64, V)>,
    rows: usize,
    local: RowBuffers<u32, V>,
    other: RowBuffers<u64, V>,
    /// Rows with columns of other ranks, counted from the chunk's first.
    boundary: Vec<usize>,
    /// These columns, ascending and without duplicates.
    needed: Vec<u64>,
}

/// The entries of rows, one row after the other.
struct RowBuffers<C, V> {
    lengths: Vec<usize>,
    columns: Vec<C>,
    values: Vec<V>,
}

impl<C, V> Default for RowBuffers<C, V> {
    fn default() -> Self {
        Self { lengths: Vec::new(), columns: Vec::new(), values: Vec::new() }
    }
}

impl<V> Default for RowChunk<V> {
    fn default() -> Self {
        let (local, other) = (RowBuffers::default(), RowBuffers::default());
        Self { row: Vec::new(), rows: 0, local, other, boundary: Vec::new(), needed: Vec::new() }
    }
}

impl<C, V: Value> RowBuffers<C, V> {
    fn clear(&mut self) {
        self.lengths.clear();
        self.columns.clear();
        self.values.clear();
    }

    /// Appends entries to the last row.
    fn extend(&mut self, entries: &[(u64, V)], column: impl Fn(u64) -> C) {
        self.columns.extend(entries.iter().map(|entry| column(entry.0)));
        self.values.extend(entries.iter().map(|entry| entry.1));
    }
}

impl<V: Value> RowChunk<V> {
    fn entries(&self) -> u64 {
        (self.local.values.len() + self.other.values.len()) as u64
    }

    /// Replaces the contents by other rows.
    fn fill(
        &mut self,
        rows: Range<u64>,
        own: &Range<u64>,
        cols: u64,
        make: impl Fn(u64, &mut Vec<(u64, V)>),
    ) -> Result<()> {
        let Self { row, rows: count, local, other, boundary, needed } = self;
        local.clear();
        other.clear();
        boundary.clear();
        needed.clear();
        *count = (rows.end - rows.start) as usize;
        for (at, number) in rows.enumerate() {
            row.clear();
            make(number, row);
            if let Some(&(column, _)) = row.iter().find(|entry| entry.0 >= cols) {
                return Err(Error::ColumnOutOfRange { row: number, column, cols });
            }
            canonicalize(row);
            let (before, rest) = row.split_at(row.partition_point(|entry| entry.0 < own.start));
            let (inside, after) = rest.split_at(rest.partition_point(|entry| entry.0 < own.end));
            local.extend(inside, |column| (column - own.start) as u32);
            local.lengths.push(inside.len());
            let others = before.len() + after.len();
            if others > 0 {
                other.extend(before, |column| column);
                other.extend(after, |column| column);
                other.lengths.push(others);
                boundary.push(at);
            }
        }
        needed.extend_from_slice(&other.columns);
        needed.sort_unstable();
        needed.dedup();
        Ok(())
    }
}

impl<V: Value> Divided<V> {
    fn with_rows(rows: usize) -> Result<Self> {
        let (local, other) = (DividedCsr::with_rows(rows)?, DividedCsr::with_rows(0)?);
        Ok(Self { local, other, boundary: Vec::new(), needed: Vec::new() })
    }

    /// Appends the rows of chunks, of which the first starts at row `first`.
    fn append(&mut self, chunks: &[RowChunk<V>], first: u64, limit: u64) -> Result<()> {
        self.local.append(&chunks.iter().map(|chunk| &chunk.local).collect::<Vec<_>>(), limit)?;
        self.other.append(&chunks.iter().map(|chunk| &chunk.other).collect::<Vec<_>>(), limit)?;
        reserve(&mut self.boundary, chunks.iter().map(|chunk| chunk.boundary.len()).sum())?;
        let mut first = first as usize;
        for chunk in chunks {
            for &row in &chunk.boundary {
                self.boundary.push((first + row) as u32);
            }
            first += chunk.rows;
        }
        let found: usize = chunks.iter().map(|chunk| chunk.needed.len()).sum();
        // Duplicates between batches are removed before they take more memory than the distinct columns.
        if self.needed.len() + found > self.needed.capacity() {
            self.needed.par_sort_unstable();
            self.needed.dedup();
            let more = self.needed.len().max(found);
            reserve(&mut self.needed, more)?;
        }
        for chunk in chunks {
            self.needed.extend_from_slice(&chunk.needed);
        }
        Ok(())
    }

    fn check(&self, limit: u64) -> Result<()> {
        match self.local.nonzeros.max(self.other.nonzeros) {
            found if found > limit => Err(Error::TooLarge { what: "nonzeros", found, limit }),
            _ => Ok(()),
        }
    }
}

impl<C: Copy + Send + Sync, V: Value> DividedCsr<C, V> {
    fn with_rows(rows: usize) -> Result<Self> {
        let mut row_offsets = reserved(rows.saturating_add(1))?;
        row_offsets.push(0);
        Ok(Self { row_offsets, columns: Vec::new(), values: Vec::new(), nonzeros: 0 })
    }

    /// Appends rows. Entries beyond the limit are counted but not stored.
    fn append(&mut self, parts: &[&RowBuffers<C, V>], limit: u64) -> Result<()> {
        reserve(&mut self.row_offsets, parts.iter().map(|part| part.lengths.len()).sum())?;
        for length in parts.iter().flat_map(|part| &part.lengths) {
            self.nonzeros += *length as u64;
            self.row_offsets.push(self.nonzeros as u32);
        }
        if self.nonzeros > limit {
            (self.columns, self.values) = (Vec::new(), Vec::new());
            return Ok(());
        }
        extend(&mut self.columns, &parts.iter().map(|part| &part.columns[..]).collect::<Vec<_>>())?;
        extend(&mut self.values, &parts.iter().map(|part| &part.values[..]).collect::<Vec<_>>())
    }
}

impl<C: Copy + Send + Sync, V: Value> DividedCsr<C, V> {
    /// Returns the same rows with mapped columns.
    pub(super) fn with_columns(self, column: impl Fn(C) -> u32 + Sync) -> Result<DividedCsr<u32, V>> {
        let Self { row_offsets, columns, values, nonzeros } = self;
        let mut mapped: Vec<u32> = zeros(columns.len())?;
        parallel::fill(&mut mapped, |at| column(columns[at]));
        Ok(DividedCsr { row_offsets, columns: mapped, values, nonzeros })
    }
}

/// Appends slices in parallel: the first write to memory waits for the system to provide it.
fn extend<T: Copy + Send + Sync>(to: &mut Vec<T>, parts: &[&[T]]) -> Result<()> {
    let count = parts.iter().map(|part| part.len()).sum();
    reserve(to, count)?;
    let mut rest = &mut to.spare_capacity_mut()[..count];
    let mut pairs = reserved(parts.len())?;
    for part in parts {
        let (piece, after) = rest.split_at_mut(part.len());
        pairs.push((piece, *part));
        rest = after;
    }
    parallel::for_each(pairs, |(piece, part)| {
        piece.write_copy_of_slice(part);
    });
    // SAFETY: `reserve` made room for `count` more elements, and all of them were written as pieces.
    unsafe { to.set_len(to.len() + count) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Small, so that a few rows make several batches.
    const SMALL: Sizes = Sizes { chunks: 3, first_rows: 2, most_rows: 7, entries: 12, limit: 1000 };

    type Row = Vec<(u64, f64)>;

    /// The expected result, row by row by the definition.
    fn expected(rows: &[Row], own: &Range<u64>) -> Divided<f64> {
        let mut result: Divided<f64> = Divided::with_rows(0).unwrap();
        for (number, row) in rows.iter().enumerate() {
            let mut sums: std::collections::BTreeMap<u64, f64> = std::collections::BTreeMap::new();
            for &(column, value) in row {
                sums.entry(column).and_modify(|sum| *sum += value).or_insert(value);
            }
            let (inside, others): (Vec<_>, Vec<_>) = sums.into_iter().partition(|sum| own.contains(&sum.0));
            result.local.columns.extend(inside.iter().map(|sum| (sum.0 - own.start) as u32));
            result.local.values.extend(inside.iter().map(|sum| sum.1));
            result.local.row_offsets.push(result.local.columns.len() as u32);
            if !others.is_empty() {
                result.boundary.push(number as u32);
                result.other.columns.extend(others.iter().map(|sum| sum.0));
                result.other.values.extend(others.iter().map(|sum| sum.1));
                result.other.row_offsets.push(result.other.columns.len() as u32);
            }
        }
        result.needed.extend(result.other.columns.iter().collect::<std::collections::BTreeSet<_>>());
        for (nonzeros, found) in [
            (&mut result.local.nonzeros, result.local.columns.len()),
            (&mut result.other.nonzeros, result.other.columns.len()),
        ] {
            *nonzeros = found as u64;
        }
        result
    }

    fn with_threads<R: Send>(threads: usize, body: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(body)
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        // Few columns: duplicates occur, and sums depend on their order.
        let entry = (0..30_u64, 0..1000_u64).prop_map(|(column, number)| (column, (number as f64).sin()));
        proptest::collection::vec(proptest::collection::vec(entry, 0..12), 0..40)
    }

    proptest! {
        #[test]
        fn matches_row_by_row(rows in rows(), first in 0..100_u64, begin in 0..30_u64, len in 0..30_u64) {
            let own = begin..(begin + len).min(30);
            let make = |row: u64, entries: &mut Row| entries.extend_from_slice(&rows[(row - first) as usize]);
            let range = first..first + rows.len() as u64;
            let expected = expected(&rows, &own);
            for (threads, sizes) in [(1, SMALL), (4, SMALL), (2, Sizes::DEFAULT)] {
                let found = with_threads(threads, || divide(range.clone(), &own, 30, sizes, make)).unwrap();
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn the_first_column_outside_is_named() {
        let row = |row: u64, entries: &mut Row| {
            entries.push((row % 5, 1.0));
            if row >= 23 {
                entries.extend([(row + 70, 1.0), (50, 1.0)]);
            }
        };
        for (threads, sizes) in [(1, SMALL), (4, SMALL), (4, Sizes::DEFAULT)] {
            let error = with_threads(threads, || divide(10..60, &(0..5), 50, sizes, row)).unwrap_err();
            assert!(matches!(error, Error::ColumnOutOfRange { row: 23, column: 93, cols: 50 }), "{error}");
        }
    }

    #[test]
    fn too_many_entries_are_counted_and_not_kept() {
        let row = |_: u64, entries: &mut Row| entries.extend((0..40).map(|column| (column, 1.0)));
        let fits = divide(0..25, &(0..40), 40, SMALL, row).unwrap();
        assert_eq!((fits.local.columns.len(), fits.boundary.len()), (1000, 0));
        for own in [0..40, 40..40] {
            let error = divide(0..30, &own, 40, SMALL, row).unwrap_err();
            assert!(
                matches!(error, Error::TooLarge { what: "nonzeros", found: 1200, limit: 1000 }),
                "{error}"
            );
        }
    }

    #[test]
    fn batches_follow_the_entries() {
        assert_eq!(SMALL.next(2, 0), 4);
        assert_eq!(SMALL.next(4, 8), 6);
        assert_eq!(SMALL.next(7, 700), 3);
        assert_eq!(Sizes::DEFAULT.next(1 << 18, u64::MAX), 128);
        assert_eq!(Sizes::DEFAULT.next(4096, 27 * 4096), 8192);
    }
}
