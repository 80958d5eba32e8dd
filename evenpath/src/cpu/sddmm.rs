//! Inner products of rows of A and columns of B, at the nonzeros of a sparse matrix.

use std::ops::Range;

use super::spmm::{ByRows, Dense};
use super::vector::sum_by_halves;
use crate::{Offset, Storage, Value, parallel};

/// Number of partial sums of an inner product. They are added in the same order for any vector instructions.
const LANES: usize = 16;

/// Approximate number of terms per task.
const TASK: usize = 1 << 15;

/// The product `c = alpha (A B) + beta c` at the nonzeros of a matrix. If `beta` is 0, they are overwritten without being read.
///
/// Results depend neither on the number of threads nor on layouts nor on the machine.
pub(crate) struct Sddmm<'a, V, T, O> {
    pub(crate) row_offsets: &'a [O],
    pub(crate) column_indices: &'a [u32],
    /// Number of rows, of columns, and of terms of each inner product.
    pub(crate) shape: (usize, usize, usize),
    /// Rows of A, and columns of B.
    pub(crate) rows: Dense<'a, T>,
    pub(crate) columns: Dense<'a, T>,
    /// α and β.
    pub(crate) factors: (V, V),
}

/// Rows of A or columns of B in the type of arithmetic, if they are neighbors there or worth a copy.
struct Lines<'a, T: Storage> {
    lines: ByRows<'a, T>,
    len: usize,
}

impl<V: Value, T: Storage<Computed = V>, O: Offset> Sddmm<'_, V, T, O> {
    /// Writes the values of the nonzeros.
    pub(crate) fn write(&self, values: &mut [V]) {
        let (rows, columns, inner) = self.shape;
        if inner == 0 {
            for value in values {
                *value = self.update(V::ZERO, *value);
            }
            return;
        }
        let a = Lines { lines: ByRows::new(self.rows, rows, inner, values.len()), len: inner };
        let b = Lines { lines: ByRows::new(self.columns, columns, inner, values.len()), len: inner };
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            parallel::parts_mut(values, (TASK / inner).max(1), |range, part| {
                // SAFETY: the machine has the instructions.
                unsafe { self.write_part_avx2(&a, &b, range, part) };
            });
            return;
        }
        parallel::parts_mut(values, (TASK / inner).max(1), |range, part| {
            self.write_part(&a, &b, range, part);
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn write_part_avx2(&self, a: &Lines<'_, T>, b: &Lines<'_, T>, range: Range<usize>, values: &mut [V]) {
        self.write_part(a, b, range, values);
    }

    /// Writes the values of a range of nonzeros.
    // Inlined into the function that enables the instructions, as is everything that it calls.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn write_part(&self, a: &Lines<'_, T>, b: &Lines<'_, T>, range: Range<usize>, values: &mut [V]) {
        let ends = &self.row_offsets[1..];
        let mut row = ends.partition_point(|end| end.to_usize() <= range.start);
        let (mut copied_row, mut copied_column) = (Vec::new(), Vec::new());
        let mut rest = values;
        let mut start = range.start;
        while start < range.end {
            let end = ends[row].to_usize().min(range.end);
            if start < end {
                let own;
                (own, rest) = rest.split_at_mut(end - start);
                let of_a = a.line(row, &mut copied_row);
                for (value, &column) in own.iter_mut().zip(&self.column_indices[start..end]) {
                    let sum = inner_product(of_a, b.line(column as usize, &mut copied_column));
                    *value = self.update(sum, *value);
                }
            }
            start = end;
            row += 1;
        }
    }

    #[inline]
    fn update(&self, sum: V, old: V) -> V {
        let (alpha, beta) = self.factors;
        if beta == V::ZERO { alpha * sum } else { alpha * sum + beta * old }
    }
}

impl<T: Storage> Lines<'_, T> {
    /// Returns a line, or a copy in the given vector.
    #[inline]
    fn line<'s>(&'s self, line: usize, copy: &'s mut Vec<T::Computed>) -> &'s [T::Computed] {
        match &self.lines {
            ByRows::Rows(values, stride) => &values[line * stride..][..self.len],
            ByRows::Strided(Dense { values, strides: (stride, step) }) => {
                copy.clear();
                copy.extend((0..self.len).map(|at| values[line * stride + at * step].widen()));
                copy
            }
        }
    }
}

/// Returns the inner product of two slices of the same length.
#[allow(clippy::inline_always)]
#[inline(always)]
fn inner_product<V: Value>(x: &[V], y: &[V]) -> V {
    let mut sums = [V::ZERO; LANES];
    let (x_chunks, y_chunks) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let (x_rest, y_rest) = (x_chunks.remainder(), y_chunks.remainder());
    for (x, y) in x_chunks.zip(y_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *sum += x * y;
    }
    sum_by_halves(&mut sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_depend_neither_on_threads_nor_on_instructions() {
        let (rows, columns, inner) = (300, 200, 45);
        let number = |at: usize| (at as f32 * 0.618).fract() - 0.5;
        let a: Vec<f32> = (0..rows * inner).map(number).collect();
        let b: Vec<f32> = (0..columns * inner).map(|at| number(at * 3 + 1)).collect();
        let row_offsets: Vec<u32> = (0..=rows as u32).map(|row| row * row / 40).collect();
        let nonzeros = row_offsets[rows] as usize;
        let column_indices: Vec<u32> = (0..nonzeros).map(|at| (at * 7 % columns) as u32).collect();
        let product = Sddmm {
            row_offsets: &row_offsets,
            column_indices: &column_indices,
            shape: (rows, columns, inner),
            rows: Dense { values: &a[..], strides: (inner, 1) },
            columns: Dense { values: &b[..], strides: (inner, 1) },
            factors: (1.5, 0.5),
        };
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let run = |threads| {
            let mut values = vec![0.25; nonzeros];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product.write(&mut values));
            bits(values)
        };
        let alone = run(1);
        assert!([2, 3, 8].iter().all(|&threads| run(threads) == alone));
        let [a, b] = [(product.rows, rows), (product.columns, columns)]
            .map(|(lines, count)| Lines { lines: ByRows::new(lines, count, inner, nonzeros), len: inner });
        let mut values = vec![0.25; nonzeros];
        product.write_part(&a, &b, 0..nonzeros, &mut values);
        assert_eq!(bits(values), alone);
    }
}
