//! Products of all structures, by all kernels and instructions.

use proptest::prelude::*;

use super::super::merge_path::Coordinate;
use super::cut::{CpuTile, SpmvCut, TILE};
use super::even::{EvenRuns, are_single};
use super::groups::{GroupedRows, SpmvGroups};
use super::instructions::SpmvInstructions;
use super::kernel::RowsKernel;
use super::rows::CpuSpmvOperands;
use super::tiles::SpmvTiles;
use crate::generate::{Kind, generate};
use crate::{Csr, CsrView, Offset, Value};

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
    let tiles = SpmvTiles::new(matrix.row_offsets(), matrix.column_indices(), cut, SpmvGroups::Found);
    tiles.multiply(matrix, alpha, x, beta, y);
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
    let x: Vec<V> = numbers(a.ncols());
    let before: Vec<V> = numbers(a.nrows() + 7)[7..].to_vec();
    let mut sums = vec![(0.0, 0.0, 4.0); a.nrows()];
    for (row, column, value) in a.iter() {
        let product = alpha * value.to_f64() * x[column].to_f64();
        let (sum, magnitude, count) = &mut sums[row];
        *sum += product;
        *magnitude += product.abs();
        *count += 1.0;
    }
    let operands = CpuSpmvOperands::new(a.view(), V::from_f64(alpha), &x, V::from_f64(beta));
    for (way, tiles, instructions) in ways(a, cut) {
        let mut y = before.clone();
        tiles.multiply_with(&operands, instructions, &mut y);
        for (row, (sum, magnitude, count)) in sums.iter().enumerate() {
            let old = beta * before[row].to_f64();
            let error = (y[row].to_f64() - (sum + old)).abs();
            let bound = count * epsilon * (magnitude + old.abs());
            let expected = sum + old;
            assert!(error <= bound, "row {row} of {a:?} by {way}: {} instead of {expected}", y[row]);
        }
    }
}

/// The chosen kernels, and each kernel for all tiles, with all instructions of the machine.
fn ways<V: Value, O: Offset>(
    a: &Csr<V, O>,
    cut: SpmvCut,
) -> impl Iterator<Item = (String, SpmvTiles, SpmvInstructions)> {
    type Choose<O> = fn(usize, &[O], &[u32]) -> RowsKernel;
    let kernels: [(&str, Choose<O>); 12] = [
        ("chosen", |start, ends, columns| RowsKernel::choose(start, ends, columns, SpmvGroups::Found)),
        ("chosen with copies", |start, ends, columns| {
            RowsKernel::choose(start, ends, columns, SpmvGroups::Copied)
        }),
        ("rows", |_, _, _| RowsKernel::Rows),
        ("scattered", |_, _, _| RowsKernel::Scattered),
        ("even rows", |start, ends, columns| RowsKernel::EvenRows(even_runs(start, ends, columns))),
        ("scattered even rows", |start, ends, columns| {
            let runs = even_runs(start, ends, columns);
            RowsKernel::EvenRows(EvenRuns { are_scattered: true, ..runs })
        }),
        (
            "single rows",
            |start, ends, _| {
                if are_single(start, ends) { RowsKernel::Singles } else { RowsKernel::Rows }
            },
        ),
        ("short rows", |_, _, _| RowsKernel::ShortRows),
        ("runs", |_, _, _| RowsKernel::Runs),
        ("groups", |start, ends, columns| RowsKernel::Groups(GroupedRows::all(start, ends, columns, false))),
        ("copied groups", |start, ends, columns| {
            RowsKernel::Groups(GroupedRows::all(start, ends, columns, true))
        }),
        ("scattered groups", |start, ends, columns| {
            let groups = GroupedRows::all(start, ends, columns, false);
            RowsKernel::Groups(GroupedRows { are_scattered: true, ..groups })
        }),
    ];
    kernels.into_iter().flat_map(move |(name, kernel)| {
        SpmvInstructions::of_machine(a.ncols()).into_iter().map(move |instructions| {
            let tiles = SpmvTiles::with_kernels(a.row_offsets(), a.column_indices(), cut, kernel);
            (format!("{cut:?}, {name}, {instructions:?}"), tiles, instructions)
        })
    })
}

/// The runs of all rows, even if they do not pay off.
fn even_runs<O: Offset>(start: usize, ends: &[O], columns: &[u32]) -> EvenRuns {
    EvenRuns::with_others(start, ends, columns, usize::MAX).expect("any number of other rows")
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
            Kind::Stencil5 { .. } => Kind::Stencil5 { side: 100 },
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
    for around in [TILE, 3 * TILE] {
        for work in around - 1..=around + 1 {
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
fn rows_in_runs_of_one_length_are_right() {
    // Every length, in runs that end within a vector and with the matrix.
    for rest in 0..9 {
        let lengths: Vec<usize> = (0..19).flat_map(|length| vec![length; 40 + rest]).collect();
        check_all(&with_lengths(&lengths, 300));
        for length in 0..18 {
            check_all(&with_lengths(&vec![length; 16 + rest], 50));
        }
    }
}

#[test]
fn rows_of_at_most_one_nonzero_are_right() {
    for count in [1, 7, 8, 9, 33, 5000] {
        for every in [2, 3, 11] {
            let is_empty = |row: usize| row.wrapping_mul(0x9e37_79b9) >> 7 & 0xff < 256 / every;
            let mut lengths: Vec<usize> = (0..count).map(|row| usize::from(!is_empty(row))).collect();
            check_all(&with_lengths(&lengths, 77));
            // Tiles that begin within a row, at its end, or one nonzero before.
            for long in [2 * TILE, 2 * TILE + 1, 2 * TILE + 2] {
                lengths[0] = long;
                check_all(&with_lengths(&lengths, 77));
            }
        }
    }
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
fn entries_after_a_row_have_no_effect() {
    // Rows of every short length, between entries and elements of x that are not finite.
    let lengths: Vec<usize> = (0..40).flat_map(|length| [1, length, 1]).collect();
    let mut a = with_lengths(&lengths, 50);
    let ends: Vec<usize> = a.row_offsets().iter().map(|&end| end as usize).collect();
    let (mut offsets, mut columns, mut values) =
        (a.row_offsets().to_vec(), a.column_indices().to_vec(), a.values().to_vec());
    for row in (0..lengths.len()).filter(|row| row % 3 != 1) {
        columns[ends[row]] = 50;
        values[ends[row]] = f64::INFINITY;
    }
    for column in &mut columns {
        *column = (*column).min(50);
    }
    a = Csr::try_new(lengths.len(), 51, std::mem::take(&mut offsets), columns, values).unwrap();
    let mut x = vec![1.0; 51];
    x[50] = f64::NAN;
    let operands = CpuSpmvOperands::new(a.view(), 1.0, &x, 0.0);
    for (way, tiles, instructions) in ways(&a, SpmvCut::Rows) {
        let mut y = vec![f64::NAN; a.nrows()];
        tiles.multiply_with(&operands, instructions, &mut y);
        for (row, y) in y.iter().enumerate() {
            assert_eq!(y.is_finite(), row % 3 == 1, "row {row}, {way}: {y}");
        }
    }
}

#[test]
fn entries_after_empty_rows_have_no_effect() {
    let lengths: Vec<usize> = (0..100).map(|row| usize::from(row % 3 == 1 || row % 7 == 2)).collect();
    let mut a = with_lengths(&lengths, 50);
    a.values_mut().fill(f64::INFINITY);
    let x = vec![f64::NAN; 50];
    let operands = CpuSpmvOperands::new(a.view(), 1.0, &x, 0.0);
    for (way, tiles, instructions) in ways(&a, SpmvCut::Rows) {
        let mut y = vec![f64::NAN; a.nrows()];
        tiles.multiply_with(&operands, instructions, &mut y);
        for (row, (y, length)) in y.iter().zip(&lengths).enumerate() {
            assert_eq!(*y == 0.0, *length == 0, "row {row}, {way}: {y}");
        }
    }
}

#[test]
fn entries_after_equal_rows_have_no_effect() {
    // Three rows of every length with the same columns, between rows and elements of x that are not finite.
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for length in (0..40).chain([600]) {
        for row in 0..4 {
            let is_finite = row < 3;
            columns.extend((0..length).map(|at| if is_finite { at * 7919 % 50 } else { 50 }));
            values.extend((0..length).map(|_| if is_finite { 1.0 } else { f64::INFINITY }));
            offsets.push(columns.len() as u32);
        }
    }
    let a = Csr::try_new(offsets.len() - 1, 51, offsets, columns, values).unwrap();
    let mut x = vec![1.0; 51];
    x[50] = f64::NAN;
    let operands = CpuSpmvOperands::new(a.view(), 1.0, &x, 0.0);
    for (way, tiles, instructions) in ways(&a, SpmvCut::Rows) {
        let mut y = vec![f64::NAN; a.nrows()];
        tiles.multiply_with(&operands, instructions, &mut y);
        for (row, y) in y.iter().enumerate().filter(|(row, _)| row % 4 < 3) {
            let expected = a.row(row).map_or(0.0, |row| row.len() as f64);
            assert!((y - expected).abs() < 0.5, "row {row}, {way}: {y}");
        }
    }
}

#[test]
fn infinities_and_nan_propagate() {
    for length in [1, 3, 4, 7, 16, 35] {
        for at in 0..length {
            let mut a = with_lengths(&[length; 5], 100);
            a.values_mut()[2 * length + at] = f64::INFINITY;
            let x = vec![1.0; 100];
            let operands = CpuSpmvOperands::new(a.view(), 1.0, &x, 0.0);
            for (way, tiles, instructions) in ways(&a, SpmvCut::MergePath) {
                let mut y = vec![0.0; 5];
                tiles.multiply_with(&operands, instructions, &mut y);
                let infinite: Vec<bool> = y.iter().map(|y| *y == f64::INFINITY).collect();
                assert_eq!(infinite, [false, false, true, false, false], "{length}, {at}, {way}");
            }
        }
    }
}

#[test]
fn unsorted_and_repeated_columns_are_right() {
    // The first and the last column of a group are as far apart as those of a run.
    let columns: Vec<u32> = (0..6400).map(|at| [4, 9, 5, 5, 8, 6, 9, 11][at as usize % 8]).collect();
    let offsets = (0..=100).map(|row| row * 64).collect();
    check_all(&Csr::try_new(100, 12, offsets, columns, numbers(6400)).unwrap());
    let all_equal = (0..=100).map(|row| row * 64).collect();
    check_all(&Csr::try_new(100, 12, all_equal, vec![11; 6400], numbers(6400)).unwrap());
}

#[test]
fn results_do_not_depend_on_threads() {
    let a: Csr<f32> = generate(Kind::PowerLaw { rows: 50_000 }, 2).unwrap();
    let x: Vec<f32> = numbers(a.ncols());
    let run = |cut, threads| {
        let mut y = numbers(a.nrows());
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
    let SpmvTiles { tiles } =
        SpmvTiles::new(a.row_offsets(), a.column_indices(), SpmvCut::Rows, SpmvGroups::Ignored);
    let mut at = Coordinate { row: 0, nonzero: 0 };
    for CpuTile { path, .. } in &tiles {
        assert_eq!(path.start, at);
        assert!(path.end.row > at.row);
        at = path.end;
    }
    assert_eq!(at, Coordinate { row: a.nrows(), nonzero: a.nnz() });
}

#[test]
fn rows_are_cut_if_one_would_delay_the_others() {
    let choose = |lengths: &[usize]| SpmvCut::choose(with_lengths(lengths, 10).row_offsets());
    assert_eq!(choose(&[]), (SpmvCut::Rows, 0));
    assert_eq!(choose(&[TILE]), (SpmvCut::Rows, TILE));
    assert_eq!(choose(&[3, TILE + 1]), (SpmvCut::MergePath, TILE + 1));
    assert_eq!(choose(&[&[TILE + 1][..], &[TILE; 70]].concat()), (SpmvCut::Rows, TILE + 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_lengths_are_right(
        lengths in prop::collection::vec(prop_oneof![0..4usize, 0..40usize, TILE / 2..3 * TILE], 0..20),
    ) {
        check_all(&with_lengths(&lengths, 777));
    }
}
