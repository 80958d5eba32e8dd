//! Checks of results, by plain loops over the definitions.
//!
//! Every check returns the first difference as its error, as text.

use std::ops::Range;

use evenpath::key::{Key, SortKey};
use evenpath::operator::{Element, Operator};
use evenpath::sets::SetOperation;
use rayon::prelude::*;

use crate::sequences::mix;

/// Checks that each element of `result` combines the elements from the head of its segment to itself or, if `exclusive`,
/// to its predecessor. `begins` tells whether an element is a head; the first element always is.
///
/// # Errors
///
/// The first difference.
pub(crate) fn scan<T: Element>(
    values: &[T],
    begins: impl Fn(usize) -> bool + Sync,
    operator: Operator,
    exclusive: bool,
    result: &[T],
) -> Result<(), String> {
    same_len(result.len(), values.len())?;
    // Each element follows from its predecessor, so the first that does not is the first wrong one.
    let expected = |index: usize| match (index == 0 || begins(index), exclusive) {
        (true, true) => identity(operator),
        (true, false) => values[index],
        (false, true) => combine(operator, result[index - 1], values[index - 1]),
        (false, false) => combine(operator, result[index - 1], values[index]),
    };
    match (0..values.len()).into_par_iter().position_first(|index| result[index] != expected(index)) {
        None => Ok(()),
        Some(index) => Err(format!("element {index} is {:?}, not {:?}", result[index], expected(index))),
    }
}

/// Checks that each element of `result` combines the elements of one row, from one of `row_offsets` to the next, in order;
/// for empty rows, it is the identity of the operator.
///
/// # Errors
///
/// The first difference.
pub(crate) fn reduce<T: Element>(
    values: &[T],
    row_offsets: &[u32],
    operator: Operator,
    result: &[T],
) -> Result<(), String> {
    same_len(result.len(), row_offsets.len() - 1)?;
    let expected = |row: usize| {
        let elements = &values[row_offsets[row] as usize..row_offsets[row + 1] as usize];
        elements.iter().fold(identity(operator), |sum, &value| combine(operator, sum, value))
    };
    match (0..result.len()).into_par_iter().position_first(|row| result[row] != expected(row)) {
        None => Ok(()),
        Some(row) => Err(format!("row {row} is {:?}, not {:?}", result[row], expected(row))),
    }
}

fn identity<T: Element>(operator: Operator) -> T {
    match operator {
        Operator::Sum => T::ZERO,
        Operator::Min => T::GREATEST,
        Operator::Max => T::LEAST,
    }
}

/// Combines two numbers, neither of them NaN.
fn combine<T: Element>(operator: Operator, before: T, after: T) -> T {
    match operator {
        Operator::Sum => before.plus(after),
        Operator::Min if after < before => after,
        Operator::Max if after > before => after,
        Operator::Min | Operator::Max => before,
    }
}

/// Checks that `sorted` has the keys of `keys` in ascending order of their bits. A checksum verifies that they are the
/// same keys.
///
/// # Errors
///
/// The first difference.
pub(crate) fn sorted_keys<K: SortKey>(keys: &[K], sorted: &[K]) -> Result<(), String> {
    same_len(sorted.len(), keys.len())?;
    let descends = |pair: &[K]| pair[0].to_bits() > pair[1].to_bits();
    if let Some(index) = sorted.par_windows(2).position_first(descends) {
        return Err(format!("key {} is less than the one before it", index + 1));
    }
    let sum = |keys: &[K]| keys.par_iter().map(|key| mix(key.to_bits())).reduce(|| 0, u64::wrapping_add);
    if sum(sorted) == sum(keys) { Ok(()) } else { Err("the keys differ from those of the input".into()) }
}

/// Checks that `sorted` has the keys of `keys` in ascending order of their bits, stably, where `places[i]` is the original
/// index of `sorted[i]`.
///
/// # Errors
///
/// The first difference.
pub(crate) fn sorted_places<K: SortKey>(keys: &[K], sorted: &[K], places: &[u32]) -> Result<(), String> {
    same_len(sorted.len(), keys.len())?;
    same_len(places.len(), keys.len())?;
    // Strictly increasing pairs are distinct, so every index occurs once.
    let pair = |index: usize| (sorted[index].to_bits(), places[index]);
    let is_right = |index: usize| {
        keys.get(places[index] as usize) == Some(&sorted[index])
            && (index == 0 || pair(index - 1) < pair(index))
    };
    match (0..keys.len()).into_par_iter().position_first(|index| !is_right(index)) {
        None => Ok(()),
        Some(index) => Err(format!("pair {index} differs from a stable sort")),
    }
}

/// Checks that `sorted` has the keys of `keys` in ascending order of their bits within each segment, from one of
/// `row_offsets` to the next, stably; `places[i]` is the original index of `sorted[i]`.
///
/// # Errors
///
/// The first difference.
pub(crate) fn sorted_segments<K: SortKey>(
    keys: &[K],
    row_offsets: &[u32],
    sorted: &[K],
    places: &[u32],
) -> Result<(), String> {
    same_len(sorted.len(), keys.len())?;
    same_len(places.len(), keys.len())?;
    let pair = |index: usize| (sorted[index].to_bits(), places[index]);
    each_segment(row_offsets, |segment| {
        let is_right = |index: usize| {
            let place = places[index] as usize;
            segment.contains(&place)
                && keys[place].to_bits() == sorted[index].to_bits()
                && (index == segment.start || pair(index - 1) < pair(index))
        };
        match segment.clone().find(|&index| !is_right(index)) {
            None => Ok(()),
            Some(index) => Err(format!("pair {index} differs from a stable sort")),
        }
    })
}

/// Checks each segment.
///
/// # Errors
///
/// The first of the first segment that has one.
pub(crate) fn each_segment(
    row_offsets: &[u32],
    check: impl Fn(Range<usize>) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let checked = row_offsets.par_windows(2).enumerate().find_map_first(|(segment, row)| {
        let error = check(row[0] as usize..row[1] as usize).err()?;
        Some(format!("segment {segment}: {error}"))
    });
    checked.map_or(Ok(()), Err)
}

/// An operation on two sorted sequences, A and B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combination {
    /// All elements; among equal ones, those of A first.
    Merge,
    /// The result of a set operation: the n-th copy of a key in A matches the n-th in B.
    Set(SetOperation),
}

/// The origin of an element of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The element of A with this index.
    A(usize),
    /// The element of B with this index.
    B(usize),
    /// The elements of A and B with these indices, which match.
    Match(usize, usize),
}

impl Combination {
    /// The number of elements of the result.
    pub(crate) fn result_len<K: Key>(self, a: &[K], b: &[K]) -> usize {
        let count = |part: &Part| {
            let mut count = 0;
            self.walk(a, b, part, |_| count += 1);
            count
        };
        parts(a, b, &[]).par_iter().map(count).sum()
    }

    /// Checks that `keys` are those of the result, and that `is_right` holds for the index and source of each element.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub(crate) fn check<K: Key>(
        self,
        a: &[K],
        b: &[K],
        keys: &[K],
        is_right: impl Fn(usize, Source) -> bool + Sync,
    ) -> Result<(), String> {
        let first_wrong = |part: &Part| {
            let (mut wrong, mut index) = (None, part.result.start);
            self.walk(a, b, part, |source| {
                let key = match source {
                    Source::A(a_index) | Source::Match(a_index, _) => a[a_index],
                    Source::B(b_index) => b[b_index],
                };
                let right = index < part.result.end && keys[index] == key && is_right(index, source);
                if !right && wrong.is_none() {
                    wrong = Some(index);
                }
                index += 1;
            });
            wrong.or((index != part.result.end).then_some(index))
        };
        match parts(a, b, keys).par_iter().find_map_first(first_wrong) {
            None => Ok(()),
            Some(index) => Err(format!("element {index} of {} differs from the definition", keys.len())),
        }
    }

    /// The sources of the elements of a part, in order.
    fn walk<K: Key>(self, a: &[K], b: &[K], part: &Part, mut keep: impl FnMut(Source)) {
        let (mut i, mut j) = (part.a.start, part.b.start);
        loop {
            let a_key = (i < part.a.end).then(|| a[i]);
            let b_key = (j < part.b.end).then(|| b[j]);
            let source = match (a_key, b_key) {
                (None, None) => return,
                (Some(a_key), Some(b_key)) if a_key == b_key && self != Self::Merge => Source::Match(i, j),
                (Some(a_key), Some(b_key)) if a_key > b_key => Source::B(j),
                (None, Some(_)) => Source::B(j),
                (Some(_), _) => Source::A(i),
            };
            i += usize::from(!matches!(source, Source::B(_)));
            j += usize::from(!matches!(source, Source::A(_)));
            if self.keeps(source) {
                keep(source);
            }
        }
    }

    fn keeps(self, source: Source) -> bool {
        match self {
            Self::Merge => true,
            Self::Set(operation) => match source {
                Source::A(_) => operation != SetOperation::Intersection,
                Source::B(_) => {
                    matches!(operation, SetOperation::Union | SetOperation::SymmetricDifference)
                }
                Source::Match(..) => matches!(operation, SetOperation::Union | SetOperation::Intersection),
            },
        }
    }
}

/// The elements of inputs and result with keys between two bounds.
struct Part {
    a: Range<usize>,
    b: Range<usize>,
    result: Range<usize>,
}

/// Splits inputs and result into parts that are checked independently. If the result is not sorted, its cuts may be
/// anywhere, even reversed, but each part still begins where the previous one ends.
fn parts<K: Key>(a: &[K], b: &[K], result: &[K]) -> Vec<Part> {
    const STEP: usize = 1 << 16;
    let longer = if a.len() > b.len() { a } else { b };
    let cut = |key: K| [a, b, result].map(|keys| keys.partition_point(|&other| other < key));
    let cuts = longer.iter().step_by(STEP).skip(1).map(|&key| cut(key));
    let mut begin = [0; 3];
    let mut parts = Vec::new();
    for end in cuts.chain([[a.len(), b.len(), result.len()]]) {
        parts.push(Part { a: begin[0]..end[0], b: begin[1]..end[1], result: begin[2]..end[2] });
        begin = end;
    }
    parts
}

fn same_len(found: usize, expected: usize) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found} elements, not {expected}")) }
}

#[cfg(test)]
mod tests {
    use evenpath::sets::SetOperation::{Difference, Intersection, SymmetricDifference, Union};

    use super::*;
    use crate::sequences::{random_keys, sorted_with_duplicates};

    #[test]
    fn scans_are_told_from_wrong_ones() {
        let values = [3, 1, 2, 5_u32];
        let whole = |_| false;
        let at_2 = |index| index == 2;
        assert_eq!(scan(&values, whole, Operator::Sum, false, &[3, 4, 6, 11]), Ok(()));
        assert_eq!(scan(&values, whole, Operator::Sum, true, &[0, 3, 4, 6]), Ok(()));
        assert_eq!(scan(&values, at_2, Operator::Sum, false, &[3, 4, 2, 7]), Ok(()));
        assert_eq!(scan(&values, at_2, Operator::Min, true, &[u32::MAX, 3, u32::MAX, 2]), Ok(()));
        assert_eq!(scan(&values, whole, Operator::Max, false, &[3, 3, 3, 5]), Ok(()));
        assert!(scan(&values, whole, Operator::Sum, false, &[3, 4, 6]).is_err());
        let wrong = scan(&values, whole, Operator::Sum, false, &[3, 4, 6, 12]);
        assert_eq!(wrong, Err("element 3 is 12, not 11".into()));
    }

    #[test]
    fn reductions_are_told_from_wrong_ones() {
        let (values, row_offsets) = ([3.0, 1.0, 2.0, 5.0], [0, 2, 2, 4]);
        assert_eq!(reduce(&values, &row_offsets, Operator::Sum, &[4.0, 0.0, 7.0]), Ok(()));
        assert_eq!(reduce(&values, &row_offsets, Operator::Min, &[1.0, f64::INFINITY, 2.0]), Ok(()));
        assert_eq!(reduce(&values, &row_offsets, Operator::Max, &[3.0, -f64::INFINITY, 5.0]), Ok(()));
        assert!(reduce(&values, &row_offsets, Operator::Sum, &[4.0, 7.0]).is_err());
        let wrong = reduce(&values, &row_offsets, Operator::Sum, &[4.0, 0.0, 8.0]);
        assert_eq!(wrong, Err("row 2 is 8.0, not 7.0".into()));
    }

    #[test]
    fn sorts_are_told_from_wrong_ones() {
        let keys = [3, 1, 3, 2_u32];
        assert_eq!(sorted_keys(&keys, &[1, 2, 3, 3]), Ok(()));
        for wrong in [&[1, 3, 2, 3][..], &[1, 2, 2, 3], &[1, 2, 3]] {
            assert!(sorted_keys(&keys, wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(sorted_places(&keys, &[1, 2, 3, 3], &[1, 3, 0, 2]), Ok(()));
        for wrong in [[1, 3, 2, 0], [1, 3, 0, 0], [1, 3, 0, 4], [1, 0, 3, 2]] {
            assert!(sorted_places(&keys, &[1, 2, 3, 3], &wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sorts_by_segments_are_told_from_wrong_ones() {
        let (keys, offsets) = ([3, 1, 3, 2, 5, 2_u32], [0, 3, 3, 6]);
        let sorted = [1, 3, 3, 2, 2, 5];
        let check = |sorted: &[u32], places: &[u32]| sorted_segments(&keys, &offsets, sorted, places);
        assert_eq!(check(&sorted, &[1, 0, 2, 3, 5, 4]), Ok(()));
        for wrong in [[1, 2, 0, 3, 5, 4], [1, 0, 2, 5, 3, 4], [1, 0, 0, 3, 5, 4], [1, 0, 2, 3, 5, 6]] {
            assert!(check(&sorted, &wrong).is_err(), "{wrong:?}");
        }
        // Sorted as a whole.
        assert!(check(&[1, 2, 2, 3, 3, 5], &[1, 3, 5, 0, 2, 4]).is_err());
        assert!(check(&sorted[1..], &[0, 2, 3, 5, 4]).is_err());
    }

    #[test]
    fn combinations_follow_the_multiset_rule() {
        let (a, b) = ([1, 2, 2, 2, 5_u32], [2, 5, 5, 7_u32]);
        let all: [(Combination, &[u32]); 5] = [
            (Combination::Merge, &[1, 2, 2, 2, 2, 5, 5, 5, 7]),
            (Combination::Set(Union), &[1, 2, 2, 2, 5, 5, 7]),
            (Combination::Set(Intersection), &[2, 5]),
            (Combination::Set(Difference), &[1, 2, 2]),
            (Combination::Set(SymmetricDifference), &[1, 2, 2, 5, 7]),
        ];
        for (combination, result) in all {
            assert_eq!(combination.result_len(&a, &b), result.len());
            assert_eq!(combination.check(&a, &b, result, |_, _| true), Ok(()), "{combination:?}");
            assert!(combination.check(&a, &b, result, |index, _| index != 1).is_err(), "{combination:?}");
            for (_, other) in all.iter().filter(|(other, _)| *other != combination) {
                assert!(combination.check(&a, &b, other, |_, _| true).is_err(), "{combination:?}");
            }
        }
    }

    #[test]
    fn equal_keys_of_a_come_before_those_of_b() {
        let (a, b) = ([1, 1_u32], [1_u32]);
        let merged = [Source::A(0), Source::A(1), Source::B(0)];
        let is_right = |index: usize, source| merged[index] == source;
        assert_eq!(Combination::Merge.check(&a, &b, &[1, 1, 1], is_right), Ok(()));
        let union = [Source::Match(0, 0), Source::A(1)];
        let is_right = |index: usize, source| union[index] == source;
        assert_eq!(Combination::Set(Union).check(&a, &b, &[1, 1], is_right), Ok(()));
    }

    #[test]
    fn results_of_many_parts_are_checked_to_the_end() {
        let (a, b) = (sorted_with_duplicates::<u64>(300_000, 1), sorted_with_duplicates(200_000, 2));
        assert!(parts(&a, &b, &[]).len() > 3);
        let mut merged = [&a[..], &b].concat();
        merged.sort_unstable();
        assert_eq!(Combination::Merge.check(&a, &b, &merged, |_, _| true), Ok(()));
        assert_eq!(Combination::Merge.result_len(&a, &b), merged.len());
        for place in [0, 70_000, 499_999] {
            let right = std::mem::replace(&mut merged[place], random_keys(1, 64, 1)[0]);
            assert!(Combination::Merge.check(&a, &b, &merged, |_, _| true).is_err(), "{place}");
            merged[place] = right;
        }
        assert!(Combination::Merge.check(&a, &b, &merged[1..], |_, _| true).is_err());
        assert!(Combination::Merge.check(&a, &b, &merged[..499_999], |_, _| true).is_err());
    }
}
