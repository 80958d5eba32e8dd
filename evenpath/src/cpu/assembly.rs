//! Assembly of matrices from triplets.

use evenpath_kernels::assembly::FIXED_ENTRY;

use crate::{Value, parallel};

/// Keys, entries or rows of a task.
const CHUNK: usize = 1 << 12;

/// Row and column of each triplet: with indices of their own, or the entries of dense blocks of `degrees` nodes, row by row.
#[derive(Clone, Copy)]
pub(crate) struct TripletIndices<'a> {
    pub(crate) rows: &'a [u32],
    pub(crate) columns: &'a [u32],
    /// Zero for triplets with indices of their own.
    pub(crate) degrees: usize,
    pub(crate) len: usize,
}

/// The triplets that take part, and the keys of the others.
#[derive(Clone, Copy)]
pub(crate) struct TripletPart<'a> {
    /// Fixed unknowns; they may repeat.
    pub(crate) fixed: &'a [u32],
    /// 1 for each fixed unknown; empty if there is none.
    pub(crate) is_fixed: &'a [u32],
    /// Mark of the columns of the part; its rows have none.
    pub(crate) mark: u32,
    pub(crate) column_bits: u32,
    /// Key of the triplets that do not take part.
    pub(crate) last_key: u64,
}

impl TripletIndices<'_> {
    fn get(&self, triplet: usize) -> (u32, u32) {
        if self.degrees == 0 {
            return (self.rows[triplet], self.columns[triplet]);
        }
        let row = triplet / self.degrees;
        let first = row - row % self.degrees;
        (self.rows[row], self.columns[first + triplet % self.degrees])
    }

    /// The first triplet with an index outside a matrix, and if it is the row.
    pub(crate) fn first_outside(&self, rows: usize, cols: usize) -> Option<(usize, bool)> {
        let is_outside = |triplet: usize| {
            let (row, column) = self.get(triplet);
            let is_row = row as usize >= rows;
            (is_row || column as usize >= cols).then_some((triplet, is_row))
        };
        parallel::first(self.len, CHUNK, |mut range| range.find_map(is_outside))
    }
}

impl TripletPart<'_> {
    /// Writes a key for each triplet, then for the diagonal of each fixed unknown, then the last one, with their positions.
    /// The indices are those of a valid matrix.
    pub(crate) fn write_keys(&self, triplets: TripletIndices<'_>, keys: &mut [u64], positions: &mut [u32]) {
        let len = triplets.len;
        let join = |row: u32, column: u32| u64::from(row) << self.column_bits | u64::from(column);
        let takes_part = |row: u32, column: u32| {
            self.is_fixed.is_empty()
                || self.is_fixed[row as usize] == 0 && self.is_fixed[column as usize] == self.mark
        };
        parallel::parts_mut(keys, CHUNK, |range, keys| {
            for (key, index) in keys.iter_mut().zip(range) {
                *key = self.last_key;
                if index < len {
                    let (row, column) = triplets.get(index);
                    if takes_part(row, column) {
                        *key = join(row, column);
                    }
                } else if let Some(&unknown) = self.fixed.get(index - len) {
                    *key = join(unknown, unknown);
                }
            }
        });
        parallel::parts_mut(positions, CHUNK, |range, positions| {
            for (position, index) in positions.iter_mut().zip(range) {
                *position = if index < len { index as u32 } else { FIXED_ENTRY };
            }
        });
    }
}

/// Adds up the triplets of each entry in their order. Entries without triplets are the diagonal of fixed unknowns, and become 1.
pub(crate) fn sum_runs<V: Value>(values: &[V], positions: &[u32], run_offsets: &[u32], sums: &mut [V]) {
    let sum_of = |run: &[u32]| match run.split_first() {
        Some((&first, rest)) if first != FIXED_ENTRY => {
            rest.iter().fold(values[first as usize], |sum, &position| sum + values[position as usize])
        }
        _ => V::ONE,
    };
    parallel::parts_mut(sums, CHUNK, |range, sums| {
        let ends = run_offsets[range.start..=range.end].windows(2);
        for (sum, ends) in sums.iter_mut().zip(ends) {
            *sum = sum_of(&positions[ends[0] as usize..ends[1] as usize]);
        }
    });
}

/// Triplets in fixed columns, by row.
#[derive(Clone, Copy)]
pub(crate) struct FixedColumns<'a> {
    /// Positions of the triplets; [`FIXED_ENTRY`] in the rows of fixed unknowns.
    pub(crate) positions: &'a [u32],
    pub(crate) columns: &'a [u32],
    /// The rows that have any, ascending.
    pub(crate) rows: &'a [u32],
    /// First position of each of these rows, and the end.
    pub(crate) run_offsets: &'a [u32],
}

impl FixedColumns<'_> {
    /// Subtracts the triplets times the unknowns of their columns from the rows of `rhs`, and copies those of fixed rows.
    pub(crate) fn correct<V: Value>(&self, values: &[V], unknowns: &[V], rhs: &mut [V]) {
        parallel::parts_mut(rhs, CHUNK, |range, rhs| {
            let first = self.rows.partition_point(|&row| (row as usize) < range.start);
            let runs = first..self.rows.partition_point(|&row| (row as usize) < range.end);
            for run in runs {
                let row = self.rows[run] as usize;
                let place = &mut rhs[row - range.start];
                for at in self.run_offsets[run] as usize..self.run_offsets[run + 1] as usize {
                    let position = self.positions[at];
                    if position == FIXED_ENTRY {
                        *place = unknowns[row];
                        break;
                    }
                    *place = *place - values[position as usize] * unknowns[self.columns[at] as usize];
                }
            }
        });
    }
}
