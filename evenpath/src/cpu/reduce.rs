use std::ops::Range;

use evenpath_kernels::block::operator::{Max, Min, Number, Operator as Combine, Segmented, Sum, Summary};

use super::scan::{CHUNK, before_chunks, chunk};
use super::vector::combine_by_halves;
use crate::element::Element;
use crate::matrix::row_blocks;
use crate::offset::Offset;
use crate::operation::Operator;
use crate::parallel;

/// Number of partial sums of a long row. One would take the latency of an addition for every element.
const LANES: usize = 16;
/// Minimum number of elements of a row that has partial sums.
const LEAST_INTERLEAVED: usize = 8 * LANES;

/// Returns the first element and the sum of each segment; `begins` returns true for the first element of a
/// segment.
pub(crate) fn reduce<T: Number>(
    values: &[T],
    begins: impl Fn(usize) -> bool + Sync,
    operator: Operator,
) -> (Vec<usize>, Vec<T>) {
    match operator {
        Operator::Sum => reduce_by::<T, Sum>(values, begins),
        Operator::Min => reduce_by::<T, Min>(values, begins),
        Operator::Max => reduce_by::<T, Max>(values, begins),
    }
}

/// Returns the sum of each row; for empty rows, the identity of the operator. Long rows have several partial sums.
pub(crate) fn reduce_rows<T: Element, O: Offset>(
    row_offsets: &[O],
    values: &[T],
    operator: Operator,
    sums: &mut [T],
) {
    match operator {
        Operator::Sum => reduce_rows_by::<T, O, Sum>(row_offsets, values, sums),
        Operator::Min => reduce_rows_by::<T, O, Min>(row_offsets, values, sums),
        Operator::Max => reduce_rows_by::<T, O, Max>(row_offsets, values, sums),
    }
}

fn reduce_rows_by<T: Number, O: Offset, P: Combine<T>>(row_offsets: &[O], values: &[T], sums: &mut [T]) {
    let mut tasks = Vec::new();
    let mut rest = sums;
    for rows in row_blocks(row_offsets) {
        let own;
        (own, rest) = rest.split_at_mut(rows.len());
        tasks.push((rows, own));
    }
    parallel::for_each(tasks, |(rows, sums)| {
        let mut start = row_offsets[rows.start].to_usize();
        for (sum, end) in sums.iter_mut().zip(&row_offsets[rows.start + 1..=rows.end]) {
            let end = end.to_usize();
            *sum = if start == end { P::IDENTITY } else { row_sum::<T, P>(values, start..end) };
            start = end;
        }
    });
}

/// Sum of a row with elements. Long rows are added up chunk by chunk: the parts in the first and the last chunk, and whole
/// chunks between them, by themselves.
#[inline]
fn row_sum<T: Number, P: Combine<T>>(values: &[T], row: Range<usize>) -> T {
    if row.len() < LEAST_INTERLEAVED {
        return sum_in_order::<T, P>(&values[row]);
    }
    long_row_sum::<T, P>(values, row)
}

#[inline(never)]
fn long_row_sum<T: Number, P: Combine<T>>(values: &[T], row: Range<usize>) -> T {
    let chunk_end = |chunk: usize| values.len().min((chunk + 1) * CHUNK);
    let (first, last) = (row.start / CHUNK, (row.end - 1) / CHUNK);
    let sum = part_sum::<T, P>(&values[row.start..row.end.min(chunk_end(first))]);
    if first == last {
        return sum;
    }
    let whole = |number: usize| part_sum::<T, P>(&values[chunk(first + 1 + number, values.len())]);
    let sum = parallel::map(last - first - 1, 1, whole).into_iter().fold(sum, P::combine);
    P::combine(sum, part_sum::<T, P>(&values[last * CHUNK..row.end]))
}

/// Sum of elements, of which there is at least one, in interleaved partial sums if they are many.
fn part_sum<T: Number, P: Combine<T>>(values: &[T]) -> T {
    let (groups, rest) = values.as_chunks::<LANES>();
    let Some((first, groups)) = groups.split_first() else { return sum_in_order::<T, P>(values) };
    let mut lanes = *first;
    for group in groups {
        for (lane, value) in lanes.iter_mut().zip(group) {
            *lane = P::combine(*lane, *value);
        }
    }
    let sum = combine_by_halves(&mut lanes, P::combine);
    rest.iter().fold(sum, |sum, value| P::combine(sum, *value))
}

/// Sum of elements, of which there is at least one, one after the other.
#[inline]
fn sum_in_order<T: Number, P: Combine<T>>(values: &[T]) -> T {
    values[1..].iter().fold(values[0], |sum, value| P::combine(sum, *value))
}

/// Marks which of `len` elements start a row, from valid row offsets.
pub(crate) fn row_heads<O: Offset>(row_offsets: &[O], len: usize) -> Vec<bool> {
    let mut heads = vec![false; len];
    for ends in row_offsets.windows(2) {
        if ends[0] < ends[1] {
            heads[ends[0].to_usize()] = true;
        }
    }
    heads
}

/// Each chunk returns its heads and the sums of the segments that they close; the last segment is closed at
/// the end.
fn reduce_by<T: Number, P: Combine<T>>(
    values: &[T],
    begins: impl Fn(usize) -> bool + Sync,
) -> (Vec<usize>, Vec<T>) {
    let element = |index| (values[index], begins(index));
    let (before, total) = before_chunks::<T, Segmented<P>>(values.len(), &element);
    let close = |number: usize| {
        let (mut running, mut heads, mut closed) = (before[number].0, Vec::new(), Vec::new());
        for index in chunk(number, values.len()) {
            if begins(index) {
                heads.push(index);
                closed.push(running);
                running = values[index];
            } else {
                running = P::combine(running, values[index]);
            }
        }
        (heads, closed)
    };
    let chunks = parallel::map(values.len().div_ceil(CHUNK), 1, close);
    let (mut heads, mut sums) = (Vec::new(), Vec::new());
    for (own_heads, closed) in chunks {
        // The very first element closes no segment.
        sums.extend_from_slice(&closed[usize::from(heads.is_empty() && !closed.is_empty())..]);
        heads.extend(own_heads);
    }
    if !values.is_empty() {
        sums.push(Summary::<T, Segmented<P>>::new(total.0, total.1).value);
    }
    (heads, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row offsets with short and long rows, some of which begin or end with a chunk; the last has this length.
    fn offsets(last: usize) -> Vec<u32> {
        let lengths = [0, 3, CHUNK - 3, CHUNK, 2 * CHUNK, 1, 0, 3 * CHUNK + 5, 7, CHUNK - 13, 2, 0];
        let around = LEAST_INTERLEAVED - 2..LEAST_INTERLEAVED + LANES + 2;
        let mut row_offsets = vec![0];
        for length in lengths.into_iter().chain(around).chain([last]) {
            row_offsets.push(row_offsets[row_offsets.len() - 1] + length as u32);
        }
        row_offsets
    }

    fn sums<T: Element>(row_offsets: &[u32], values: &[T], operator: Operator) -> Vec<T> {
        let mut sums = vec![T::ZERO; row_offsets.len() - 1];
        reduce_rows(row_offsets, values, operator, &mut sums);
        sums
    }

    #[test]
    fn rows_have_the_sums_of_their_segments() {
        for last in [0, 2 * CHUNK + 100, 2 * CHUNK + 2, CHUNK - 2] {
            let row_offsets = offsets(last);
            let len = row_offsets[row_offsets.len() - 1] as usize;
            // Small whole numbers: sums are exact in any order.
            let values: Vec<f64> = (0..len).map(|at| ((at * 7919) % 1000) as f64 - 500.0).collect();
            let heads = row_heads(&row_offsets, len);
            for operator in [Operator::Sum, Operator::Min, Operator::Max] {
                let (_, own) = reduce(&values, |index| heads[index], operator);
                let mut own = own.into_iter();
                for (sum, ends) in
                    sums(&row_offsets, &values, operator).into_iter().zip(row_offsets.windows(2))
                {
                    let expected = if ends[0] < ends[1] { own.next().unwrap() } else { operator.identity() };
                    assert_eq!(sum.to_bits(), expected.to_bits(), "{operator:?} of {ends:?}");
                }
            }
        }
    }

    #[test]
    fn sums_of_rows_are_within_their_bound_and_the_same_with_any_threads() {
        let row_offsets = offsets(2 * CHUNK + 100);
        let len = row_offsets[row_offsets.len() - 1] as usize;
        let values: Vec<f32> = (0..len).map(|at| (at as f32 * 0.618_034).fract() - 0.3).collect();
        let on_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sums(&row_offsets, &values, Operator::Sum))
        };
        let alone = on_threads(1);
        for (sum, ends) in alone.iter().zip(row_offsets.windows(2)) {
            let row = values[ends[0] as usize..ends[1] as usize].iter().map(|&value| f64::from(value));
            let magnitude: f64 = row.clone().map(f64::abs).sum();
            // Partial sums of a chunk have a sixteenth of its elements.
            let bound = (CHUNK / LANES + LANES + 10) as f64 * f64::from(f32::EPSILON) * magnitude;
            assert!((f64::from(*sum) - row.sum::<f64>()).abs() <= bound, "{sum} of {ends:?}");
        }
        for threads in [2, 3] {
            assert!(alone.iter().zip(on_threads(threads)).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }

    #[test]
    fn extremes_of_long_rows_are_numbers_rather_than_nan() {
        for at in 0..2 * LEAST_INTERLEAVED {
            let mut values = vec![f64::NAN; 2 * LEAST_INTERLEAVED];
            let row_offsets = [0, values.len() as u32];
            assert!(sums(&row_offsets, &values, Operator::Min)[0].is_nan());
            values[at] = 3.0;
            assert!(sums(&row_offsets, &values, Operator::Sum)[0].is_nan());
            for operator in [Operator::Min, Operator::Max] {
                assert!((sums(&row_offsets, &values, operator)[0] - 3.0).abs() < 0.5, "{operator:?} at {at}");
            }
        }
    }
}
