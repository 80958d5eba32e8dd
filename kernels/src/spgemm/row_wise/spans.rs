//! The columns that rows of C span, and their windows.

use evenpath_simt::{device, parameters, Global};

use super::bitmap::PACKET;

parameters! {
    /// The columns that rows of C span.
    pub struct Spans {
        /// The first column of each row.
        pub firsts: Global<u32>,
        /// The last column of each row; below the first if the row is empty.
        pub lasts: Global<u32>,
    }
}

impl Spans {
    /// Returns the number of columns that a row spans.
    #[device(track_caller)]
    pub(in crate::spgemm) fn width(self, row: usize) -> u32 {
        let (first, last) = (self.firsts.load(row), self.lasts.load(row));
        if first <= last {
            last - first + 1
        } else {
            0
        }
    }
}

/// Some columns of C.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) start: u32,
    pub(super) len: u32,
    /// True if rows of B may have columns outside.
    pub(super) is_part: bool,
}

impl Window {
    #[device]
    pub(super) fn has(self, column: u32) -> bool {
        column.wrapping_sub(self.start) < self.len
    }
}

/// The windows of a row of C, ascending.
pub(super) struct Windows {
    start: u32,
    left: u32,
    columns: u32,
    is_part: bool,
}

impl Windows {
    /// Returns the windows of a row, of `packets` packets each; none if the row is empty.
    #[device(track_caller)]
    pub(super) fn of_row(spans: Spans, row: u32, packets: u32) -> Self {
        let (first, last) = (spans.firsts.load(row as usize), spans.lasts.load(row as usize));
        let left = if first <= last { last - first + 1 } else { 0 };
        let columns = packets * PACKET;
        Self { start: first, left, columns, is_part: left > columns }
    }

    #[device]
    pub(super) fn next(&mut self) -> Option<Window> {
        if self.left == 0 {
            return None;
        }
        let len = self.left.min(self.columns);
        let window = Window { start: self.start, len, is_part: self.is_part };
        self.start += len;
        self.left -= len;
        Some(window)
    }
}
