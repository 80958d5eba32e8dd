//! Builds HiSparse matrices from arbitrary bytes: they are rejected, or every operation works and agrees with the
//! entries.
#![no_main]

use evenpath::csr::MAX_DIMENSION;
use evenpath::error::MatrixError;
use evenpath::HiSparse;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// The limit on entries: with shared subtrees, a few bytes can describe a huge matrix.
const MAX_ENTRIES: usize = 1 << 16;
/// The maximum number of rows and columns for operations that need vectors or row offsets.
const MAX_DENSE: usize = 1 << 16;
/// The maximum number of entries for a product with the transpose, which may have the square of that.
const MAX_FACTOR: usize = 1 << 10;

#[derive(Arbitrary, Debug)]
struct Input {
    rows: u32,
    cols: u32,
    root: u32,
    /// Words, so that one mutation changes a count, two coordinates or a reference.
    words: Vec<u32>,
}

fuzz_target!(|input: Input| {
    check::<32>(&input);
    check::<256>(&input);
});

fn check<const D: usize>(input: &Input) {
    let (rows, cols) = (input.rows as usize, input.cols as usize);
    assert!(rows <= MAX_DIMENSION && cols <= MAX_DIMENSION);
    let pool: Vec<u8> = input.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let limited = |limit| HiSparse::<f32, D>::try_from_pool_with_limit(rows, cols, &pool, input.root, limit);
    let matrix = match (limited(MAX_ENTRIES as u64), limited(u64::MAX)) {
        (Ok(matrix), Ok(again)) => {
            assert_eq!(matrix.nnz(), again.nnz());
            matrix
        }
        (Err(refused), Ok(immense)) => {
            let (entries, limit) = (immense.nnz() as u64, MAX_ENTRIES as u64);
            assert_eq!(refused, MatrixError::TooManyEntries { entries, limit });
            return;
        }
        (Err(refused), again) => return assert_eq!(Some(refused), again.err()),
        (Ok(_), Err(refused)) => panic!("{refused}"),
    };
    assert_eq!(matrix.shape(), (rows, cols));
    let mut entries = 0;
    for (row, col, value) in &matrix {
        assert!(row < rows && col < cols);
        assert_eq!(matrix.get(row, col).map(f32::to_bits), Some(value.to_bits()));
        entries += 1;
    }
    assert_eq!(entries, matrix.nnz());
    let sum = matrix.spadd(&matrix.transpose().transpose()).expect("the shapes are equal");
    assert_eq!(sum.nnz(), entries);
    if rows == cols {
        assert!(matrix.spadd(&matrix.transpose()).expect("a square matrix").nnz() >= entries);
    }
    if entries <= MAX_FACTOR {
        // Every entry is multiplied by itself on the diagonal.
        let product = matrix.spgemm(&matrix.transpose()).expect("the shapes match");
        assert!(matrix.iter().all(|(row, _, _)| product.get(row, row).is_some()));
    }
    if rows.max(cols) > MAX_DENSE {
        return;
    }
    assert_eq!(matrix.to_coo().expect("enough memory").nnz(), entries);
    let mut y = vec![0.0; rows];
    matrix.spmv(1.0, &vec![1.0; cols], 0.0, &mut y).expect("the lengths match");
}
