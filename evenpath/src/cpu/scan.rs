use std::ops::Range;

use evenpath_kernels::block::operator::{Max, Min, Number, Operator as Combine, Segmented, Sum, Summary};

use crate::operation::Operator;
use crate::parallel;

/// Elements per task. Fixed, so that the order of additions does not depend on the number of threads.
pub(super) const CHUNK: usize = 1 << 16;

/// Scans `values` into `result`, of the same length.
pub(crate) fn scan<T: Number>(values: &[T], operator: Operator, exclusive: bool, result: &mut [T]) {
    scan_elements(|index| values[index], operator, exclusive, result);
}

/// Scans `values` exclusively from `initial` into `result`, of the same length: the inclusive scan of the initial value and of
/// all values but the last.
pub(crate) fn scan_from<T: Number>(initial: T, values: &[T], operator: Operator, result: &mut [T]) {
    let shifted = |index: usize| if index == 0 { initial } else { values[index - 1] };
    scan_elements(shifted, operator, false, result);
}

fn scan_elements<T: Number>(
    element: impl Fn(usize) -> T + Sync,
    operator: Operator,
    exclusive: bool,
    result: &mut [T],
) {
    let element = |index| (element(index), false);
    match operator {
        Operator::Sum => scan_by::<T, Sum>(element, exclusive, result),
        Operator::Min => scan_by::<T, Min>(element, exclusive, result),
        Operator::Max => scan_by::<T, Max>(element, exclusive, result),
    }
}

/// Scans each segment of `values` into `result`, of the same length; `begins` returns true for the first
/// element of a segment.
pub(crate) fn segmented_scan<T: Number>(
    values: &[T],
    begins: impl Fn(usize) -> bool + Sync,
    operator: Operator,
    exclusive: bool,
    result: &mut [T],
) {
    let element = |index| (values[index], begins(index));
    match operator {
        Operator::Sum => scan_by::<T, Segmented<Sum>>(element, exclusive, result),
        Operator::Min => scan_by::<T, Segmented<Min>>(element, exclusive, result),
        Operator::Max => scan_by::<T, Segmented<Max>>(element, exclusive, result),
    }
}

/// Scans as many elements as the result has. `element` returns an element, and true if it is the first of a
/// segment.
fn scan_by<T: Number, P: Combine<T>>(
    element: impl Fn(usize) -> (T, bool) + Sync,
    exclusive: bool,
    result: &mut [T],
) {
    let len = result.len();
    let (before, _) = before_chunks::<T, P>(len, &element);
    parallel::chunks_mut(result, CHUNK, |number, result| {
        let (value, heads) = before[number];
        let mut running = Summary::<T, P>::new(value, heads);
        for (index, result) in chunk(number, len).zip(result) {
            let (value, begins) = element(index);
            let next = running.then(Summary::new(value, u32::from(begins)));
            *result = match exclusive {
                true if P::SEGMENTED && begins => P::IDENTITY,
                true => running.value,
                false => next.value,
            };
            running = next;
        }
    });
}

/// Range of a chunk, of `len` elements in total.
pub(super) fn chunk(number: usize, len: usize) -> Range<usize> {
    number * CHUNK..len.min((number + 1) * CHUNK)
}

/// Returns the sum before each chunk of `len` elements, and the total, each with its number of heads.
/// `element` returns an element, and true if it is a head: the first of a segment.
pub(super) fn before_chunks<T: Number, P: Combine<T>>(
    len: usize,
    element: &(impl Fn(usize) -> (T, bool) + Sync),
) -> (Vec<(T, u32)>, (T, u32)) {
    let summary = |index: usize| {
        let (value, begins) = element(index);
        Summary::<T, P>::new(value, u32::from(begins))
    };
    let sum = |number| chunk(number, len).map(summary).fold(Summary::IDENTITY, Summary::then).into_parts();
    let mut before = parallel::map(len.div_ceil(CHUNK), 1, sum);
    let mut total = Summary::<T, P>::IDENTITY;
    for chunk in &mut before {
        let own = Summary::new(chunk.0, chunk.1);
        *chunk = total.into_parts();
        total = total.then(own);
    }
    (before, total.into_parts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_from_an_initial_value_equals_one_of_shifted_elements() {
        let values: Vec<f64> = (0..2 * CHUNK + 3).map(|index| 1.0 / (index + 1) as f64).collect();
        let shifted: Vec<f64> = [0.1].into_iter().chain(values[..values.len() - 1].iter().copied()).collect();
        for operator in [Operator::Sum, Operator::Min, Operator::Max] {
            let mut result = vec![0.0; values.len()];
            scan_from(0.1, &values, operator, &mut result);
            let mut expected = vec![1.0; values.len()];
            scan(&shifted, operator, false, &mut expected);
            assert!(result.iter().zip(&expected).all(|(own, other)| own.to_bits() == other.to_bits()));
        }
        scan_from(0.1, &[], Operator::Sum, &mut []);
    }
}
