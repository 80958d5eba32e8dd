//! Rows of C in the memory of a thread.

use crate::Scalar;

/// Entries after the last one that may be overwritten: instructions store whole registers, of up to 64
/// columns.
pub(super) const SLACK: usize = 64;

/// Rows of C, of which the last one may be incomplete.
#[derive(Default)]
pub(super) struct TaskRows<V> {
    columns: Vec<u32>,
    values: Vec<V>,
    /// Total number of entries up to the end of each row.
    ends: Vec<usize>,
    len: usize,
}

impl<V: Scalar> TaskRows<V> {
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.len = 0;
    }

    /// Returns memory for a next row of at most `entries` entries, and [`SLACK`] more.
    #[inline]
    pub(super) fn room(&mut self, entries: usize) -> (&mut [u32], &mut [V]) {
        let needed = self.len + entries + SLACK;
        if self.columns.len() < needed {
            self.grow(needed);
        }
        (&mut self.columns[self.len..], &mut self.values[self.len..])
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let len = needed + needed / 4;
        self.columns.resize(len, 0);
        self.values.resize(len, V::default());
    }

    /// Returns memory for a row as long as the last one, and the last one.
    #[inline]
    pub(super) fn room_after_last(&mut self) -> [(&mut [u32], &mut [V]); 2] {
        let start = self.ends.len().checked_sub(2).map_or(0, |at| self.ends[at]);
        let len = self.len - start;
        self.room(len);
        let (_, columns) = self.columns.split_at_mut(start);
        let (_, values) = self.values.split_at_mut(start);
        let (last_columns, columns) = columns.split_at_mut(len);
        let (last_values, values) = values.split_at_mut(len);
        [(last_columns, last_values), (&mut columns[..len], &mut values[..len])]
    }

    /// Ends a row of this many entries.
    #[inline]
    pub(super) fn end_row(&mut self, entries: usize) {
        self.len += entries;
        self.ends.push(self.len);
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.columns.capacity() + size_of::<V>() * self.values.capacity() + 8 * self.ends.capacity()
    }

    /// Columns of all rows.
    pub(super) fn columns(&self) -> &[u32] {
        &self.columns[..self.len]
    }

    /// Values of all rows.
    pub(super) fn values(&self) -> &[V] {
        &self.values[..self.len]
    }

    /// Total number of entries up to the end of each row.
    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Columns of the last row.
    #[inline]
    pub(super) fn last_row(&self) -> &[u32] {
        let start = self.ends.len().checked_sub(2).map_or(0, |at| self.ends[at]);
        &self.columns[start..self.len]
    }

    /// Number of entries of each row.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u64> {
        let mut start = 0;
        self.ends.iter().map(move |&end| (end - std::mem::replace(&mut start, end)) as u64)
    }
}
