//! The pattern of a matrix, by columns of each row.

use evenpath::error::MatrixError;
use evenpath::{Csr, Offset, Value};
use rayon::prelude::*;

use super::columns::columns;
use super::stream::{Purpose, Seeds};
use super::structure::{Permutation, Stretches, Structure};

/// Rows that one task handles.
const TASK: usize = 1 << 10;

/// The columns of every row, ascending and without gaps between rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) cols: usize,
    pub(super) offsets: Vec<usize>,
    pub(super) columns: Vec<u32>,
}

impl Pattern {
    /// The entries of nodes, for these row lengths.
    pub(super) fn new(structure: &Structure, seeds: Seeds, lengths: &[u32]) -> Self {
        let &Structure { row_nodes, col_nodes, symmetric, empty_rows, empty_columns, .. } = structure;
        let is_empty = |stretches, purpose| {
            move |index: usize| {
                let Some(Stretches { length, share }) = stretches else { return false };
                seeds.stream(purpose, index / length).happens(share)
            }
        };
        let empty_row = is_empty(empty_rows, Purpose::EmptyRows);
        let empty_column = is_empty(empty_columns, Purpose::EmptyColumns);
        let without: Vec<bool> = (0..col_nodes)
            .into_par_iter()
            .map(|column| if symmetric { empty_row(column) } else { empty_column(column) })
            .collect();
        let drawn = Self::from_rows(row_nodes, col_nodes, |row, found| {
            let count = if empty_row(row) { 0 } else { lengths[row] as usize };
            columns(structure, seeds, row, count, found);
            found.retain(|&column| !without[column as usize]);
        });
        let whole = if symmetric { drawn.union(&drawn.transposed()) } else { drawn };
        whole.permuted(structure.permutation, seeds)
    }

    /// Collects the rows of a function that replaces a buffer by the columns of a row.
    pub(super) fn from_rows(rows: usize, cols: usize, row: impl Fn(usize, &mut Vec<u32>) + Sync) -> Self {
        let task = |task: usize| {
            let (mut lengths, mut columns, mut found) = (Vec::new(), Vec::new(), Vec::new());
            for index in task * TASK..rows.min((task + 1) * TASK) {
                row(index, &mut found);
                lengths.push(found.len());
                columns.extend_from_slice(&found);
            }
            (lengths, columns)
        };
        let parts: Vec<(Vec<usize>, Vec<u32>)> = (0..rows.div_ceil(TASK)).into_par_iter().map(task).collect();
        let mut pattern = Self::empty(cols);
        for (lengths, columns) in parts {
            pattern.append(lengths, columns);
        }
        pattern
    }

    /// Collects entries in any order. Those that repeat count once.
    pub(super) fn of_entries(
        rows: usize,
        cols: usize,
        entries: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Self {
        let scattered = Self::scattered(rows, cols, entries);
        Self::from_rows(rows, cols, |row, found| {
            found.clear();
            found.extend_from_slice(scattered.row(row));
            found.sort_unstable();
            found.dedup();
        })
    }

    /// Sorts entries by row; each row keeps their order (a counting sort).
    fn scattered(rows: usize, cols: usize, entries: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut offsets = vec![0; rows + 1];
        for (row, _) in entries.clone() {
            offsets[row as usize + 1] += 1;
        }
        for row in 0..rows {
            offsets[row + 1] += offsets[row];
        }
        let (mut ends, mut columns) = (offsets.clone(), vec![0; offsets[rows]]);
        for (row, column) in entries {
            let end = &mut ends[row as usize];
            columns[*end] = column;
            *end += 1;
        }
        Self { cols, offsets, columns }
    }

    /// A pattern without rows.
    pub(super) fn empty(cols: usize) -> Self {
        Self { cols, offsets: vec![0], columns: Vec::new() }
    }

    /// Adds rows of these lengths below.
    pub(super) fn append(&mut self, lengths: Vec<usize>, columns: Vec<u32>) {
        let mut end = self.columns.len();
        self.columns.extend(columns);
        self.offsets.extend(lengths.into_iter().map(|length| {
            end += length;
            end
        }));
    }

    /// Adds rows without entries below, up to this number of rows.
    pub(super) fn extend_to(&mut self, rows: usize) {
        self.offsets.resize(rows + 1, self.columns.len());
    }

    /// The matrix, with values uniform in [-1, 1).
    ///
    /// # Errors
    ///
    /// If it has more rows or columns than a matrix can have, or `O` cannot count its nonzeros.
    pub(super) fn into_matrix<V: Value, O: Offset>(self, seeds: Seeds) -> Result<Csr<V, O>, MatrixError> {
        let offsets: Vec<u64> = self.offsets.iter().map(|&offset| offset as u64).collect();
        let mut values = vec![V::ZERO; self.columns.len()];
        // A stream per piece, so that the values do not depend on the number of threads.
        values.par_chunks_mut(1 << 12).enumerate().for_each(|(piece, values)| {
            let mut stream = seeds.stream(Purpose::Values, piece);
            values.fill_with(|| V::from_f64(2.0 * stream.unit() - 1.0));
        });
        Ok(Csr::try_new(self.nrows(), self.cols, offsets, self.columns, values)?.try_into_offsets()?)
    }

    pub(super) fn nrows(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.offsets[row]..self.offsets[row + 1]]
    }

    fn transposed(&self) -> Self {
        let of_row = |row: usize| self.row(row).iter().map(move |&column| (column, row as u32));
        Self::scattered(self.cols, self.nrows(), (0..self.nrows()).flat_map(of_row))
    }

    fn union(&self, other: &Self) -> Self {
        Self::from_rows(self.nrows(), self.cols, |row, found| {
            found.clear();
            found.extend_from_slice(self.row(row));
            found.extend_from_slice(other.row(row));
            found.sort_unstable();
            found.dedup();
        })
    }

    pub(super) fn permuted(self, permutation: Permutation, seeds: Seeds) -> Self {
        let (rows, cols) = (self.nrows(), self.cols);
        let row_order = |len| order(len, seeds, Purpose::RowOrder);
        let same: fn(usize) -> Vec<u32> = |len| (0..len as u32).collect();
        let reversed = |len: usize| (0..len as u32).rev().collect();
        let (rows, cols) = match permutation {
            Permutation::None => return self,
            Permutation::Rows => (row_order(rows), same(cols)),
            Permutation::Both if rows == cols => (row_order(rows), row_order(rows)),
            Permutation::Both => (row_order(rows), order(cols, seeds, Purpose::ColumnOrder)),
            Permutation::Reversed => (reversed(rows), reversed(cols)),
        };
        self.in_order(&rows, &cols)
    }

    /// Moves row `i` to the place where `rows` has i, and columns likewise.
    fn in_order(&self, rows: &[u32], cols: &[u32]) -> Self {
        let mut places = vec![0; cols.len()];
        for (place, &column) in cols.iter().enumerate() {
            places[column as usize] = place as u32;
        }
        Self::from_rows(rows.len(), self.cols, |row, found| {
            found.clear();
            let columns = self.row(rows[row] as usize);
            found.extend(columns.iter().map(|&column| places[column as usize]));
            found.sort_unstable();
        })
    }

    /// Replaces each entry by a dense block.
    pub(super) fn expanded(self, block: usize) -> Self {
        if block == 1 {
            return self;
        }
        Self::from_rows(self.nrows() * block, self.cols * block, |row, found| {
            found.clear();
            for &column in self.row(row / block) {
                found.extend((0..block).map(|unknown| column * block as u32 + unknown as u32));
            }
        })
    }
}

/// The numbers below `len` in random order (Fisher and Yates).
pub(super) fn order(len: usize, seeds: Seeds, purpose: Purpose) -> Vec<u32> {
    let mut stream = seeds.stream(purpose, 0);
    let mut order: Vec<u32> = (0..len as u32).collect();
    for last in (1..len).rev() {
        order.swap(last, stream.below(last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::structure::{ColumnLaw, Drift, LengthLaw};
    use super::*;

    const SEEDS: Seeds = Seeds { seed: 8, number: 1 };
    const ROWS: usize = 3000;

    fn structure() -> Structure {
        Structure {
            row_nodes: ROWS,
            col_nodes: ROWS,
            block: 1,
            mean: 10.0,
            lengths: LengthLaw::Constant,
            drift: Drift::None,
            columns: ColumnLaw::Band { reach: 40 },
            symmetric: false,
            permutation: Permutation::None,
            empty_rows: None,
            empty_columns: None,
        }
    }

    fn pattern(structure: &Structure) -> Pattern {
        Pattern::new(structure, SEEDS, &vec![10; structure.row_nodes])
    }

    fn bandwidth(pattern: &Pattern) -> usize {
        let of_row = |row: usize| pattern.row(row).iter().map(move |&column| (column as usize).abs_diff(row));
        (0..pattern.nrows()).flat_map(of_row).max().unwrap()
    }

    #[test]
    fn symmetric_patterns_equal_their_transposes() {
        let empty = Some(Stretches { length: 20, share: 0.3 });
        for permutation in [Permutation::None, Permutation::Both, Permutation::Reversed] {
            for empty_rows in [None, empty] {
                let symmetric = Structure { symmetric: true, permutation, empty_rows, ..structure() };
                let found = pattern(&symmetric);
                assert_eq!(found, found.transposed(), "{permutation} {empty_rows:?}");
                assert_eq!(found.clone().expanded(3), found.expanded(3).transposed());
            }
        }
        let drawn = pattern(&structure());
        assert_ne!(drawn, drawn.transposed());
        assert_eq!(drawn, drawn.transposed().transposed());
    }

    #[test]
    fn permutations_keep_the_entries_and_move_them() {
        let drawn = pattern(&structure());
        assert!(bandwidth(&drawn) <= 40);
        let with = |permutation| pattern(&Structure { permutation, ..structure() });
        let reversed = with(Permutation::Reversed);
        assert!(bandwidth(&reversed) <= 40);
        let first: Vec<u32> = drawn.row(0).iter().rev().map(|&column| ROWS as u32 - 1 - column).collect();
        assert_eq!(reversed.row(ROWS - 1), first);
        let (rows, both) = (with(Permutation::Rows), with(Permutation::Both));
        assert!(bandwidth(&rows) > 1000 && bandwidth(&both) > 1000);
        assert_ne!(rows, both);
        for found in [rows, both, reversed] {
            assert_eq!(found.columns.len(), drawn.columns.len());
        }
    }

    #[test]
    fn empty_parts_are_stretches() {
        let empty = Some(Stretches { length: 10, share: 0.4 });
        let found = pattern(&Structure { empty_rows: empty, ..structure() });
        let is_empty: Vec<bool> = (0..ROWS).map(|row| found.row(row).is_empty()).collect();
        assert!(is_empty.chunks(10).all(|stretch| stretch.iter().all(|one| *one == stretch[0])));
        let share = is_empty.iter().filter(|one| **one).count() as f64 / ROWS as f64;
        assert!((0.32..0.48).contains(&share), "{share}");

        let found = pattern(&Structure { empty_columns: empty, ..structure() }).transposed();
        let empty = (0..ROWS).filter(|&row| found.row(row).is_empty()).count() as f64 / ROWS as f64;
        assert!((0.32..0.48).contains(&empty), "{empty}");
    }

    #[test]
    fn blocks_are_dense() {
        let nodes = pattern(&structure());
        let found = nodes.clone().expanded(4);
        assert_eq!((found.nrows(), found.cols), (4 * ROWS, 4 * ROWS));
        assert_eq!(found.columns.len(), 16 * nodes.columns.len());
        for row in 0..found.nrows() {
            assert_eq!(found.row(row), found.row(row / 4 * 4));
            assert!(found.row(row).chunks(4).all(|block| block[0] % 4 == 0 && block[3] == block[0] + 3));
        }
    }
}
