//! HiSparse: bytes, products, sums and conversion of a matrix, compared with CSR and cuSPARSE: Figures 3.2, 7.2 and 7.3 of
//! the thesis.

mod products;
mod record;
mod sums;

pub(crate) use products::{Case, Extent};
pub(crate) use record::{Bytes, Product, Record, Sum, Summary, Way};

use evenpath::Csr;
use evenpath::error::OpError;
use evenpath::hisparse::{DeviceHiSparse, HiSparseOptions};

use crate::peers::PeerValue;

/// Measures everything for one matrix, which must be canonical.
///
/// # Errors
///
/// If there is not enough device memory for the matrix and vectors, the device was lost, or the matrix is too large for
/// the format.
pub(crate) fn measure<V: PeerValue, const D: usize>(
    case: &Case<'_>,
    matrix: &Csr<V>,
) -> Result<Record, Box<dyn std::error::Error>> {
    let tree = case.device.upload(matrix)?.to_hisparse(HiSparseOptions::default())?;
    measure_tree::<V, D>(case, matrix, &tree)
}

/// [`measure`] for a matrix whose tree is there.
///
/// # Errors
///
/// As [`measure`].
pub(crate) fn measure_tree<V: PeerValue, const D: usize>(
    case: &Case<'_>,
    matrix: &Csr<V>,
    tree: &Tree<V, D>,
) -> Result<Record, Box<dyn std::error::Error>> {
    let bytes = Bytes::new(matrix, tree.pool_bytes());
    let products = case.products(matrix, tree)?;
    let sums = case.sums(matrix, tree)?;
    Ok(Record {
        op: "hisparse",
        suite: case.suite.into(),
        matrix: case.matrix.into(),
        value: V::NAME,
        node: D,
        rows: matrix.rows(),
        cols: matrix.cols(),
        nnz: matrix.nnz(),
        bytes,
        conversion_ms: case.is_whole().then(|| case.conversion_ms::<V, D>(matrix)).transpose()?,
        products,
        sums,
    })
}

/// Shortens the type in bounds.
type Tree<V, const D: usize> = DeviceHiSparse<V, D>;

/// The result of an operation on a device.
type Measured<T> = Result<T, OpError>;
