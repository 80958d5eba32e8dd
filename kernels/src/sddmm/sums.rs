//! Addition of the sums of a group's lanes.

use evenpath_simt::{device, thread, warp, Arithmetic};

/// Nonzeros whose inner products a group of lanes computes side by side.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// log2 of the least number of lanes in a group: each gets the sum of one nonzero at most.
#[cfg(not(target_arch = "nvptx64"))]
pub(super) const LEAST_LANES_LOG2: u32 = (SIDE_BY_SIDE as u32).ilog2();

/// A sum, and the nonzero that it is of.
pub(super) struct GroupSum<V> {
    pub(super) sum: V,
    /// Number of the nonzero among those side by side.
    pub(super) nonzero: u32,
    /// True in one of the lanes that have this sum.
    pub(super) is_first: bool,
}

/// Adds up the sums of the `1 << lanes_log2` lanes of a group. Lanes exchange halves of their sums, so that each has half as many
/// after a step, and then one. The order of additions is fixed. Every lane of the warp calls it.
#[device(track_caller)]
pub(super) fn add_lanes<V: Arithmetic>(sums: [V; SIDE_BY_SIDE], lanes_log2: u32) -> GroupSum<V> {
    let half = 1 << (lanes_log2 - 1);
    let is_upper = thread::lane() & half != 0;
    let mut pair = [V::ZERO; 2];
    for at in 0..2 {
        let (kept, given) = if is_upper { (sums[at + 2], sums[at]) } else { (sums[at], sums[at + 2]) };
        pair[at] = kept + warp::shuffle_xor(warp::FULL, given, half);
    }
    let quarter = half / 2;
    let is_odd = thread::lane() & quarter != 0;
    let (kept, given) = if is_odd { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
    let sum = kept + warp::shuffle_xor(warp::FULL, given, quarter);
    GroupSum {
        sum: warp::reduce_groups(sum, quarter, |a, b| a + b),
        nonzero: 2 * u32::from(is_upper) + u32::from(is_odd),
        is_first: thread::lane() & (quarter - 1) == 0,
    }
}
