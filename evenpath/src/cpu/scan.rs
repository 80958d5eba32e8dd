use std::ops::Range;

use evenpath_kernels::block::operator::{Max, Min, Number, Operator as Combine, Segmented, Sum, Summary};
use rayon::prelude::*;

use crate::operation::Operator;

/// Elements per task. Fixed, so that the order of additions does not depend on the number of threads.
pub(super) const CHUNK: usize = 1 << 16;

/// Scans `values` into `result`, of the same length.
pub(crate) fn scan<T: Number>(values: &[T], operator: Operator, exclusive: bool, result: &mut [T]) {
    match operator {
        Operator::Sum => scan_by::<T, Sum>(values, |_| false, exclusive, result),
        Operator::Min => scan_by::<T, Min>(values, |_| false, exclusive, result),
        Operator::Max => scan_by::<T, Max>(values, |_| false, exclusive, result),
    }
}

/// Scans each segment of `values` into `result`, of the same length; `begins` tells whether an element is the
/// first of a segment.
pub(crate) fn segmented_scan<T: Number>(
    values: &[T],
    begins: impl Fn(usize) -> bool + Sync,
    operator: Operator,
    exclusive: bool,
    result: &mut [T],
) {
    match operator {
        Operator::Sum => scan_by::<T, Segmented<Sum>>(values, begins, exclusive, result),
        Operator::Min => scan_by::<T, Segmented<Min>>(values, begins, exclusive, result),
        Operator::Max => scan_by::<T, Segmented<Max>>(values, begins, exclusive, result),
    }
}

fn scan_by<T: Number, P: Combine<T>>(
    values: &[T],
    begins: impl Fn(usize) -> bool + Sync,
    exclusive: bool,
    result: &mut [T],
) {
    let (before, _) = before_chunks::<T, P>(values, &begins);
    result.par_chunks_mut(CHUNK).zip(before).enumerate().for_each(|(number, (result, before))| {
        let mut running = Summary::<T, P>::new(before.0, before.1);
        for (index, result) in chunk(number, values.len()).zip(result) {
            let own = Summary::new(values[index], u32::from(begins(index)));
            let next = running.then(own);
            let at_head = P::SEGMENTED && own.heads > 0;
            *result = match exclusive {
                true if at_head => P::IDENTITY,
                true => running.value,
                false => next.value,
            };
            running = next;
        }
    });
}

/// The elements of a chunk, of `len` in total.
pub(super) fn chunk(number: usize, len: usize) -> Range<usize> {
    number * CHUNK..len.min((number + 1) * CHUNK)
}

/// The sum before each chunk and the total, each with its number of heads.
pub(super) fn before_chunks<T: Number, P: Combine<T>>(
    values: &[T],
    begins: &(impl Fn(usize) -> bool + Sync),
) -> (Vec<(T, u32)>, (T, u32)) {
    let summary = |index: usize| Summary::<T, P>::new(values[index], u32::from(begins(index)));
    let sum =
        |number| chunk(number, values.len()).map(summary).fold(Summary::IDENTITY, Summary::then).into_parts();
    let mut before: Vec<(T, u32)> = (0..values.len().div_ceil(CHUNK)).into_par_iter().map(sum).collect();
    let mut total = Summary::<T, P>::IDENTITY;
    for chunk in &mut before {
        let own = Summary::new(chunk.0, chunk.1);
        *chunk = total.into_parts();
        total = total.then(own);
    }
    (before, total.into_parts())
}
