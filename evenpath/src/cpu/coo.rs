//! `y = alpha A x + y` for COO matrices sorted by row.

use crate::{Scalar, parallel};

/// Number of entries per task. The same on every machine, because the positions of cuts determine the
/// rounding of sums.
const INTERVAL: usize = 1 << 14;

/// Computes `y = beta y`.
pub(crate) fn scale<V: Scalar>(beta: V, y: &mut [V]) {
    parallel::parts_mut(y, INTERVAL, |_, y| y.iter_mut().for_each(|y| *y = beta * *y));
}

/// Computes `y = alpha A x + y`, with A given as rows, columns and values, sorted by row.
pub(crate) fn add_coo<V: Scalar>(
    (rows, columns, values): (&[u32], &[u32], &[V]),
    alpha: V,
    x: &[V],
    y: &mut [V],
) {
    // Every row of an interval but the last ends in it, so the interval owns y from its first row up to its last,
    // exclusive. Later intervals may have entries of the last row.
    let mut tasks = Vec::with_capacity(rows.len().div_ceil(INTERVAL));
    let (mut rest, mut first_of_rest) = (&mut *y, 0);
    for (interval, own_rows) in rows.chunks(INTERVAL).enumerate() {
        let (Some(&first), Some(&last)) = (own_rows.first(), own_rows.last()) else { continue };
        let (_, from_first) = rest.split_at_mut(first as usize - first_of_rest);
        let (own_y, from_last) = from_first.split_at_mut((last - first) as usize);
        (rest, first_of_rest) = (from_last, last as usize);
        tasks.push((interval * INTERVAL, own_rows, own_y));
    }
    let carries = parallel::map_each(tasks, |(start, own_rows, own_y)| {
        let first = own_rows[0];
        let (mut open, mut sum) = (first, V::ZERO);
        let entries = own_rows.iter().zip(&columns[start..]).zip(&values[start..]);
        for ((&row, &column), &value) in entries {
            if row != open {
                own_y[(open - first) as usize] += alpha * sum;
                (open, sum) = (row, V::ZERO);
            }
            sum += value * x[column as usize];
        }
        (open, sum)
    });
    // In the order of the intervals, so that rounding is the same in every run.
    for (row, sum) in carries {
        y[row as usize] += alpha * sum;
    }
}
