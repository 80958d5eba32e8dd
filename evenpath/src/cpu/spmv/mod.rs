//! `y = alpha A x + beta y` in tiles of equal work.

mod dot;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use rayon::prelude::*;

use super::merge_path::{self, Coordinate};
use crate::matrix::grain;
use crate::{CsrView, Offset, Value};
use dot::Instructions;

/// Steps of the merge path, row ends and nonzeros, per tile: about ten microseconds of work. The same for every matrix
/// and machine, because the positions of cuts determine how sums are rounded.
const TILE: usize = grain(1 << 14);

/// Rows are left whole up to this fraction (1 / 64) of all work, which bounds the time that other threads wait for one
/// row.
const LONG_ROW_PART: usize = 64;

/// Where tiles may start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpmvCut {
    /// Between rows: the row-parallel SpMV of Pasandide's study (section C), with equal work per share instead of equal
    /// numbers of rows.
    Rows,
    /// Anywhere on the merge path: merge-based `CsrMV` (Merrill and Garland, SC '16).
    MergePath,
}

/// The tiles of a matrix.
pub(crate) struct SpmvTiles {
    tiles: Vec<Range<Coordinate>>,
}

/// The partial sum that a tile contributes to its unfinished last row.
#[derive(Clone, Copy)]
struct Carry<V> {
    row: usize,
    sum: V,
}

impl SpmvCut {
    /// The best cut for a matrix, and the length of its longest row. The merge path is chosen only if a long row would
    /// keep one thread busy after the others have finished. Otherwise whole rows are balanced too, and need no partial
    /// sums.
    pub(crate) fn choose<O: Offset>(row_offsets: &[O]) -> (Self, usize) {
        let length = |pair: &[O]| pair[1].to_usize() - pair[0].to_usize();
        let longest = row_offsets.par_windows(2).with_min_len(TILE).map(length).max().unwrap_or(0);
        let rows = row_offsets.len() - 1;
        let work = rows + row_offsets[rows].to_usize();
        let cut = if longest > TILE.max(work / LONG_ROW_PART) { Self::MergePath } else { Self::Rows };
        (cut, longest)
    }
}

impl SpmvTiles {
    /// Splits a matrix into tiles.
    pub(crate) fn new<O: Offset>(row_offsets: &[O], cut: SpmvCut) -> Self {
        let nnz = row_offsets[row_offsets.len() - 1].to_usize();
        let mut tiles = merge_path::tiles(&row_offsets[1..], nnz, TILE);
        if cut == SpmvCut::Rows {
            let round = |at: Coordinate| Coordinate { nonzero: row_offsets[at.row].to_usize(), ..at };
            for tile in &mut tiles {
                *tile = round(tile.start)..round(tile.end);
            }
            tiles.retain(|tile| tile.start.row < tile.end.row);
        }
        Self { tiles }
    }

    /// The number of tiles.
    pub(crate) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// Bytes of the tiles.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.tiles.as_slice())
    }

    /// Computes `y = alpha A x + beta y` for the matrix that the tiles were made for. If `beta` is 0, `y` is overwritten
    /// without being read. `x` has one element per column and `y` one per row.
    pub(crate) fn multiply<V: Value, O: Offset>(
        &self,
        matrix: CsrView<'_, V, O>,
        alpha: V,
        x: &[V],
        beta: V,
        y: &mut [V],
    ) {
        assert_eq!((x.len(), y.len()), (matrix.cols(), matrix.rows()), "shapes are checked by the caller");
        let operands = Operands { matrix, alpha, x, beta, instructions: Instructions::fastest(x.len()) };

        // Every row ends in exactly one tile, which owns its element of y.
        let mut tasks = Vec::with_capacity(self.tiles.len());
        let mut rest = &mut *y;
        for tile in &self.tiles {
            let finished;
            (finished, rest) = rest.split_at_mut(tile.end.row - tile.start.row);
            tasks.push((tile, finished));
        }
        let carries: Vec<Option<Carry<V>>> = match tasks.len() {
            // Too little work to wake other threads.
            0 | 1 => tasks.into_iter().map(|(tile, finished)| operands.run_tile(tile, finished)).collect(),
            _ => tasks.into_par_iter().map(|(tile, finished)| operands.run_tile(tile, finished)).collect(),
        };
        // In the order of the tiles, so that rounding is the same in every run.
        for Carry { row, sum } in carries.into_iter().flatten() {
            if let Some(y) = y.get_mut(row) {
                *y += alpha * sum;
            }
        }
    }
}

/// The operands that all tiles share.
struct Operands<'a, V, O> {
    matrix: CsrView<'a, V, O>,
    alpha: V,
    x: &'a [V],
    beta: V,
    instructions: Instructions,
}

impl<V: Value, O: Offset> Operands<'_, V, O> {
    /// Computes the rows that end in the tile, and returns its partial sum of the row after them.
    fn run_tile(&self, tile: &Range<Coordinate>, finished: &mut [V]) -> Option<Carry<V>> {
        match self.instructions {
            Instructions::Portable => self.run_tile_with(tile, finished, |columns, values| {
                // SAFETY: the columns of a view are below its number of columns, which is the length of x.
                unsafe { dot::portable(columns, values, self.x) }
            }),
            // SAFETY: the instructions were chosen such that the machine has them and x is no longer than `i32::MAX`.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { self.run_tile_avx2(tile, finished) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { self.run_tile_avx512(tile, finished) },
        }
    }

    /// # Safety
    /// The machine has AVX2 and FMA, and x is no longer than `i32::MAX`.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_tile_avx2(&self, tile: &Range<Coordinate>, finished: &mut [V]) -> Option<Carry<V>> {
        self.run_tile_with(tile, finished, |columns, values| {
            // SAFETY: guaranteed by the caller; a view has one value per column index, and all column indices are below
            // the length of x.
            unsafe { x86::avx2(columns, values, self.x) }
        })
    }

    /// # Safety
    /// The machine has AVX-512 F and VL, and x is no longer than `i32::MAX`.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn run_tile_avx512(&self, tile: &Range<Coordinate>, finished: &mut [V]) -> Option<Carry<V>> {
        self.run_tile_with(tile, finished, |columns, values| {
            // SAFETY: as above.
            unsafe { x86::avx512(columns, values, self.x) }
        })
    }

    // Inlined into the function that enables the instructions, so that `dot` is compiled with them.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn run_tile_with(
        &self,
        tile: &Range<Coordinate>,
        finished: &mut [V],
        dot: impl Fn(&[u32], &[V]) -> V,
    ) -> Option<Carry<V>> {
        let &Self { matrix, alpha, beta, .. } = self;
        let (columns, values) = (matrix.column_indices(), matrix.values());
        let sum = |range: Range<usize>| dot(&columns[range.clone()], &values[range]);
        let mut start = tile.start.nonzero;
        let ends = &matrix.row_offsets()[1..][tile.start.row..tile.end.row];
        for (y, end) in finished.iter_mut().zip(ends) {
            let end = end.to_usize();
            let product = alpha * sum(start..end);
            *y = if beta == V::ZERO { product } else { product + beta * *y };
            start = end;
        }
        let rest = start..tile.end.nonzero;
        (!rest.is_empty()).then(|| Carry { row: tile.end.row, sum: sum(rest) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};

    /// Numbers in [-1, 1) with a long period.
    fn numbers<V: Value>(count: usize) -> Vec<V> {
        (0..count).map(|at| V::from_f64((at as f64 * 0.754_877_666_246_692_7).fract() * 2.0 - 1.0)).collect()
    }

    fn spmv<V: Value, O: Offset>(
        matrix: CsrView<'_, V, O>,
        cut: SpmvCut,
        alpha: V,
        x: &[V],
        beta: V,
        y: &mut [V],
    ) {
        SpmvTiles::new(matrix.row_offsets(), cut).multiply(matrix, alpha, x, beta, y);
    }

    const CUTS: [SpmvCut; 2] = [SpmvCut::Rows, SpmvCut::MergePath];

    /// Compares with sums in f64, row by row. The error bound of a row is n ε Σ|a||x|, where n counts its additions and
    /// products, including those with alpha and beta y.
    fn check<V: Value, O: Offset>(a: &Csr<V, O>, alpha: f64, beta: f64, epsilon: f64) {
        for cut in CUTS {
            check_cut(a, cut, alpha, beta, epsilon);
        }
    }

    fn check_cut<V: Value, O: Offset>(a: &Csr<V, O>, cut: SpmvCut, alpha: f64, beta: f64, epsilon: f64) {
        let x: Vec<V> = numbers(a.cols());
        let before: Vec<V> = numbers(a.rows() + 7)[7..].to_vec();
        let mut y = before.clone();
        spmv(a.view(), cut, V::from_f64(alpha), &x, V::from_f64(beta), &mut y);
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
            assert!(error <= bound, "row {row} of {a:?} by {cut:?}: {} instead of {}", y[row], sum + old);
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
                // One row; rows of one nonzero; all rows empty; a row that ends at the end of a tile.
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
        let a = with_lengths(&[2, 0, 3 * TILE, 1], 10);
        let x = vec![1.0; 10];
        for cut in CUTS {
            let mut y = vec![f64::NAN; 4];
            spmv(a.view(), cut, 1.0, &x, 0.0, &mut y);
            assert!(y.iter().all(|y| y.is_finite()), "{y:?}");
            assert_eq!(y[1].to_bits(), 0);
            let mut y = vec![f64::NAN; 4];
            spmv(a.view(), cut, 1.0, &x, 1.0, &mut y);
            assert!(y.iter().all(|y| y.is_nan()), "{y:?}");
        }
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f32> = generate(Kind::PowerLaw { rows: 50_000 }, 2).unwrap();
        let x: Vec<f32> = numbers(a.cols());
        let run = |cut, threads| {
            let mut y = numbers(a.rows());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| spmv(a.view(), cut, 1.5, &x, 0.5, &mut y));
            y.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        for cut in CUTS {
            let alone = run(cut, 1);
            for threads in [2, 3, 8] {
                assert_eq!(run(cut, threads), alone, "{threads} threads, {cut:?}");
            }
        }
    }

    #[test]
    fn tiles_between_rows_cover_them_once() {
        let a = with_lengths(&[&vec![0; 70_000][..], &[3 * TILE, 0, 2], &vec![7; 40_000]].concat(), 100);
        let SpmvTiles { tiles } = SpmvTiles::new(a.row_offsets(), SpmvCut::Rows);
        let mut at = Coordinate { row: 0, nonzero: 0 };
        for tile in &tiles {
            assert_eq!(tile.start, at);
            assert!(tile.end.row > at.row);
            at = tile.end;
        }
        assert_eq!(at, Coordinate { row: a.rows(), nonzero: a.nnz() });
    }

    #[test]
    fn rows_are_cut_where_one_would_hold_up_the_others() {
        let choose = |lengths: &[usize]| SpmvCut::choose(with_lengths(lengths, 10).row_offsets());
        assert_eq!(choose(&[]), (SpmvCut::Rows, 0));
        assert_eq!(choose(&[TILE]), (SpmvCut::Rows, TILE));
        assert_eq!(choose(&[3, TILE + 1]), (SpmvCut::MergePath, TILE + 1));
        assert_eq!(choose(&[&[TILE + 1][..], &[TILE; 70]].concat()), (SpmvCut::Rows, TILE + 1));
    }

    proptest! {
        #[test]
        fn any_lengths_are_right(
            lengths in prop::collection::vec(prop_oneof![0..4usize, 0..40usize, TILE / 2..3 * TILE], 0..20),
        ) {
            check_all(&with_lengths(&lengths, 777));
        }
    }
}
