//! C = AB for sparse matrices: work, measurements and checks.

mod check;
mod measure;
mod summary;

pub(crate) use check::Check;
pub(crate) use measure::{Case, Figures, MethodRecord, Outcome, PeerRecord, Phases, Record, measure};
pub(crate) use summary::Summary;

use evenpath::{Csr, Storage, Value};

/// The number of products in C = AB, of two operations each.
pub(crate) fn products<V: Storage>(a: &Csr<V>, b: &Csr<V>) -> u64 {
    let lengths: Vec<u64> = b.row_offsets().windows(2).map(|pair| u64::from(pair[1] - pair[0])).collect();
    a.column_indices().iter().map(|&column| lengths[column as usize]).sum()
}

/// The other factor: the matrix itself or, if it is not square, its transpose.
///
/// # Panics
///
/// If there is no memory for the transpose.
pub(crate) fn other_factor<V: Value>(a: &Csr<V>) -> Csr<V> {
    if a.rows() == a.cols() { a.clone() } else { a.transpose().expect("memory for a transpose") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_rows() {
        let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]).unwrap();
        let b = other_factor(&a);
        assert_eq!((b.rows(), b.cols()), (3, 2));
        assert_eq!(products(&a, &b), 3);
        assert_eq!(products(&b, &a), 2 + 1 + 2);
    }
}
