//! Parses the entries on all threads, each once and directly into its final position.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cursor::{Cursor, line_at};
use super::header::array_entries;
use super::lines::{LineFault, chunks};
use super::options::{Progress, ReadOptions, Stage};
use super::{Field, Format, MatrixMarketError, MatrixMarketErrorKind as Kind, MatrixMarketHeader, Symmetry};
use crate::memory::try_zeroed;
use crate::{MatrixError, Scalar, parallel};

/// The part of the text that holds the entries.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) text: &'a [u8],
    /// The length of the header in bytes. `text` includes it.
    pub(super) start: usize,
    pub(super) header: &'a MatrixMarketHeader,
    pub(super) options: &'a ReadOptions,
}

/// Number of stored entries, in the order of the file. Rows and columns count from 0; both are empty in array
/// format.
pub(super) struct ParsedEntries<V> {
    pub(super) rows: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<V>,
}

/// A chunk of whole lines and the slots for its entries.
struct ParseTask<'a, V> {
    start: usize,
    text: &'a [u8],
    rows: &'a mut [u32],
    columns: &'a mut [u32],
    values: &'a mut [V],
}

impl Body<'_> {
    /// Parses row, column and value of every line.
    pub(super) fn coordinates<V: Scalar>(&self) -> Result<ParsedEntries<V>, MatrixMarketError> {
        let stored = self.coordinates_of_part()?;
        self.check_count(stored.values.len())?;
        Ok(stored)
    }

    /// Like [`coordinates`](Self::coordinates), for a text with any number of entries.
    pub(super) fn coordinates_of_part<V: Scalar>(&self) -> Result<ParsedEntries<V>, MatrixMarketError> {
        let MatrixMarketHeader { nrows: rows, ncols: cols, .. } = *self.header;
        self.parse(true, move |cursor, row, column| {
            *row = cursor.index("row", "a row", rows)?;
            *column = cursor.index("column", "a column", cols)?;
            Ok(())
        })
    }

    /// Parses the value of every line.
    pub(super) fn array<V: Scalar>(&self) -> Result<ParsedEntries<V>, MatrixMarketError> {
        let stored = self.parse(false, |_, _, _| Ok(()))?;
        self.check_count(stored.values.len())?;
        Ok(stored)
    }

    /// The line of an entry, whose index counts from 0.
    pub(super) fn line_of_entry(&self, entry: usize) -> usize {
        let mut cursor = Cursor::new(&self.text[self.start..]);
        for _ in 0..entry {
            cursor.skip_to_entry();
            cursor.skip_line();
        }
        cursor.skip_to_entry();
        line_at(self.text, self.start + cursor.position())
    }

    // The method paths are not generic over the lifetime of the cursor.
    #[allow(clippy::redundant_closure_for_method_calls)]
    fn parse<V: Scalar>(
        &self,
        indexed: bool,
        place: impl Fn(&mut Cursor<'_>, &mut u32, &mut u32) -> Result<(), Kind> + Sync,
    ) -> Result<ParsedEntries<V>, MatrixMarketError> {
        let (_, zero) = V::ZERO.parts();
        match self.header.field {
            Field::Real => self.parse_with(indexed, place, |cursor| Ok(V::from_parts(cursor.real()?, zero))),
            Field::Integer => {
                self.parse_with(indexed, place, |cursor| Ok(V::from_parts(cursor.integer()?, zero)))
            }
            Field::Pattern => self.parse_with(indexed, place, |_| Ok(V::ONE)),
            Field::Complex if V::IS_COMPLEX => {
                self.parse_with(indexed, place, |cursor| Ok(V::from_parts(cursor.real()?, cursor.real()?)))
            }
            Field::Complex => self.parse_with(indexed, place, |cursor| {
                let real = cursor.real()?;
                cursor.imaginary()?;
                Ok(V::from_parts(real, zero))
            }),
        }
    }

    /// Two passes: the first counts the entries of each chunk, so that the second can write each entry to
    /// its final position. Memory is allocated for the lines in the file, not for the number that the
    /// header announces.
    fn parse_with<V: Scalar>(
        &self,
        indexed: bool,
        place: impl Fn(&mut Cursor<'_>, &mut u32, &mut u32) -> Result<(), Kind> + Sync,
        value: impl Fn(&mut Cursor<'_>) -> Result<V, Kind> + Sync,
    ) -> Result<ParsedEntries<V>, MatrixMarketError> {
        let chunks = chunks(self.text, self.start);
        let counts = parallel::map(chunks.len(), 1, |chunk| count_entries(chunks[chunk].1));
        let total = counts.iter().sum();
        let mut stored = self.allocate(total, indexed)?;
        let tasks = stored.split(&chunks, &counts);

        let done = AtomicU64::new(self.start as u64);
        let faults = parallel::map_each(tasks, |task| {
            let len = task.text.len() as u64;
            let fault = task.run(&place, &value).err();
            let done = done.fetch_add(len, Ordering::Relaxed) + len;
            let total = self.text.len() as u64;
            self.options.report(Progress { stage: Stage::Parse, done, total });
            fault
        });
        if let Some(LineFault { position, kind }) = faults.into_iter().flatten().next() {
            return Err(MatrixMarketError::at_line(line_at(self.text, position), kind));
        }
        Ok(stored)
    }

    /// Allocates memory for this many entries.
    fn allocate<V: Scalar>(&self, entries: usize, indexed: bool) -> Result<ParsedEntries<V>, MatrixError> {
        let out_of_memory = |()| MatrixError::OutOfMemory { rows: self.header.nrows, nnz: entries };
        let indices = || try_zeroed(if indexed { entries } else { 0 }).map_err(out_of_memory);
        let (rows, columns) = (indices()?, indices()?);
        Ok(ParsedEntries { rows, columns, values: try_zeroed(entries).map_err(out_of_memory)? })
    }

    fn check_count(&self, found: usize) -> Result<(), MatrixMarketError> {
        let expected = self.header.entries;
        if (found as u128) < expected {
            let line = line_at(self.text, self.text.len().saturating_sub(1));
            return Err(MatrixMarketError::at_line(line, Kind::Truncated { expected, found }));
        }
        if found as u128 > expected {
            if self.lists_skew_diagonal(found) {
                return Err(Kind::SkewArrayDiagonal { expected, found }.into());
            }
            let line = self.line_of_entry(expected as usize);
            return Err(MatrixMarketError::at_line(line, Kind::TooManyEntries { expected }));
        }
        Ok(())
    }
}

impl Body<'_> {
    /// Returns whether an array file of a skew-symmetric matrix has as many values as with the diagonal.
    fn lists_skew_diagonal(&self, found: usize) -> bool {
        let MatrixMarketHeader { format, symmetry, nrows: rows, ncols: cols, .. } = *self.header;
        let with_diagonal = array_entries(Symmetry::Symmetric, rows, cols);
        format == Format::Array && symmetry == Symmetry::SkewSymmetric && found as u128 == with_diagonal
    }
}

impl<V> ParsedEntries<V> {
    /// Assigns each chunk the slots for its entries.
    fn split<'a>(&'a mut self, chunks: &[(usize, &'a [u8])], counts: &[usize]) -> Vec<ParseTask<'a, V>> {
        let Self { rows, columns, values } = self;
        let (mut rows, mut columns, mut values) = (&mut rows[..], &mut columns[..], &mut values[..]);
        let mut tasks = Vec::with_capacity(chunks.len());
        for (&(start, text), &count) in chunks.iter().zip(counts) {
            let indices = count.min(rows.len());
            let (task_rows, task_columns, task_values);
            (task_rows, rows) = rows.split_at_mut(indices);
            (task_columns, columns) = columns.split_at_mut(indices);
            (task_values, values) = values.split_at_mut(count);
            tasks.push(ParseTask {
                start,
                text,
                rows: task_rows,
                columns: task_columns,
                values: task_values,
            });
        }
        tasks
    }
}

impl<V: Scalar> ParseTask<'_, V> {
    fn run(
        self,
        place: &impl Fn(&mut Cursor<'_>, &mut u32, &mut u32) -> Result<(), Kind>,
        value: &impl Fn(&mut Cursor<'_>) -> Result<V, Kind>,
    ) -> Result<(), LineFault> {
        let Self { start, text, rows, columns, values } = self;
        let mut cursor = Cursor::new(text);
        // Array format has no index slots. These are never written.
        let (mut no_row, mut no_column) = (0, 0);
        let (mut rows, mut columns) = (rows.iter_mut(), columns.iter_mut());
        for slot in values {
            if !cursor.skip_to_entry() {
                break;
            }
            let row = rows.next().unwrap_or(&mut no_row);
            let column = columns.next().unwrap_or(&mut no_column);
            let mut entry = || {
                place(&mut cursor, row, column)?;
                *slot = value(&mut cursor)?;
                cursor.end_of_line()
            };
            if let Err(kind) = entry() {
                return Err(LineFault { position: start + cursor.position(), kind });
            }
            cursor.skip_line_end();
        }
        Ok(())
    }
}

/// Lines that are neither blank nor a comment.
fn count_entries(text: &[u8]) -> usize {
    let is_entry = |line: &[u8]| match line.first() {
        Some(b'0'..=b'9') => true,
        _ => Cursor::new(line).at_entry(),
    };
    let mut count = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text) {
        count += usize::from(is_entry(&text[start..end]));
        start = end + 1;
    }
    count + usize::from(is_entry(&text[start..]))
}
