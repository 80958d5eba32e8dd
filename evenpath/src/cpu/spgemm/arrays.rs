//! The arrays of C while tasks append rows.

use std::mem::take;
use std::ops::Range;

use super::block::TaskRows;
use super::ordered::{Ended, Ordered, TaskPlace};
use super::workspace::Workspace;
use crate::memory::try_zeroed;
use crate::{Offset, Scalar, parallel};

/// At most one in this many elements of an array may stay unused.
const UNUSED_PART: usize = 8;

/// The arrays of C.
pub(crate) struct SpgemmArrays<V, C> {
    /// Offsets of later rows are 0.
    pub(crate) row_offsets: Vec<C>,
    pub(crate) column_indices: Vec<u32>,
    pub(crate) values: Vec<V>,
}

impl<V: Scalar, C: Offset> SpgemmArrays<V, C> {
    /// Creates arrays without entries. `None` if there is too little memory.
    pub(super) fn new(rows: usize) -> Option<Self> {
        let row_offsets = try_zeroed(rows + 1).ok()?;
        Some(Self { row_offsets, column_indices: Vec::new(), values: Vec::new() })
    }

    /// Reserves capacity for more entries. `None` if there is too little memory.
    pub(super) fn reserve(&mut self, entries: usize) -> Option<()> {
        self.column_indices.try_reserve_exact(entries).ok()?;
        self.values.try_reserve_exact(entries).ok()
    }

    /// Appends the rows of tasks, which leave them in the block of their workspace, until all have completed
    /// or capacity is exhausted; with `runs_on`, until all have completed. Returns the number of completed
    /// tasks. `None` if there is too little memory.
    pub(super) fn run(
        &mut self,
        tasks: &[Range<usize>],
        runs_on: bool,
        compute: impl Fn(usize, &mut Workspace<V>) + Sync,
    ) -> Option<usize> {
        let Some(first) = tasks.first() else { return Some(0) };
        let before = self.values.len();
        let row_ends = &mut self.row_offsets[first.start + 1..];
        let room = (self.column_indices.spare_capacity_mut(), self.values.spare_capacity_mut());
        let room_of_both = room.0.len().min(room.1.len());
        let room = (&mut room.0[..room_of_both], &mut room.1[..room_of_both]);
        let ordered = Ordered::new(tasks, before, row_ends, room, runs_on);
        let Ended { entries, rest, tasks: ended } = ordered.run(compute);
        // SAFETY: there was capacity for them, and they are written.
        unsafe {
            self.column_indices.set_len(entries);
            self.values.set_len(entries);
        }
        let rest_start = tasks[ended - rest.len()..].first().map_or(0, |task| task.start);
        self.append(rest_start, &rest)?;
        Some(ended)
    }

    /// Appends rows, the first of which is `row`, in parallel. `None` if there is too little memory.
    fn append(&mut self, row: usize, blocks: &[TaskRows<V>]) -> Option<()> {
        let entries: usize = blocks.iter().map(|block| block.columns().len()).sum();
        self.reserve(entries)?;
        let mut start = self.values.len();
        let mut row_ends = &mut self.row_offsets[row + 1..];
        let mut columns_left = &mut self.column_indices.spare_capacity_mut()[..entries];
        let mut values_left = &mut self.values.spare_capacity_mut()[..entries];
        let mut places = Vec::with_capacity(blocks.len());
        for block in blocks {
            let len = block.columns().len();
            let (own_ends, rest) = take(&mut row_ends).split_at_mut(block.ends().len());
            row_ends = rest;
            let (own_columns, rest) = take(&mut columns_left).split_at_mut(len);
            columns_left = rest;
            let (own_values, rest) = take(&mut values_left).split_at_mut(len);
            values_left = rest;
            let place =
                TaskPlace { start, row_ends: own_ends, column_indices: own_columns, values: own_values };
            places.push((place, block));
            start += len;
        }
        if blocks.len() <= 1 {
            for (place, block) in places {
                place.write(block);
            }
        } else {
            parallel::for_each(places, |(place, block)| place.write(block));
        }
        // SAFETY: there is capacity for them, and they are written.
        unsafe {
            self.column_indices.set_len(start);
            self.values.set_len(start);
        }
        Some(())
    }

    /// Frees unused memory if there is much.
    pub(super) fn shrink(&mut self) {
        let entries = self.values.len();
        if self.values.capacity() - entries > entries / UNUSED_PART {
            self.column_indices.shrink_to_fit();
            self.values.shrink_to_fit();
        }
    }
}
