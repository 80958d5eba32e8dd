//! Binary search by a single thread.

use evenpath_simt::device;

use super::index::Index;

/// Returns the first index in `start..end` for which `is_before` does not hold, or `end`, as `slice::partition_point`
/// finds it: with `|index| array.load(index) < key` the lower bound of a key in an ascending array, with `<=` its upper
/// bound.
///
/// `start` is at most `end`, and `is_before` holds for no index after one for which it does not. Otherwise the result
/// is some index in `start..=end`. `is_before` is called for indices in `start..end` only.
#[device(track_caller)]
pub fn partition_point<T: Index>(start: T, end: T, is_before: impl Fn(T) -> bool) -> T {
    let one = T::from(1);
    let mut low = start;
    let mut left = end - start;
    // One loop variable fewer than with both ends, which in registers is two.
    while left > T::from(0) {
        let half = left >> 1;
        let middle = low + half;
        let is_less = is_before(middle);
        low = if is_less { middle + one } else { low };
        left = if is_less { left - half - one } else { half };
    }
    low
}
