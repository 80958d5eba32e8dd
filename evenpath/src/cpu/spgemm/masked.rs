//! Products at the entries of a mask.

use std::ops::Range;

use super::lookup::ColumnTable;
use super::tasks::ROWS;
use crate::matrix::split;
use crate::{CsrView, Entry, Offset, parallel};

/// Approximate number of lookups plus rows per task.
const TASK: usize = 1 << 14;

/// Minimum quotient of the lengths of a row of B and of the mask's row for which the columns of the latter are searched in the former.
const SEARCHED: usize = 8;

/// The entries of AB at the positions of a mask. All three matrices are canonical and fit together.
pub(crate) struct MaskedSpgemm<'a, V, O> {
    pub(crate) a: CsrView<'a, V, O>,
    pub(crate) b: CsrView<'a, V, O>,
    /// Row offsets and column indices of the mask.
    pub(crate) mask: (&'a [O], &'a [u32]),
}

impl<V: Entry, O: Offset> MaskedSpgemm<'_, V, O> {
    /// Computes the values: `zero` where there are no products. `add` adds the product of its first two arguments to the third.
    pub(crate) fn multiply(&self, values: &mut [V], zero: V, add: impl Fn(V, V, V) -> V + Sync) {
        let (row_offsets, columns) = self.mask;
        let rows = self.a.nrows();
        let tasks = parallel::map(rows.div_ceil(ROWS), 1, |part| {
            self.tasks(part * ROWS..rows.min((part + 1) * ROWS))
        });
        let parts = split(&tasks.concat(), row_offsets, values);
        parallel::for_each(parts, |(rows, values)| {
            let mut table = ColumnTable::default();
            let mut rest = values;
            for row in rows {
                let wanted = &columns[row_offsets[row].to_usize()..row_offsets[row + 1].to_usize()];
                let own;
                (own, rest) = rest.split_at_mut(wanted.len());
                own.fill(zero);
                self.add_row(row, (wanted, own), &mut table, &add);
            }
        });
    }

    /// Divides rows into tasks of about equal work.
    fn tasks(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        let (row_offsets, _) = self.mask;
        let mut tasks = Vec::new();
        let (mut start, mut work) = (rows.start, 0);
        for row in rows.clone() {
            let wanted = row_offsets[row + 1].to_usize() - row_offsets[row].to_usize();
            let columns = &self.a.column_indices()[self.a.range(row)];
            work += 1 + wanted;
            if wanted > 0 {
                let lookups = |&k: &u32| self.b.range(k as usize).len().min(SEARCHED * wanted);
                work += columns.iter().map(lookups).sum::<usize>();
            }
            if work >= TASK {
                tasks.push(start..row + 1);
                (start, work) = (row + 1, 0);
            }
        }
        if start < rows.end {
            tasks.push(start..rows.end);
        }
        tasks
    }

    /// Adds the products of a row in the order of A's entries.
    fn add_row(
        &self,
        row: usize,
        (wanted, values): (&[u32], &mut [V]),
        table: &mut ColumnTable,
        add: &impl Fn(V, V, V) -> V,
    ) {
        let range = self.a.range(row);
        if wanted.is_empty() || range.is_empty() {
            return;
        }
        table.set(wanted);
        for (&k, &left) in self.a.column_indices()[range.clone()].iter().zip(&self.a.values()[range]) {
            let own = self.b.range(k as usize);
            let (columns, rights) = (&self.b.column_indices()[own.clone()], &self.b.values()[own]);
            if columns.len() / SEARCHED >= wanted.len() {
                let mut first = 0;
                for (value, wanted) in values.iter_mut().zip(wanted) {
                    first += columns[first..].partition_point(|column| column < wanted);
                    if columns.get(first) == Some(wanted) {
                        *value = add(left, rights[first], *value);
                    }
                }
            } else {
                for (&column, &right) in columns.iter().zip(rights) {
                    if let Some(place) = table.place(column) {
                        values[place] = add(left, right, values[place]);
                    }
                }
            }
        }
    }
}
