//! Sums in the order of the kernels.

use evenpath_kernels::triangular::{piece_len, pieces_of};

use super::super::vector::sum_by_halves;
use crate::Scalar;

/// Maximum number of lanes of a row.
const MAX_LANES: usize = 32;

/// Returns the sum of the terms of a row. Terms of long rows are summed in pieces first.
pub(super) fn row_sum<V: Scalar>(lanes: usize, len: usize, term: impl Fn(usize) -> V) -> V {
    let pieces = pieces_of(len as u32, lanes as u32) as usize;
    if pieces == 0 {
        return lane_sum(lanes, len, term);
    }
    let piece = piece_len(lanes as u32) as usize;
    let sums: Vec<V> = (0..pieces)
        .map(|at| lane_sum(lanes, piece.min(len - at * piece), |index| term(at * piece + index)))
        .collect();
    lane_sum(lanes, sums.len(), |at| sums[at])
}

/// Returns the sum of every `lanes`-th term for each lane, added up by halves.
fn lane_sum<V: Scalar>(lanes: usize, len: usize, term: impl Fn(usize) -> V) -> V {
    if lanes == 1 {
        return (0..len).fold(V::ZERO, |sum, at| sum + term(at));
    }
    let mut sums = [V::ZERO; MAX_LANES];
    for at in 0..len {
        sums[at & (lanes - 1)] += term(at);
    }
    sum_by_halves(&mut sums[..lanes])
}
