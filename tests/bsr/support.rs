use evenpath::bsr::Bsr;
use evenpath::{Csr, Offset, Value};
use evenpath_tests::{vector, with_row_lengths};

/// Block sizes with a kernel of their own, and others.
pub(super) const SIZES: [usize; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 32];

/// A number that is not round, determined by its place.
pub(super) fn number(place: usize) -> f64 {
    ((place * 7919 + 13) % 1009) as f64 / 504.0 - 1.0
}

/// A matrix whose block rows have the given numbers of blocks, in scattered columns, some of them twice. `missing` rows of the
/// last block row and columns of the last block column are beyond the matrix.
pub(super) fn with_blocks<V: Value, O: Offset>(
    size: usize,
    block_cols: usize,
    lengths: &[usize],
    missing: usize,
) -> Bsr<V, O> {
    let (offsets, columns, _) = with_row_lengths::<V, O>(block_cols, lengths).into_parts();
    let (rows, cols) = (lengths.len() * size - missing, block_cols * size - missing);
    let values = vector(columns.len() * size * size);
    Bsr::try_new(rows, cols, size, offsets, columns, values).expect("a valid matrix")
}

/// The values of a matrix as triplets, by definition.
pub(super) fn triplets<V: Value, O: Offset>(a: &Bsr<V, O>) -> Vec<(usize, usize, V)> {
    let size = a.block_size();
    let mut triplets = Vec::new();
    for block_row in 0..a.block_rows() {
        for block in a.row_offsets()[block_row].to_usize()..a.row_offsets()[block_row + 1].to_usize() {
            for at in 0..size * size {
                let row = block_row * size + at / size;
                let col = a.column_indices()[block] as usize * size + at % size;
                if row < a.nrows() && col < a.ncols() {
                    triplets.push((row, col, a.values()[block * size * size + at]));
                }
            }
        }
    }
    triplets
}

/// The same matrix in CSR, with the zeros of blocks and duplicates added up.
pub(super) fn csr<V: Value, O: Offset>(a: &Bsr<V, O>) -> Csr<V> {
    Csr::from_triplets(a.nrows(), a.ncols(), triplets(a)).expect("inside the matrix")
}
