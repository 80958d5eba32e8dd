//! A search by a whole warp: 32 probes at once, where a thread alone would wait for memory five times as often.

use evenpath_simt::{device, thread, warp};

/// Returns the first of the numbers in `start..end` for which `holds`, or `end`. If it holds for a number, it holds for
/// all after it; otherwise the result is some number in `start..=end`. For one whole warp; `holds` is called for
/// numbers in `start..end` only.
#[device(track_caller)]
pub fn first(start: u64, end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let lanes = u64::from(thread::WARP_SIZE);
    let mut low = start;
    let mut left = end - start;
    while left > 0 {
        let share = left.div_ceil(lanes);
        // The last number of the lane's share.
        let probe = low + (u64::from(thread::lane()) + 1) * share - 1;
        let passed = warp::ballot(warp::FULL, probe < low + left && !holds(probe));
        let skipped = u64::from(passed.trailing_ones()) * share;
        low += skipped;
        // The number at the end of the next share holds, or is not there.
        left = (share - 1).min(left - skipped);
    }
    low
}
