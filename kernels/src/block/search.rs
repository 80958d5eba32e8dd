//! Binary search by a single thread.

use super::Index;

/// The first index in `start..end` for which `is_before` does not hold, or `end`, as `slice::partition_point` finds it:
/// with `|index| array.load(index) < key` the lower bound of a key in an ascending array, with `<=` its upper bound.
///
/// `start` is at most `end`, and `is_before` holds for no index after one for which it does not. Where that is not so the
/// result is some index in `start..=end`. `is_before` is called for indices in `start..end` only.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_slices() {
        let array = [1, 3, 3, 3, 7, 9, 9, 12];
        for start in 0..=array.len() {
            for end in start..=array.len() {
                for key in 0..14 {
                    let slice = &array[start..end];
                    let lower = start + slice.partition_point(|&element| element < key);
                    let upper = start + slice.partition_point(|&element| element <= key);
                    assert_eq!(partition_point(start, end, |index| array[index] < key), lower);
                    assert_eq!(partition_point(start, end, |index| array[index] <= key), upper);
                }
            }
        }
    }

    #[test]
    fn unsorted_arrays_are_searched_inside() {
        let array = [5_u32, 1, 9, 0, 7, 2];
        for key in 0..10 {
            let found = partition_point(1_u32, 5, |index| {
                assert!((1..5).contains(&index));
                array[index as usize] < key
            });
            assert!((1..=5).contains(&found));
        }
    }
}
