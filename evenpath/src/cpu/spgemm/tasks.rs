//! Division of the rows of C into tasks.

use std::ops::Range;

use super::repeated::Repeated;
use crate::{CsrView, Offset, Scalar, parallel};

/// Approximate number of products plus rows per task.
const TASK: u64 = 1 << 16;
/// Number of rows that one thread divides at a time.
pub(super) const ROWS: usize = 1 << 12;

/// Tasks: consecutive rows with about equal work.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) products: u64,
    /// Maximum number of entries of C.
    pub(super) most_entries: u64,
}

impl Tasks {
    /// Creates the tasks, and finds rows that have the pattern of the previous row.
    ///
    /// # Safety
    /// B has a row for each column of A.
    pub(super) unsafe fn new<V: Scalar, O: Offset>(
        a: &CsrView<'_, V, O>,
        b: &CsrView<'_, V, O>,
    ) -> (Self, Repeated) {
        let chunks = a.nrows().div_ceil(ROWS);
        // SAFETY: guaranteed by the caller.
        let of_chunk =
            |chunk| unsafe { Self::of_rows(a, b, chunk * ROWS..a.nrows().min((chunk + 1) * ROWS)) };
        let parts: Vec<(Self, usize)> =
            if chunks == 1 { vec![of_chunk(0)] } else { parallel::map(chunks, 1, of_chunk) };
        let (mut all, mut all_shifted) = (Self::default(), 0);
        for (tasks, shifted) in parts {
            all.ranges.extend(tasks.ranges);
            all.products += tasks.products;
            all.most_entries += tasks.most_entries;
            all_shifted += shifted;
        }
        (all, Repeated::new(a, b, all_shifted))
    }

    /// Creates the tasks of some rows, and counts the rows that seem to be shifted.
    ///
    /// # Safety
    /// B has a row for each column of A.
    unsafe fn of_rows<V: Scalar, O: Offset>(
        a: &CsrView<'_, V, O>,
        b: &CsrView<'_, V, O>,
        rows: Range<usize>,
    ) -> (Self, usize) {
        let (mut tasks, mut shifted) = (Self::default(), 0);
        let (mut start, mut sum) = (rows.start, 0);
        for row in rows.clone() {
            let columns = &a.column_indices()[a.range(row)];
            let mut products = 0;
            for &k in columns {
                let (offsets, k) = (b.row_offsets(), k as usize);
                // SAFETY: guaranteed by the caller.
                let (start, end) = unsafe { (offsets.get_unchecked(k), offsets.get_unchecked(k + 1)) };
                products += end.to_u64() - start.to_u64();
            }
            tasks.products += products;
            tasks.most_entries += products.min(b.ncols() as u64);
            shifted += usize::from(Repeated::seems_shifted(a, row));
            sum += products + 1;
            if sum >= TASK {
                tasks.ranges.push(start..row + 1);
                (start, sum) = (row + 1, 0);
            }
        }
        if start < rows.end {
            tasks.ranges.push(start..rows.end);
        }
        (tasks, shifted)
    }
}
