//! The 2D merge path: rows and nonzeros of a CSR matrix as one sequence, which can be cut anywhere.
//!
//! Merging the row ends with the indices of the nonzeros, row ends first among equals, gives a path of
//! `rows + nnz` steps: down for a nonzero, right for the end of a row (Merrill and Garland, SC '16).

use std::ops::Range;

use crate::{Offset, parallel};

/// A point on the path: the number of rows that end before it, and of nonzeros before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coordinate {
    pub(super) row: usize,
    pub(super) nonzero: usize,
}

/// The point after `diagonal` steps.
pub(super) fn search<O: Offset>(diagonal: usize, row_ends: &[O], nnz: usize) -> Coordinate {
    let mut low = diagonal.saturating_sub(nnz);
    let mut high = diagonal.min(row_ends.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if row_ends[middle].to_usize() < diagonal - middle {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Coordinate { row: low, nonzero: diagonal - low }
}

/// Splits the path into tiles of `length` steps; the last may be shorter.
pub(super) fn tiles<O: Offset>(row_ends: &[O], nnz: usize, length: usize) -> Vec<Range<Coordinate>> {
    let path = row_ends.len() + nnz;
    parallel::map(path.div_ceil(length), 16, |tile| {
        let at = |diagonal: usize| search(diagonal.min(path), row_ends, nnz);
        at(tile * length)..at((tile + 1) * length)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The path, step by step.
    fn walk(row_ends: &[u32], nnz: usize) -> Vec<Coordinate> {
        let mut at = Coordinate { row: 0, nonzero: 0 };
        let mut path = vec![at];
        while at.row < row_ends.len() || at.nonzero < nnz {
            if at.row < row_ends.len() && row_ends[at.row] as usize <= at.nonzero {
                at.row += 1;
            } else {
                at.nonzero += 1;
            }
            path.push(at);
        }
        path
    }

    proptest! {
        #[test]
        fn search_finds_every_step(lengths in prop::collection::vec(0..6u32, 0..40), tile in 1..20usize) {
            let row_ends: Vec<u32> =
                lengths.iter().scan(0, |end, length| { *end += length; Some(*end) }).collect();
            let nnz = row_ends.last().map_or(0, |&end| end as usize);
            let path = walk(&row_ends, nnz);
            for (diagonal, &expected) in path.iter().enumerate() {
                prop_assert_eq!(search(diagonal, &row_ends, nnz), expected);
            }
            let tiles = tiles(&row_ends, nnz, tile);
            prop_assert_eq!(tiles.len(), (path.len() - 1).div_ceil(tile));
            for (number, range) in tiles.iter().enumerate() {
                prop_assert_eq!(range.start, path[number * tile]);
                prop_assert_eq!(range.end, path[((number + 1) * tile).min(path.len() - 1)]);
            }
        }
    }
}
