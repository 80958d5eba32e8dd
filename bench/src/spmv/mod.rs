//! y = Ax: what it has to do, measuring it beside other libraries, and whether a result is right.

mod figures;
mod measure;
mod peers;
mod reference;
mod summary;

pub use figures::{Figures, MethodRecord, Outcome, PeerFigures, PeerRecord, Record};
pub use measure::{Case, Way, measure};
pub use peers::{PeerName, Peers};
pub use reference::Reference;
pub use summary::{Named, Summary};

use evenpath::{Csr, Offset, Value};

use crate::measure::Work;

/// Two operations a nonzero; the bytes of matrix, x and y. The effective bytes are those that merge-spmv counts: for
/// each nonzero its value, its column and one element of x; for each row its offset and one element of y.
pub fn work<V: Value, O: Offset>(matrix: &Csr<V, O>) -> Work {
    let (rows, cols, nnz) = (matrix.rows() as u64, matrix.cols() as u64, matrix.nnz() as u64);
    let (value, offset, column) = (size_of::<V>() as u64, size_of::<O>() as u64, size_of::<u32>() as u64);
    Work {
        operations: 2 * nnz,
        bytes: nnz * (value + column) + (rows + 1) * offset + (rows + cols) * value,
        effective_bytes: nnz * (2 * value + column) + rows * (offset + value),
        counted_by: "merge-spmv",
    }
}

/// Whether `y` is Ax, by a [`Reference`] that is made for it.
///
/// # Errors
///
/// As for [`Reference::check`], or if x has not one element a column.
pub fn check<V: Value, O: Offset>(matrix: &Csr<V, O>, x: &[V], y: &[V]) -> Result<(), String> {
    Reference::new(matrix, x)?.check(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_every_array() {
        let matrix: Csr<f64> = Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap();
        let work = work(&matrix);
        assert_eq!(work.operations, 6);
        assert_eq!(work.bytes, 3 * 12 + 4 * 4 + (3 + 2) * 8);
        assert_eq!(work.effective_bytes, 3 * 20 + 3 * 12);
    }
}
