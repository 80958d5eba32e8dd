use evenpath_kernels::triangular::toward_diagonal;

use super::sums::row_sum;
use super::triangle::Triangle;
use crate::{Offset, Scalar, parallel};

/// Minimum number of rows of a task.
const ROWS: usize = 1 << 9;

/// Solves a triangular system with `x` for the right-hand side, times `alpha`, and then the solution. The arrays are those of the
/// matrix whose triangle it is.
///
/// Rows follow each other, or run in parallel by level. Each sum has the order of the kernels, whatever the threads.
pub(crate) fn solve_triangle<V: Scalar, O: Offset>(
    triangle: &Triangle<O>,
    (column_indices, values): (&[u32], &[V]),
    alpha: V,
    x: &mut [V],
) {
    let element = |row: usize, x: &[V]| {
        let entries = triangle.entries(row);
        let (columns, factors) = (&column_indices[entries.clone()], &values[entries]);
        let sum = row_sum(triangle.lanes, columns.len(), |at| {
            let at = toward_diagonal(columns.len(), at, triangle.is_upper);
            factors[at] * x[columns[at] as usize]
        });
        let rest = alpha * x[row] - sum;
        if triangle.is_unit { rest } else { rest.divided_by(values[triangle.diagonal(row)]) }
    };
    let Some(levels) = triangle.wide_levels().filter(|_| rayon::current_num_threads() > 1) else {
        for row in triangle.order() {
            x[row] = element(row, x);
        }
        return;
    };
    for rows in levels {
        let elements = parallel::map(rows.len(), ROWS, |at| element(rows[at] as usize, x));
        for (&row, element) in rows.iter().zip(elements) {
            x[row as usize] = element;
        }
    }
}
