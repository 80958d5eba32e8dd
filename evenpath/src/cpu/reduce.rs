use evenpath_kernels::block::operator::{Max, Min, Number, Operator as Combine, Segmented, Sum, Summary};

use super::scan::{CHUNK, before_chunks, chunk};
use crate::element::Element;
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

/// Returns the sum of each row; for empty rows, the identity of the operator.
pub(crate) fn reduce_rows<T: Element, O: Offset>(
    row_offsets: &[O],
    values: &[T],
    operator: Operator,
    sums: &mut [T],
) {
    let heads = row_heads(row_offsets, values.len());
    let (_, own) = reduce(values, |index| heads[index], operator);
    let mut own = own.into_iter();
    for (sum, ends) in sums.iter_mut().zip(row_offsets.windows(2)) {
        let filled = if ends[0] < ends[1] { own.next() } else { None };
        *sum = filled.unwrap_or_else(|| operator.identity());
    }
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
