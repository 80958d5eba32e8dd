use std::ops::Range;

use evenpath_kernels::block::operator::{Max, Min, Number, Operator as Combine, Segmented, Sum, Summary};

use super::scan::{CHUNK, before_chunks, chunk};
use crate::element::Element;
use crate::matrix::row_blocks;
use crate::offset::Offset;
use crate::operation::Operator;
use crate::parallel;

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

/// Returns the sum of each row; for empty rows, the identity of the operator. Additions have the order of [`reduce`].
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

/// Sum of a row with elements: within the first chunk one after the other; then chunk by chunk, each added up first, unless
/// another row begins in it.
fn row_sum<T: Number, P: Combine<T>>(values: &[T], row: Range<usize>) -> T {
    let add = |sum: T, elements: &[T]| elements.iter().fold(sum, |sum, &value| P::combine(sum, value));
    let chunk_end = |chunk: usize| values.len().min((chunk + 1) * CHUNK);
    let (first, last) = (row.start / CHUNK, (row.end - 1) / CHUNK);
    let sum = add(values[row.start], &values[row.start + 1..row.end.min(chunk_end(first))]);
    if first == last {
        return sum;
    }
    // Chunks that the row fills to their ends are added up by themselves.
    let filled = if row.end == chunk_end(last) { last + 1 } else { last };
    let whole = |number: usize| add(P::IDENTITY, &values[chunk(first + 1 + number, values.len())]);
    let sum = parallel::map(filled - first - 1, 1, whole).into_iter().fold(sum, P::combine);
    if filled > last { sum } else { add(sum, &values[last * CHUNK..row.end]) }
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

    #[test]
    fn rows_have_the_sums_of_their_segments() {
        let lengths = [0, 3, CHUNK - 3, CHUNK, 2 * CHUNK, 1, 0, 3 * CHUNK + 5, 7, CHUNK - 13, 2, 0];
        // The last row ends within a chunk, or at the end of one.
        for last in [0, 2 * CHUNK + 100, 2 * CHUNK + 2, CHUNK - 2] {
            let mut row_offsets = vec![0_u32];
            for length in lengths.into_iter().chain([last]) {
                row_offsets.push(row_offsets[row_offsets.len() - 1] + length as u32);
            }
            let len = row_offsets[row_offsets.len() - 1] as usize;
            let values: Vec<f32> = (0..len).map(|at| ((at * 7919) % 1000) as f32 / 37.0 - 11.0).collect();
            let heads = row_heads(&row_offsets, len);
            for operator in [Operator::Sum, Operator::Min, Operator::Max] {
                let mut sums = vec![0.0; row_offsets.len() - 1];
                reduce_rows(&row_offsets, &values, operator, &mut sums);
                let (_, own) = reduce(&values, |index| heads[index], operator);
                let mut own = own.into_iter();
                for (sum, ends) in sums.iter().zip(row_offsets.windows(2)) {
                    let expected: f32 =
                        if ends[0] < ends[1] { own.next().unwrap() } else { operator.identity() };
                    assert_eq!(sum.to_bits(), expected.to_bits(), "{operator:?} of {ends:?}");
                }
            }
        }
    }
}
