//! Tiles, their size, and positions where they may be cut.

use std::ops::Range;

use super::super::merge_path::Coordinate;
use super::kernel::RowsKernel;
use crate::matrix::grain;
use crate::{Offset, parallel};

/// Steps of the merge path, row ends and nonzeros, per tile: about ten microseconds of work. The same for every matrix
/// and machine, because the positions of cuts determine how sums are rounded.
pub(super) const TILE: usize = grain(1 << 14);

/// Rows longer than this fraction (1 / 64) of all work may be cut, which bounds the time that other threads
/// wait for one row.
const LONG_ROW_PART: usize = 64;

/// A part of the merge path, and the kernel for its rows.
#[derive(Debug, Clone)]
pub(super) struct CpuTile {
    pub(super) path: Range<Coordinate>,
    /// True if the first row has nonzeros, all of them in tiles before.
    pub(super) starts_with_end: bool,
    pub(super) kernel: RowsKernel,
}

/// Positions where tiles may start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpmvCut {
    /// Between rows: the row-parallel SpMV of Pasandide's study (section C), with equal work per share instead of equal
    /// numbers of rows.
    Rows,
    /// Anywhere on the merge path: merge-based `CsrMV` (Merrill and Garland, SC '16).
    MergePath,
}

impl SpmvCut {
    /// The best cut for a matrix, and the length of its longest row. The merge path is chosen only if a long row would
    /// keep one thread busy after the others have finished. Otherwise whole rows are balanced too, and need no partial
    /// sums.
    pub(crate) fn choose<O: Offset>(row_offsets: &[O]) -> (Self, usize) {
        let rows = row_offsets.len() - 1;
        let longest_of = |rows: Range<usize>| {
            let lengths = row_offsets[rows.start..=rows.end].windows(2);
            lengths.map(|pair| pair[1].to_usize() - pair[0].to_usize()).max().unwrap_or(0)
        };
        let longest = parallel::reduce(rows, TILE, 0, longest_of, usize::max);
        let work = rows + row_offsets[rows].to_usize();
        let cut = if longest > TILE.max(work / LONG_ROW_PART) { Self::MergePath } else { Self::Rows };
        (cut, longest)
    }
}
