//! Products and sums of matrices in host memory, and the operators, compared with dense ones.

// Sums of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::error::OpError;
use evenpath::{Csr, HiSparse, hisparse};
use proptest::prelude::*;

/// Matrices with shapes for A·B and A + C, and small integers as values, whose sums are exact.
fn matrices() -> impl Strategy<Value = (Csr<f64>, Csr<f64>, Csr<f64>)> {
    let matrix = |rows: usize, cols: usize| {
        let len = if rows * cols == 0 { 0..1 } else { 0..40 };
        let entry = (0..rows.max(1), 0..cols.max(1), -4..5_i32);
        let entries = prop::collection::vec(entry, len);
        entries.prop_map(move |entries| {
            let entries = entries.into_iter().map(|(row, col, value)| (row, col, f64::from(value)));
            Csr::from_triplets(rows, cols, entries).expect("entries inside")
        })
    };
    (0..12_usize, 0..12_usize, 0..12_usize)
        .prop_flat_map(move |(m, k, n)| (matrix(m, k), matrix(k, n), matrix(m, k)))
}

fn dense(matrix: &Csr<f64>) -> Vec<f64> {
    matrix.to_dense().expect("a small matrix")
}

/// Returns whether a result has an entry wherever one of the operands has one.
fn has_the_entries_of(sum: &Csr<f64>, a: &Csr<f64>, b: &Csr<f64>) -> bool {
    let is_in = |matrix: &Csr<f64>, row, col| matrix.get(row, col).is_some();
    (0..a.nrows()).all(|row| {
        (0..a.ncols()).all(|col| is_in(sum, row, col) == (is_in(a, row, col) || is_in(b, row, col)))
    })
}

proptest! {
    #[test]
    fn operators_match_those_of_dense_matrices((a, b, c) in matrices()) {
        let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
        let (da, db, dc) = (dense(&a), dense(&b), dense(&c));
        let product = (&a * &b).unwrap();
        prop_assert!(product.is_canonical());
        let expected: Vec<f64> = (0..m * n)
            .map(|at| (0..k).map(|inner| da[at / n * k + inner] * db[inner * n + at % n]).sum())
            .collect();
        prop_assert_eq!(dense(&product), expected);

        for (sum, sign) in [((&a + &c).unwrap(), 1.0), ((&a - &c).unwrap(), -1.0)] {
            prop_assert!(has_the_entries_of(&sum, &a, &c));
            let expected: Vec<f64> = da.iter().zip(&dc).map(|(a, c)| a + sign * c).collect();
            prop_assert_eq!(dense(&sum), expected);
        }

        let x: Vec<f64> = (0..k).map(|at| (at % 5) as f64 - 2.0).collect();
        let ax: Vec<f64> = (0..m).map(|row| (0..k).map(|col| da[row * k + col] * x[col]).sum()).collect();
        prop_assert_eq!((&a * &x).unwrap(), ax.clone());
        let mut y = vec![3.0; m];
        a.spmv(2.0, &x, -1.0, &mut y).unwrap();
        prop_assert_eq!(y, ax.iter().map(|ax| 2.0 * ax - 3.0).collect::<Vec<f64>>());

        let tree: HiSparse<f64, 32> = a.to_hisparse(hisparse::Options::default()).unwrap();
        let other = c.to_hisparse(hisparse::Options::default()).unwrap();
        prop_assert_eq!((&tree * &x).unwrap(), ax);
        prop_assert_eq!((&tree + &other).unwrap().to_csr().unwrap(), (&a + &c).unwrap());
        prop_assert_eq!(dense(&(&tree - &other).unwrap().to_csr().unwrap()), dense(&(&a - &c).unwrap()));
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 1, 1.0)]).unwrap();
    let wide = a.clone().try_into_offsets::<u64>().unwrap();
    assert_eq!((&wide * &[1.0, 2.0, 3.0]).unwrap(), [2.0, 0.0]);
    let shapes =
        [(&a * &a).unwrap_err().to_string(), (&a + &a.transpose().unwrap()).unwrap_err().to_string()];
    assert_eq!(shapes[0], "B is 2 x 3, but must be 3 x 3");
    assert_eq!(shapes[1], "B is 3 x 2, but must be 2 x 3");
    assert!(matches!(&a * &[1.0, 2.0], Err(OpError::Length { operand: "x", len: 2, needed: 3 })));
    let mut y = [7.0; 3];
    assert!(matches!(a.spmv(1.0, &[0.0; 3], 0.0, &mut y), Err(OpError::Length { operand: "y", .. })));
    assert_eq!(y, [7.0; 3]);

    let unsorted = Csr::try_new(2, 3, vec![0_u32, 2, 2], vec![2, 1], vec![1.0, 2.0]).unwrap();
    let square = Csr::<f64>::empty(3, 3).unwrap();
    assert!(matches!(&unsorted * &square, Err(OpError::NotCanonical { operand: "A", row: 0, .. })));
    assert!(matches!(&a + &unsorted, Err(OpError::NotCanonical { operand: "B", row: 0, .. })));

    let tree = a.to_hisparse::<32>(hisparse::Options::default()).unwrap();
    assert!(matches!(&tree - &tree.transpose(), Err(OpError::Shape { .. })));
    assert!(matches!(&tree * &[1.0], Err(OpError::Length { .. })));
}
