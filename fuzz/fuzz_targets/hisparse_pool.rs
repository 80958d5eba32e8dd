//! Any bytes as a pool of nodes: they are refused, or every operation on the matrix works and agrees with its entries.
#![no_main]

use evenpath::{HiSparse, MAX_DIMENSION};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// Entries of the largest matrix that is walked: shared subtrees make immense ones of few bytes.
const MAX_ENTRIES: usize = 1 << 16;
/// Rows and columns of the largest one that is multiplied.
const MAX_MULTIPLIED: usize = 1 << 16;

#[derive(Arbitrary, Debug)]
struct Input {
    rows: u32,
    cols: u32,
    root: u32,
    /// Words, so that a mutation changes a count, two coordinates or a reference.
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
    let Ok(matrix) = HiSparse::<f32, D>::try_from_pool(rows, cols, &pool, input.root) else { return };
    assert_eq!((matrix.rows(), matrix.cols()), (rows, cols));
    if matrix.nnz() > MAX_ENTRIES {
        return;
    }
    let mut entries = 0;
    for (row, col, value) in &matrix {
        assert!(row < rows && col < cols);
        assert_eq!(matrix.get(row, col).map(f32::to_bits), Some(value.to_bits()));
        entries += 1;
    }
    assert_eq!(entries, matrix.nnz());
    if rows.max(cols) > MAX_MULTIPLIED {
        return;
    }
    assert_eq!(matrix.to_coo().expect("there is memory").nnz(), entries);
    let mut y = vec![0.0; rows];
    matrix.spmv(1.0, &vec![1.0; cols], 0.0, &mut y).expect("the vectors fit");
    let sum = matrix.add(&matrix.transpose().transpose()).expect("the shapes are equal");
    assert_eq!(sum.nnz(), entries);
}
