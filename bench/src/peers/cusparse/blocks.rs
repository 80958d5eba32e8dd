//! Matrices in BSR: square blocks that have nonzeros, stored whole, row by row.

use evenpath::bsr::Bsr;
use evenpath::{Csr, Value};

use super::call::{Descriptor, describe};
use super::functions::{BASE_ZERO, INDEX_32};
use super::version::Version;
use crate::peers::cuda::{Buffer, Runtime};
use crate::peers::{PeerError, PeerScalar};

/// The rows of a block that are tried.
const SIZES: [usize; 8] = [2, 3, 4, 5, 6, 7, 8, 16];
/// `CUSPARSE_ORDER_ROW`.
const ROW_ORDER: i32 = 2;

/// A matrix on the GPU.
pub(super) struct Blocks<V> {
    pub(super) block_rows: usize,
    pub(super) block_cols: usize,
    /// Rows of a block.
    pub(super) size: usize,
    pub(super) count: usize,
    pub(super) row_offsets: Buffer<u32>,
    pub(super) column_indices: Buffer<u32>,
    pub(super) values: Buffer<V>,
}

impl<V: PeerScalar> Blocks<V> {
    /// Copies a matrix, in blocks of the size that takes the fewest bytes.
    pub(super) fn upload(runtime: Runtime, matrix: &Csr<V>) -> Result<Self, PeerError> {
        let (host, imaginary) = in_blocks(matrix)?;
        let imaginary = imaginary.as_ref().map_or(host.values(), Bsr::values);
        let parts = host.values().iter().zip(imaginary);
        let values: Vec<V> = parts.map(|(&re, &im)| V::from_parts(re, im)).collect();
        Ok(Self {
            block_rows: host.block_rows(),
            block_cols: host.block_cols(),
            size: host.block_size(),
            count: host.blocks(),
            row_offsets: runtime.upload(host.row_offsets())?,
            column_indices: runtime.upload(host.column_indices())?,
            values: runtime.upload(&values)?,
        })
    }

    pub(super) fn describe(&self, version: &Version) -> Result<Descriptor, PeerError> {
        let functions = version.optional.bsr.ok_or_else(|| PeerError::Absent {
            library: "cuSPARSE",
            reason: "this version has no BSR".into(),
        })?;
        let Self { block_rows, block_cols, size, count, row_offsets, column_indices, values } = self;
        let [rows, cols, count, size] = [*block_rows, *block_cols, *count, *size].map(|number| number as i64);
        // SAFETY: the arrays are those of a valid matrix of this size and outlive the descriptor.
        unsafe {
            describe! {
                version, functions, cusparseCreateBsr(
                    rows, cols, count, size, size, row_offsets, column_indices, values,
                    INDEX_32, INDEX_32, BASE_ZERO, V::CUDA_TYPE, ROW_ORDER
                ), cusparseDestroySpMat
            }
        }
    }
}

/// The real parts of a matrix in blocks of the size that takes the fewest bytes, and the imaginary ones if its values are complex.
/// Blocks divide the matrix.
#[allow(clippy::type_complexity)]
fn in_blocks<V: PeerScalar>(matrix: &Csr<V>) -> Result<(Bsr<V::Real>, Option<Bsr<V::Real>>), PeerError> {
    let of_parts = |part: fn((V::Real, V::Real)) -> V::Real| {
        let values = matrix.values().iter().map(|value| part(value.parts())).collect();
        let (offsets, columns) = (matrix.row_offsets().to_vec(), matrix.column_indices().to_vec());
        Csr::try_new(matrix.nrows(), matrix.ncols(), offsets, columns, values).map_err(unsuitable)
    };
    let real = of_parts(|(re, _)| re)?;
    let size = block_size(&real, size_of::<V>())?;
    let imaginary =
        if V::IS_COMPLEX { Some(of_parts(|(_, im)| im)?.to_bsr(size).map_err(unsuitable)?) } else { None };
    Ok((real.to_bsr(size).map_err(unsuitable)?, imaginary))
}

#[allow(clippy::needless_pass_by_value)]
fn unsuitable(error: impl ToString) -> PeerError {
    PeerError::Unsuitable(error.to_string())
}

/// The size of blocks that takes the fewest bytes, with values of this many.
fn block_size<R: Value>(matrix: &Csr<R>, value_bytes: usize) -> Result<usize, PeerError> {
    let (rows, cols) = matrix.shape();
    let bytes = |rows: usize, indices: usize, values: usize| {
        (rows + 1 + indices) * size_of::<u32>() + values * value_bytes
    };
    let mut least = (bytes(rows, matrix.nnz(), matrix.nnz()), None);
    for size in SIZES.into_iter().filter(|size| rows.is_multiple_of(*size) && cols.is_multiple_of(*size)) {
        let fill = matrix.block_fill(size).map_err(unsuitable)?;
        let values = (matrix.nnz() as f64 / fill).round() as usize;
        let of_size = bytes(rows / size, values / (size * size), values);
        if of_size < least.0 && i32::try_from(values).is_ok() {
            least = (of_size, Some(size));
        }
    }
    least.1.ok_or_else(|| {
        PeerError::Unsuitable(
            "in blocks of 2 to 8 or 16 rows it would take no fewer bytes, or more elements than 32 bits count".into(),
        )
    })
}

#[cfg(test)]
mod tests {
    use evenpath::Complex;

    use super::*;

    /// Whole blocks of this size on the diagonal, and one in the first row's last column.
    fn blocks(size: usize, count: usize) -> Csr<f64> {
        let whole = |row: usize, col: usize| {
            let places = (0..size).flat_map(move |i| (0..size).map(move |j| (i, j)));
            places.map(move |(i, j)| (row * size + i, col * size + j, (10 * i + j + 1) as f64))
        };
        let entries = (0..count).flat_map(|at| whole(at, at)).chain(whole(0, count - 1));
        Csr::from_triplets(count * size, count * size, entries).unwrap()
    }

    #[test]
    fn blocks_have_the_size_of_the_fewest_bytes() {
        for size in [2, 3, 5, 8] {
            let (made, imaginary) = in_blocks(&blocks(size, 4)).unwrap();
            assert_eq!((made.block_size(), made.row_offsets()), (size, &[0, 2, 3, 4, 5][..]));
            assert_eq!(made.column_indices(), [0, 3, 1, 2, 3]);
            assert!(imaginary.is_none());
            let mut complex: Csr<Complex<f64>> = blocks(size, 4).into_values();
            complex.values_mut().iter_mut().for_each(|value| value.im = -value.re);
            let (real, imaginary) = in_blocks(&complex).unwrap();
            let negative: Vec<f64> = made.values().iter().map(|value| -value).collect();
            assert_eq!((real.values(), imaginary.unwrap().values()), (made.values(), &negative[..]));
        }
    }

    #[test]
    fn matrices_without_blocks_are_refused() {
        let refused = |matrix: &Csr<f64>| block_size(matrix, 8).unwrap_err().to_string();
        let diagonal: Csr<f64> = Csr::from_triplets(8, 8, (0..8).map(|at| (at, at, 1.0))).unwrap();
        assert!(refused(&diagonal).contains("no fewer bytes"));
        // Blocks must divide the matrix.
        let odd: Csr<f64> = Csr::from_triplets(11, 8, (0..88).map(|at| (at / 8, at % 8, 1.0))).unwrap();
        assert!(refused(&odd).contains("no fewer bytes"));
    }
}
