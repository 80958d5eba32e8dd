use std::collections::BTreeSet;

use evenpath::bsr::{Bsr, MAX_BLOCK_SIZE};
use evenpath::error::MatrixError;
use evenpath::{Csr, Offset};
use evenpath_tests::{odd_row_lengths, with_row_lengths};
use proptest::prelude::*;

use super::support::{SIZES, csr, triplets, with_blocks};

/// Checks that BSR has the blocks with a nonzero, each once and in order, and the values of the matrix.
fn check<O: Offset>(a: &Csr<f64, O>, size: usize) {
    let bsr = a.to_bsr(size).expect("memory");
    assert_eq!((bsr.shape(), bsr.block_size()), (a.shape(), size));
    let expected: BTreeSet<_> = a.iter().map(|(row, col, _)| (row / size, col / size)).collect();
    let mut blocks = Vec::new();
    for row in 0..bsr.block_rows() {
        let range = bsr.row_offsets()[row].to_usize()..bsr.row_offsets()[row + 1].to_usize();
        blocks.extend(bsr.column_indices()[range].iter().map(|&col| (row, col as usize)));
    }
    assert!(blocks.iter().copied().eq(expected.iter().copied()), "{a:?} in blocks of {size}");
    let fill = a.block_fill(size).expect("a size");
    let values = (expected.len() * size * size) as f64;
    let expected = if expected.is_empty() { 1.0 } else { a.nnz() as f64 / values };
    assert!((fill - expected).abs() <= f64::EPSILON, "{fill} instead of {expected}");

    assert_eq!(csr(&bsr).to_dense().unwrap(), a.to_dense().unwrap(), "{a:?} in blocks of {size}");
    assert_eq!(bsr.to_csr().unwrap().to_dense().unwrap(), a.to_dense().unwrap());
    assert!(bsr.to_csr().unwrap().iter().all(|(_, _, value)| value != 0.0));
}

#[test]
fn odd_shapes() {
    for (cols, lengths) in odd_row_lengths() {
        for size in SIZES {
            check(&with_row_lengths::<f64, u32>(cols, &lengths), size);
        }
        check(&with_row_lengths::<f64, u64>(cols, &lengths), 3);
    }
}

proptest! {
    #[test]
    fn any_matrix(
        (rows, cols, entries) in evenpath_tests::scattered_squares(300..600, 20..60),
        size in 1..=MAX_BLOCK_SIZE,
    ) {
        let a = Csr::from_triplets(rows, cols, entries).expect("inside");
        check(&a, size);
    }
}

#[test]
fn canonical_matrices_without_zeros_return() {
    for size in SIZES {
        let a = csr(&with_blocks::<f64, u32>(size, 9, &[3, 0, 9, 1], size - 1));
        let a = Csr::from_triplets(a.nrows(), a.ncols(), a.iter().filter(|entry| entry.2 != 0.0)).unwrap();
        assert_eq!(a.to_bsr(size).unwrap().to_csr().unwrap(), a);
        let wide = a.clone().try_into_offsets::<u64>().unwrap();
        assert_eq!(a.to_bsr(size).unwrap().to_csr_with_offsets::<u64>().unwrap(), wide);
    }
}

#[test]
fn block_sizes_are_found() {
    for size in [2, 3, 4, 5, 6, 8, 16] {
        let a = csr(&with_blocks::<f64, u32>(size, 30, &[3; 30], 0));
        assert_eq!(a.detect_block_size().unwrap(), size);
        // One value of each block is missing.
        let most = a.iter().filter(|&(row, col, _)| (row % size, col % size) != (0, 1));
        let most = Csr::from_triplets(a.nrows(), a.ncols(), most).unwrap();
        assert_eq!(most.detect_block_size().unwrap(), size);
    }
    let scattered = Csr::from_triplets(100, 100, (0..100).map(|at| (at, at * 37 % 100, 1.0))).unwrap();
    assert_eq!(scattered.detect_block_size().unwrap(), 1);
    assert_eq!(Csr::<f64>::empty(0, 5).unwrap().detect_block_size().unwrap(), 1);
}

#[test]
fn values_beyond_the_matrix_are_zero() {
    let a = Bsr::try_new(3, 3, 2, vec![0_u32, 2, 4], vec![0, 1, 0, 1], vec![f64::NAN; 16]).unwrap();
    let inside: Vec<bool> = a.values().iter().map(|value| value.is_nan()).collect();
    let row = |first: bool, second: bool| [first, first && second];
    let blocks = [(true, true), (true, false), (false, true), (false, false)];
    let expected: Vec<bool> = blocks
        .into_iter()
        .flat_map(|(rows, cols)| [row(true, cols), if rows { row(true, cols) } else { [false; 2] }].concat())
        .collect();
    assert_eq!(inside, expected);
}

#[test]
fn duplicates_are_kept() {
    let a = with_blocks::<f64, u32>(2, 3, &[5, 1], 0);
    assert_eq!(a.blocks(), 6);
    assert_eq!(a.to_csr().unwrap().nnz(), triplets(&a).iter().filter(|entry| entry.2 != 0.0).count());
}

#[test]
fn every_error_is_named() {
    let refused = |size: usize, offsets: &[u32], columns: &[u32], values: usize| {
        let arrays = (offsets.to_vec(), columns.to_vec(), vec![1.5; values]);
        let (row_offsets, column_indices, own) = arrays.clone();
        let refused = Bsr::try_new(5, 7, size, row_offsets, column_indices, own).expect_err("invalid");
        let message = refused.to_string();
        assert_eq!(refused.into_parts(), arrays);
        message
    };
    assert_eq!(refused(0, &[0, 1], &[0], 1), "block size 0 is not from 1 to 32");
    assert_eq!(refused(33, &[0, 1], &[0], 1), "block size 33 is not from 1 to 32");
    let of_3 = "blocks of 3 x 3: ";
    assert_eq!(refused(3, &[0, 1], &[0], 9), format!("{of_3}row_offsets has length 2: 2 rows need 2 + 1"));
    assert_eq!(refused(3, &[0, 2, 1], &[0], 9), format!("{of_3}row_offsets decreases from 2 to 1 at row 1"));
    assert_eq!(
        refused(3, &[0, 0, 1], &[3], 9),
        format!("{of_3}column 3 at position 0, in row 1, is out of range: the matrix has 3 columns")
    );
    assert_eq!(
        refused(3, &[0, 0, 1], &[2], 8),
        "values has length 8: 1 blocks of 3 x 3 values need 1 * 3 * 3"
    );
    let a = Csr::from_triplets(1, 1, [(0, 0, 1.0)]).unwrap();
    for size in [0, MAX_BLOCK_SIZE + 1, usize::MAX] {
        assert_eq!(a.to_bsr(size).unwrap_err(), MatrixError::BlockSize { size });
        assert_eq!(a.block_fill(size).unwrap_err(), MatrixError::BlockSize { size });
    }
    let too_many = Bsr::try_new(usize::MAX, 1, 3, vec![0_u32], vec![], Vec::<f64>::new()).unwrap_err();
    assert!(matches!(too_many.kind(), MatrixError::TooManyRows { rows: usize::MAX }));
}
