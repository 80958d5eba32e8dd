//! Cases of this study alone.

use std::error::Error;

use evenpath::Csr;
use evenpath::spadd::SpaddMethod;
use evenpath::spmv::SpmvMethod;

use crate::operations::spadd::{Addend, SparseSum};
use crate::operations::{Bench, Case};
use crate::peers::Peers;
use crate::results::Row;

/// The name of the publication's own sum.
pub(super) const BALANCED: &str = SpaddMethod::BalancedPath.name();
/// The name of the sum with which it compares.
pub(super) const GLOBAL: &str = SpaddMethod::GlobalSort.name();

/// A + A, also by the methods of the publication.
pub(super) fn sum_to_measure() -> Case {
    let coo = vec![SpaddMethod::BalancedPath, SpaddMethod::GlobalSort];
    Case::Spadd(SparseSum { addend: Addend::Itself, coo })
}

/// SpMV by the publication's method with the same row lengths, but columns in sequence.
pub(super) fn control(bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<Row, Box<dyn Error>> {
    let peers = Peers::default();
    Ok(Bench { peers: &peers, ..*bench }.spmv(name, &in_sequence(matrix)?, &[SpmvMethod::Flat]))
}

/// The matrix with column k mod n in place of that of each nonzero k.
fn in_sequence(matrix: &Csr<f64>) -> Result<Csr<f64>, Box<dyn Error>> {
    let columns = (0..matrix.ncols() as u32).cycle().take(matrix.nnz()).collect();
    let (offsets, values) = (matrix.row_offsets().to_vec(), matrix.values().to_vec());
    Ok(Csr::try_new(matrix.nrows(), matrix.ncols(), offsets, columns, values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_each_other() {
        let matrix =
            Csr::from_triplets(3, 4, [(0, 3, 1.0), (2, 0, 2.0), (2, 1, 3.0), (2, 2, 4.0), (2, 3, 5.0)]);
        let control = in_sequence(&matrix.unwrap()).unwrap();
        assert_eq!(
            (control.row_offsets(), control.column_indices()),
            (&[0, 1, 1, 5][..], &[0, 1, 2, 3, 0][..])
        );
        assert_eq!(control.values(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
