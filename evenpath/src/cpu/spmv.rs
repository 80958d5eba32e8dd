//! `y = alpha A x + beta y` by 2D merge path.

use std::ops::Range;

use rayon::prelude::*;

use super::merge_path::{self, Coordinate};
use crate::{CsrView, Offset, Value};

/// Steps of the merge path that a tile takes: some ten microseconds of work, the same for every matrix
/// and machine, because where rows are cut decides how their sums are rounded.
const TILE: usize = 1 << 14;

/// What a tile adds to the row that it leaves unfinished.
#[derive(Clone, Copy)]
struct Carry<V> {
    row: usize,
    sum: V,
}

/// Tiles that a matrix of this size is cut into.
pub(crate) fn spmv_tiles(rows: usize, nnz: usize) -> usize {
    (rows + nnz).div_ceil(TILE)
}

/// Computes `y = alpha A x + beta y`. Where `beta` is 0, `y` is overwritten whatever it holds.
///
/// `x` has one element a column and `y` one a row.
pub(crate) fn spmv<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, alpha: V, x: &[V], beta: V, y: &mut [V]) {
    assert_eq!((x.len(), y.len()), (matrix.cols(), matrix.rows()), "shapes are checked by the caller");
    let tiles = merge_path::tiles(row_ends(matrix), matrix.nnz(), TILE);

    // Every row ends in exactly one tile, which owns its place in y.
    let mut tasks = Vec::with_capacity(tiles.len());
    let mut rest = &mut *y;
    for tile in tiles {
        let finished;
        (finished, rest) = rest.split_at_mut(tile.end.row - tile.start.row);
        tasks.push((tile, finished));
    }
    let carries: Vec<Carry<V>> = tasks
        .into_par_iter()
        .map(|(tile, finished)| run_tile(matrix, &tile, alpha, x, beta, finished))
        .collect();
    // In the order of the tiles, so that the sums are rounded alike in every run.
    for Carry { row, sum } in carries {
        if let Some(y) = y.get_mut(row) {
            *y += alpha * sum;
        }
    }
}

fn row_ends<V: Value, O: Offset>(matrix: CsrView<'_, V, O>) -> &[O] {
    &matrix.row_offsets()[1..]
}

/// Finishes the rows that end in the tile, and returns what it adds to the next.
fn run_tile<V: Value, O: Offset>(
    matrix: CsrView<'_, V, O>,
    tile: &Range<Coordinate>,
    alpha: V,
    x: &[V],
    beta: V,
    finished: &mut [V],
) -> Carry<V> {
    let (columns, values) = (matrix.column_indices(), matrix.values());
    let sum = |range: Range<usize>| {
        // SAFETY: the columns of a view are below its number of columns, which is the length of x.
        unsafe { dot(&columns[range.clone()], &values[range], x) }
    };
    let mut start = tile.start.nonzero;
    let ends = &row_ends(matrix)[tile.start.row..tile.end.row];
    for (y, end) in finished.iter_mut().zip(ends) {
        let end = end.to_usize();
        let product = alpha * sum(start..end);
        *y = if beta == V::ZERO { product } else { product + beta * *y };
        start = end;
    }
    Carry { row: tile.end.row, sum: sum(start..tile.end.nonzero) }
}

/// The sum of `values[i] * x[columns[i]]`, in four interleaved partial sums.
///
/// # Safety
/// Every column is below the length of `x`.
#[inline]
unsafe fn dot<V: Value>(columns: &[u32], values: &[V], x: &[V]) -> V {
    // SAFETY: the caller's promise.
    let product = |(&column, &value): (&u32, &V)| value * unsafe { *x.get_unchecked(column as usize) };
    let (quads, columns_rest) = columns.as_chunks::<4>();
    let (value_quads, values_rest) = values.as_chunks::<4>();
    let mut sums = [V::ZERO; 4];
    for (columns, values) in quads.iter().zip(value_quads) {
        for (sum, entry) in sums.iter_mut().zip(columns.iter().zip(values)) {
            *sum += product(entry);
        }
    }
    let mut rest = V::ZERO;
    for entry in columns_rest.iter().zip(values_rest) {
        rest += product(entry);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};

    /// Numbers in [-1, 1) that do not repeat soon.
    fn numbers<V: Value>(count: usize) -> Vec<V> {
        (0..count).map(|at| V::from_f64((at as f64 * 0.754_877_666_246_692_7).fract() * 2.0 - 1.0)).collect()
    }

    /// Compares with sums in f64, row by row. The bound is n ε Σ|a||x| of the row, for its n additions
    /// and products, those with alpha and beta y included.
    fn check<V: Value, O: Offset>(a: &Csr<V, O>, alpha: f64, beta: f64, epsilon: f64) {
        let x: Vec<V> = numbers(a.cols());
        let before: Vec<V> = numbers(a.rows() + 7)[7..].to_vec();
        let mut y = before.clone();
        spmv(a.view(), V::from_f64(alpha), &x, V::from_f64(beta), &mut y);
        let mut sums = vec![(0.0, 0.0, 4.0); a.rows()];
        for (row, column, value) in a.iter() {
            let product = alpha * value.to_f64() * x[column].to_f64();
            let (sum, magnitude, count) = &mut sums[row];
            *sum += product;
            *magnitude += product.abs();
            *count += 1.0;
        }
        for (row, (sum, magnitude, count)) in sums.into_iter().enumerate() {
            let old = beta * before[row].to_f64();
            let error = (y[row].to_f64() - (sum + old)).abs();
            let bound = count * epsilon * (magnitude + old.abs());
            assert!(error <= bound, "row {row} of {a:?}: {} instead of {}", y[row], sum + old);
        }
    }

    fn check_all(a: &Csr<f64>) {
        let wide: Csr<f64, u64> = a.clone().try_into_offsets().unwrap();
        let single = a.clone().into_values::<f32>();
        let single_wide: Csr<f32, u64> = single.clone().try_into_offsets().unwrap();
        for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (2.0, -0.25), (0.0, 3.0)] {
            check(a, alpha, beta, f64::EPSILON);
            check(&wide, alpha, beta, f64::EPSILON);
            check(&single, alpha, beta, f64::from(f32::EPSILON));
            check(&single_wide, alpha, beta, f64::from(f32::EPSILON));
        }
    }

    fn with_lengths(lengths: &[usize], cols: usize) -> Csr<f64> {
        let mut row_offsets = vec![0];
        for &length in lengths {
            row_offsets.push(row_offsets.last().unwrap() + length as u32);
        }
        let nnz = row_offsets[lengths.len()] as usize;
        let columns = (0..nnz).map(|at| (at * 7919 % cols.max(1)) as u32).collect();
        Csr::try_new(lengths.len(), cols, row_offsets, columns, numbers(nnz)).unwrap()
    }

    #[test]
    fn every_structure_is_right() {
        for kind in Kind::all() {
            let small = match *kind {
                Kind::Stencil5 { .. } => Kind::Stencil5 { side: 150 },
                Kind::Stencil27 { .. } => Kind::Stencil27 { side: 20 },
                Kind::Fem { .. } => Kind::Fem { rows: 5000 },
                Kind::BlockFem { block, .. } => Kind::BlockFem { nodes: 1500, block },
                Kind::Uniform { .. } => Kind::Uniform { rows: 10_000 },
                Kind::PowerLaw { .. } => Kind::PowerLaw { rows: 20_000 },
                Kind::LinearProgram { .. } => Kind::LinearProgram { rows: 64 },
                Kind::EmptyRows { .. } => Kind::EmptyRows { rows: 60_000 },
                Kind::Rmat { .. } => Kind::Rmat { scale: 13 },
                Kind::Dense { .. } => Kind::Dense { rows: 300, cols: 400 },
                Kind::Diagonal { .. } => Kind::Diagonal { rows: 30_000 },
                like @ Kind::Like { .. } => like,
            };
            check_all(&generate(small, 11).unwrap());
        }
    }

    #[test]
    fn sizes_around_tiles_are_right() {
        check_all(&with_lengths(&[], 0));
        check_all(&with_lengths(&[], 5));
        check_all(&with_lengths(&[0; 9], 0));
        for around in [TILE, 2 * TILE, 5 * TILE] {
            for work in around - 2..=around + 2 {
                // One row; rows of one; all rows empty; a row that ends with the tile.
                check_all(&with_lengths(&[work - 1], 1000));
                check_all(&with_lengths(&vec![1; work / 2], 1000));
                check_all(&with_lengths(&vec![0; work], 3));
                check_all(&with_lengths(&[&[work - 8, 3], &[0; 5][..], &[40]].concat(), 500));
            }
        }
        check_all(&with_lengths(&[&vec![0; TILE][..], &[3 * TILE], &vec![2; TILE]].concat(), 4000));
    }

    #[test]
    fn zero_beta_overwrites_nan() {
        let a = with_lengths(&[2, 0, 40_000, 1], 10);
        let x = vec![1.0; 10];
        let mut y = vec![f64::NAN; 4];
        spmv(a.view(), 1.0, &x, 0.0, &mut y);
        assert!(y.iter().all(|y| y.is_finite()), "{y:?}");
        assert_eq!(y[1].to_bits(), 0);
        let mut y = vec![f64::NAN; 4];
        spmv(a.view(), 1.0, &x, 1.0, &mut y);
        assert!(y.iter().all(|y| y.is_nan()), "{y:?}");
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f32> = generate(Kind::PowerLaw { rows: 50_000 }, 2).unwrap();
        let x: Vec<f32> = numbers(a.cols());
        let run = |threads| {
            let mut y = numbers(a.rows());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| spmv(a.view(), 1.5, &x, 0.5, &mut y));
            y.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let alone = run(1);
        for threads in [2, 3, 8] {
            assert_eq!(run(threads), alone, "{threads} threads");
        }
    }

    proptest! {
        #[test]
        fn any_lengths_are_right(
            lengths in prop::collection::vec(prop_oneof![0..4usize, 0..40usize, 10_000..40_000usize], 0..20),
        ) {
            check_all(&with_lengths(&lengths, 777));
        }
    }
}
