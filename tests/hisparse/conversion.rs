//! HiSparse, compared with the matrix that it was built from.

use std::collections::BTreeMap;

use evenpath::coo::Duplicates;
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{self, NodeKind};
use evenpath::{Csr, HiSparse, Value};
use evenpath_tests::{Entries, scattered_squares, spmm, spmv, vector};
use proptest::prelude::*;

fn convert<V: Value, const D: usize>(a: &Csr<V>) -> HiSparse<V, D> {
    a.to_hisparse(hisparse::Options::default()).expect("a small matrix")
}

fn sums(entries: impl IntoIterator<Item = (usize, usize, f64)>) -> BTreeMap<(usize, usize), f64> {
    let mut sums = BTreeMap::new();
    for (row, col, value) in entries {
        *sums.entry((row, col)).or_insert(0.0) += value;
    }
    sums
}

/// Compares all accessors and operations of a matrix with its entries and its CSR form. All numbers are small
/// integers, whose sums are exact.
fn check<const D: usize>(
    matrix: &HiSparse<f64, D>,
    rows: usize,
    cols: usize,
    expected: &BTreeMap<(usize, usize), f64>,
) {
    assert_eq!((matrix.nrows(), matrix.ncols(), matrix.nnz()), (rows, cols, expected.len()));
    assert_eq!(matrix.iter().count(), expected.len(), "every entry once");
    assert_eq!(&sums(matrix), expected);
    let csr: Csr<f64> = matrix.to_csr().unwrap();
    assert!(csr.is_canonical());
    assert_eq!(&sums(csr.iter()), expected);
    assert_eq!(matrix.to_coo().unwrap().nnz(), expected.len());
    for (&(row, col), &value) in expected.iter().step_by(expected.len() / 300 + 1) {
        assert_eq!(matrix.get(row, col), Some(value));
        let neighbor = (row, col + 1);
        assert_eq!(matrix.get(neighbor.0, neighbor.1), expected.get(&neighbor).copied());
    }
    assert_eq!((matrix.get(rows, 0), matrix.get(0, cols)), (None, None));

    // Integers of at most 10 bits: products and sums are exact, and any difference is an error.
    let x: Vec<f64> = (0..cols).map(|i| (i % 13) as f64 - 6.0).collect();
    let y: Vec<f64> = (0..rows).map(|i| (i % 5) as f64).collect();
    let mut result = y.clone();
    matrix.spmv(2.0, &x, -1.0, &mut result).unwrap();
    let mut product: Vec<f64> = y.iter().map(|y| -y).collect();
    for (&(row, col), value) in expected {
        product[row] += 2.0 * value * x[col];
    }
    assert_eq!(result, product);

    let leaves: Vec<_> = matrix.nodes().filter(|node| node.level + 1 == matrix.depth()).collect();
    for leaf in leaves.iter().take(20) {
        let inside = |&&(row, col): &&(usize, usize)| leaf.rows.contains(&row) && leaf.cols.contains(&col);
        assert_eq!(expected.keys().filter(inside).count(), leaf.entries);
    }
    let statistics = matrix.statistics();
    assert_eq!(statistics.nnz, expected.len() as u64);
    assert_eq!(leaves.len() as u64, statistics.levels.last().map_or(0, |level| level.all().nodes));
    assert_eq!(leaves.iter().map(|leaf| leaf.entries).sum::<usize>(), expected.len());
    let again = HiSparse::<f64, D>::try_from_pool(
        if matrix.is_transposed() { cols } else { rows },
        if matrix.is_transposed() { rows } else { cols },
        matrix.pool(),
        matrix.root_reference(),
    );
    assert_eq!(again.unwrap().nnz(), expected.len());
}

fn check_all_ways<const D: usize>(rows: usize, cols: usize, entries: &Entries) {
    let a: Csr<f64> = Csr::from_triplets(rows, cols, entries.iter().copied()).unwrap();
    let expected = sums(entries.iter().copied());
    let plain = convert::<_, D>(&a);
    let shared = a.to_hisparse::<D>(share()).unwrap();
    assert!(shared.pool().len() <= plain.pool().len());
    assert_eq!(shared.pool().len() as u64 + shared.statistics().saved_bytes, plain.pool().len() as u64);
    let transposed = expected.iter().map(|(&(row, col), &value)| ((col, row), -3.0 * value)).collect();
    for matrix in [plain, shared] {
        check(&matrix, rows, cols, &expected);
        check(&matrix.transpose().scaled(3.0).transpose().scaled(-1.0).transpose(), cols, rows, &transposed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn trees_equal_the_matrices_they_were_made_from((rows, cols, entries) in scattered_squares(1000..70_000, 60..100)) {
        check_all_ways::<32>(rows, cols, &entries);
        check_all_ways::<64>(rows, cols, &entries);
        check_all_ways::<128>(rows, cols, &entries);
        check_all_ways::<256>(rows, cols, &entries);
    }

    #[test]
    fn sums_equal_those_of_the_entries(
        (rows, cols, mut a) in scattered_squares(1000..70_000, 60..100),
        pieces in prop::collection::vec((0.0..1.0, 0.0..1.0, 1..50_usize), 0..8),
        keep in 1..4_usize,
    ) {
        // Some entries of A, and some others.
        let mut b: Entries = a.iter().step_by(keep).map(|&(row, col, _)| (row, col, 2.0)).collect();
        for (row, col, side) in pieces {
            let (first_row, first_col) = ((row * rows as f64) as usize, (col * cols as f64) as usize);
            for row in first_row..rows.min(first_row + side) {
                b.extend((first_col..cols.min(first_col + side)).map(|col| (row, col, 5.0)));
            }
        }
        check_sums::<32>(rows, cols, &a, &b);
        a.reverse();
        check_sums::<128>(rows, cols, &b, &a);
    }
}

/// A and B as stored, or stored transposed and transposed back, scaled or not; and A + Aᵀ if A is square.
fn check_sums<const D: usize>(rows: usize, cols: usize, a: &Entries, b: &Entries) {
    let stored = |entries: &Entries, is_transposed: bool, factor: f64| -> HiSparse<f64, D> {
        let turned = |&(row, col, value): &(usize, usize, f64)| {
            if is_transposed { (col, row, value) } else { (row, col, value) }
        };
        let (rows, cols) = if is_transposed { (cols, rows) } else { (rows, cols) };
        let csr: Csr<f64> = Csr::from_triplets(rows, cols, entries.iter().map(turned)).unwrap();
        let matrix = convert::<_, D>(&csr).scaled(factor);
        if is_transposed { matrix.transpose() } else { matrix }
    };
    let times = |entries: &Entries, factor: f64| -> Entries {
        entries.iter().map(|&(row, col, value)| (row, col, factor * value)).collect()
    };
    for (a_transposed, b_transposed) in [(false, false), (false, true), (true, false), (true, true)] {
        for (a_factor, b_factor) in [(1.0, 1.0), (2.0, -1.0)] {
            let sum = stored(a, a_transposed, a_factor).spadd(&stored(b, b_transposed, b_factor)).unwrap();
            let expected = sums(times(a, a_factor).into_iter().chain(times(b, b_factor)));
            check(&sum, rows, cols, &expected);
            if !sum.is_transposed() && (a_factor, b_factor) == (1.0, 1.0) {
                // The bytes do not depend on how the sum was computed. (With factors, zeros could differ in sign.)
                let csr: Csr<f64> =
                    Csr::from_triplets(rows, cols, times(a, a_factor).into_iter().chain(times(b, b_factor)))
                        .unwrap();
                assert_eq!(
                    (sum.pool(), sum.root_reference()),
                    (convert::<_, D>(&csr).pool(), convert::<_, D>(&csr).root_reference())
                );
            }
        }
    }
    if rows == cols {
        let a_matrix = stored(a, false, 1.0);
        let sum = a_matrix.spadd(&a_matrix.transpose()).unwrap();
        check(
            &sum,
            rows,
            cols,
            &sums(a.iter().flat_map(|&(row, col, value)| [(row, col, value), (col, row, value)])),
        );
    }
}

/// The pool of a matrix with one entry, by the definition of the format: a unit of zeros, then for every level a node with
/// a count of 1, the digits of column and row, two bytes of padding, and a reference to the next unit or the value.
fn chain<const D: usize>(depth: usize, row: usize, col: usize, value: f32) -> Vec<u8> {
    let mut pool = vec![0; 16];
    for level in 0..depth {
        let span = D.pow((depth - 1 - level) as u32);
        let is_leaf = level + 1 == depth;
        let slot = if is_leaf { value.to_bits() } else { (level as u32 + 2) << 2 | NodeKind::Coo1 as u32 };
        pool.extend([1, 0, 0, 0, (col / span % D) as u8, (row / span % D) as u8, 0, 0]);
        pool.extend(slot.to_le_bytes());
        pool.extend([0; 4]);
    }
    pool
}

#[test]
fn single_entries_at_every_corner() {
    fn corners<const D: usize>() {
        for span in [1, D - 1, D, D * D, D * D + 1, D * D * D - 1, evenpath::csr::MAX_DIMENSION] {
            let middle = (span / 2, span / 3);
            for (row, col) in [(0, 0), (0, span - 1), (span - 1, 0), (span - 1, span - 1), middle] {
                let depth = HiSparse::<f32, D>::try_from_pool(span, span, &[0; 16], 0).unwrap().depth();
                let pool = chain::<D>(depth, row, col, 2.5);
                let matrix =
                    HiSparse::<f32, D>::try_from_pool(span, span, &pool, 4 | NodeKind::Coo1 as u32).unwrap();
                assert_eq!(matrix.iter().collect::<Vec<_>>(), [(row, col, 2.5)]);
                assert_eq!(matrix.transpose().iter().collect::<Vec<_>>(), [(col, row, 2.5)]);
                assert_eq!(matrix.get(row, col), Some(2.5));
                assert_eq!(matrix.get(col, row).is_some(), row == col);
                let levels: Vec<usize> = matrix.nodes().map(|node| node.level).collect();
                assert!(levels.into_iter().eq(0..depth));
                let sum = matrix.spadd(&matrix.transpose()).unwrap();
                assert_eq!(sum.nnz(), if row == col { 1 } else { 2 });
                if span < 1 << 20 {
                    let coo = evenpath::Coo::from_triplets(span, span, [(row, col, 2.5_f32)]).unwrap();
                    let converted: HiSparse<f32, D> = coo.to_hisparse(hisparse::Options::default()).unwrap();
                    assert_eq!(
                        (converted.pool(), converted.root_reference()),
                        (&pool[..], matrix.root_reference())
                    );
                }
            }
        }
    }
    corners::<32>();
    corners::<64>();
    corners::<128>();
    corners::<256>();
}

#[test]
fn depth_is_the_fewest_levels() {
    fn depth<const D: usize>(rows: usize, cols: usize) -> usize {
        HiSparse::<f64, D>::try_from_pool(rows, cols, &[0; 16], 0).unwrap().depth()
    }
    assert_eq!([depth::<32>(0, 0), depth::<32>(32, 1), depth::<32>(1, 33)], [1, 1, 2]);
    assert_eq!([depth::<128>(1 << 14, 5), depth::<128>(5, (1 << 14) + 1)], [2, 3]);
    let most = evenpath::csr::MAX_DIMENSION;
    assert_eq!(
        [depth::<32>(most, 1), depth::<64>(1, most), depth::<128>(most, most), depth::<256>(most, 0)],
        [7, 6, 5, 4]
    );
}

#[test]
fn full_matrices_are_dense_except_at_edges() {
    fn full<const D: usize>() {
        for side in [D - 1, D, D + 1] {
            let entries: Entries =
                (0..side * side).map(|at| (at / side, at % side, (at % 5) as f64)).collect();
            let csr: Csr<f64> = Csr::from_triplets(side, side, entries.iter().copied()).unwrap();
            let matrix = convert::<_, D>(&csr);
            let leaves = matrix.statistics().levels.pop().unwrap();
            assert_eq!(leaves.kind(NodeKind::Dense).nodes, 1, "{side}");
            assert_eq!(leaves.all().nodes, if side > D { 4 } else { 1 });
            check(&matrix, side, side, &sums(entries));
        }
    }
    full::<32>();
    full::<64>();
    full::<128>();
    full::<256>();
}

/// One entry in nearly every leaf, so that the root is dense. A matrix with a sparse root, and one with a dense root, are
/// added to it.
#[test]
fn inner_nodes_are_dense_if_that_is_smaller() {
    let (side, places) = (1024, 1024);
    let every = |step: usize, value: f64| -> Entries {
        let place = |at: usize| (at / 32 * 32 + at % 7, at % 32 * 32 + at % 5, value + (at % 3) as f64);
        (0..places).step_by(step).map(place).collect()
    };
    let csr: Csr<f64> = Csr::from_triplets(side, side, every(1, 1.0)).unwrap();
    assert_eq!(convert::<_, 32>(&csr).nodes().next().unwrap().kind, NodeKind::Dense);
    check_all_ways::<32>(side, side, &every(1, 1.0));
    check_sums::<32>(side, side, &every(1, 1.0), &every(5, -1.0));
    check_sums::<32>(side, side, &every(3, 1.0), &every(1, 2.0));
    check_sums::<32>(side, side, &every(1, -2.0), &every(1, 2.0));
}

/// A node is dense from the first entry count for which that is smaller.
#[test]
fn nodes_are_dense_if_that_is_smaller() {
    // f64, D = 32: 8192 bytes dense; 4 + 2n, in 16s, and 8n, in 16s, bytes sparse.
    for (count, kind) in [
        (1, NodeKind::Coo1),
        (2, NodeKind::Coo2),
        (3, NodeKind::Coo4),
        (818, NodeKind::Coo4),
        (819, NodeKind::Dense),
    ] {
        let csr: Csr<f64> = Csr::from_triplets(32, 32, (0..count).map(|at| (at / 32, at % 32, 1.0))).unwrap();
        let matrix = convert::<_, 32>(&csr);
        assert_eq!(matrix.nodes().next().unwrap().kind, kind, "{count}");
        let sparse = (4 + 2 * count).next_multiple_of(16) + 8 * count;
        let expected = match count {
            1 => 16,
            2 => 32,
            _ => sparse.next_multiple_of(16).min(8192),
        };
        assert_eq!(matrix.pool().len(), 16 + expected, "{count}");
    }
}

#[test]
fn products_of_arbitrary_numbers() {
    fn products<V: Value, const D: usize>(kind: Kind) {
        let csr: Csr<V> = generate(kind, 3).unwrap();
        let matrix = convert::<_, D>(&csr);
        let scaled = V::from_f64(1.5);
        let by_hand = Csr::from_triplets(
            csr.ncols(),
            csr.nrows(),
            csr.iter().map(|(row, col, value)| (col, row, value * scaled)),
        )
        .unwrap();
        for (csr, matrix) in [(&csr, matrix.clone()), (&by_hand, matrix.transpose().scaled(scaled))] {
            let x: Vec<V> = vector(csr.ncols());
            for beta in [V::ZERO, V::from_f64(0.5)] {
                let mut y: Vec<V> = vector(csr.nrows());
                if beta == V::ZERO {
                    y.fill(V::from_f64(f64::NAN));
                }
                let alpha = V::from_f64(-1.25);
                let expected = spmv(csr, alpha, &x, beta, &y);
                matrix.spmv(alpha, &x, beta, &mut y).unwrap();
                expected.check(&y).unwrap();
            }
            for columns in [0, 1, 3, 8, 19] {
                let b: Vec<V> = vector(csr.ncols() * columns);
                let old: Vec<V> = vector(csr.nrows() * columns);
                let mut c = old.clone();
                matrix.spmm(columns, V::ONE, &b, scaled, &mut c).unwrap();
                for column in 0..columns {
                    let of =
                        |all: &[V]| all.iter().skip(column).step_by(columns).copied().collect::<Vec<V>>();
                    spmm(csr, 1.0, &of(&b), 1.5, &of(&old)).check(&of(&c)).unwrap();
                }
            }
        }
    }
    for kind in
        [Kind::PowerLaw { rows: 3000 }, Kind::Stencil5 { side: 50 }, Kind::Dense { rows: 150, cols: 270 }]
    {
        products::<f32, 32>(kind);
        products::<f64, 128>(kind);
    }
    products::<f64, 256>(Kind::Rmat { scale: 11 });
    products::<f32, 64>(Kind::EmptyRows { rows: 5000 });
}

/// Entries that are not stored are not multiplied, in dense leaves either: infinities in x propagate only through stored
/// entries.
#[test]
fn absent_entries_of_dense_leaves_are_not_multiplied() {
    let all = (0..32 * 32).filter(|at| at % 32 != 5).map(|at| (at / 32, at % 32, 1.0));
    let csr: Csr<f64> = Csr::from_triplets(32, 32, all).unwrap();
    let matrix = convert::<_, 32>(&csr);
    assert_eq!(matrix.nodes().next().unwrap().kind, NodeKind::Dense);
    let mut x = [1.0; 32];
    x[5] = f64::INFINITY;
    let mut y = [f64::NAN; 32];
    matrix.spmv(1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!(y.map(f64::to_bits), [31.0_f64.to_bits(); 32]);
}

#[test]
fn equal_subtrees_are_stored_once() {
    // The identity: all leaves are equal, and so are all nodes of each level.
    let rows = 1 << 14;
    let csr: Csr<f32> = Csr::from_triplets(rows, rows, (0..rows).map(|i| (i, i, 1.0))).unwrap();
    let matrix: HiSparse<f32, 32> = csr.to_hisparse(share()).unwrap();
    let plain = convert::<_, 32>(&csr);
    assert_eq!(matrix.statistics().levels, plain.statistics().levels);
    // One leaf and one inner node with 32 entries each, and a root with 16 references to the latter.
    assert_eq!(matrix.pool().len(), 16 + (48 + 64) + 2 * (80 + 128));
    assert_eq!(matrix.to_csr().unwrap(), csr);
    let sum = matrix.spadd(&matrix.transpose().scaled(2.0)).unwrap();
    assert_eq!(sum.to_csr().unwrap(), convert::<_, 32>(&csr).scaled(3.0).to_csr().unwrap());
}

#[test]
fn wrong_shapes_are_refused() {
    let a: Csr<f64> = Csr::from_triplets(3, 2, [(0, 1, 1.0)]).unwrap();
    let matrix = convert::<_, 128>(&a);
    let mut y = [7.0; 3];
    assert!(matches!(
        matrix.spmv(1.0, &[1.0; 3], 0.0, &mut y),
        Err(OpError::Length { operand: "x", len: 3, needed: 2 })
    ));
    assert!(matches!(
        matrix.spmv(1.0, &[1.0; 2], 0.0, &mut y[..2]),
        Err(OpError::Length { operand: "y", .. })
    ));
    assert!(matches!(
        matrix.spmm(2, 1.0, &[1.0; 4], 0.0, &mut y),
        Err(OpError::Length { operand: "C", len: 3, needed: 6 })
    ));
    assert!(matches!(
        matrix.spmm(usize::MAX, 1.0, &[1.0; 4], 0.0, &mut y),
        Err(OpError::Length { operand: "B", .. })
    ));
    assert_eq!(y.map(f64::to_bits), [7.0_f64.to_bits(); 3]);
    let refused = matrix.spadd(&matrix.transpose()).unwrap_err();
    assert!(matches!(refused, OpError::Shape { rows: 2, cols: 3, needed_rows: 3, needed_cols: 2, .. }));
    let empty = HiSparse::<f64>::try_from_pool(0, 5, &[0; 16], 0).unwrap();
    empty.spmm(usize::MAX / 8, 1.0, &[], 0.0, &mut []).unwrap_err();
    empty.transpose().spmm(0, 1.0, &[], 0.0, &mut []).unwrap();
}

#[test]
fn unsorted_rows_and_duplicates_are_accepted() {
    let csr = Csr::try_new(2, 3, vec![0_u32, 4, 4], vec![2, 0, 2, 0], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let matrix = convert::<_, 128>(&csr);
    assert_eq!(matrix.iter().collect::<Vec<_>>(), [(0, 0, 6.0), (0, 2, 4.0)]);
    assert_eq!(matrix.to_coo().unwrap().to_csr(Duplicates::Refuse).unwrap(), matrix.to_csr().unwrap());
}

fn share() -> hisparse::Options {
    hisparse::Options::default().with_share(true)
}
