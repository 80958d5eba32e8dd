//! Matrices on the GPU, in the formats of cuSPARSE.

use evenpath::Csr;
use rayon::prelude::*;

use super::blocks::Blocks;
use super::call::{Descriptor, describe};
use super::functions::{BASE_ZERO, INDEX_32};
use super::version::Version;
use crate::peers::cuda::{Buffer, Runtime};
use crate::peers::{PeerError, PeerScalar};

/// Rows per slice: the size of a warp.
const SLICE_ROWS: usize = 32;
/// The maximum number of elements that sliced ELL may store per nonzero.
const MAX_PADDING: usize = 4;

/// A matrix and its descriptors. CSR and COO share the buffers of columns and values.
pub(super) struct Formats<V> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    nonzeros: usize,
    row_offsets: Buffer<u32>,
    column_indices: Buffer<u32>,
    values: Buffer<V>,
    row_indices: Option<Buffer<u32>>,
    sliced: Option<Sliced<V>>,
    pub(super) blocks: Option<Blocks<V>>,
}

struct Sliced<V> {
    stored: usize,
    slice_offsets: Buffer<u32>,
    column_indices: Buffer<i32>,
    values: Buffer<V>,
}

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csr,
    Coo,
    SlicedEll,
    Bsr,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Coo => "coo",
            Self::SlicedEll => "sliced ell",
            Self::Bsr => "bsr",
        }
    }
}

impl<V: PeerScalar> Formats<V> {
    /// Copies a matrix, as CSR.
    pub(super) fn upload(runtime: Runtime, matrix: &Csr<V>) -> Result<Self, PeerError> {
        if i32::try_from(matrix.nnz()).is_err() {
            return Err(PeerError::Unsuitable(format!(
                "{} nonzeros are more than 32-bit offsets of cuSPARSE can count",
                matrix.nnz()
            )));
        }
        Ok(Self {
            rows: matrix.nrows(),
            cols: matrix.ncols(),
            nonzeros: matrix.nnz(),
            row_offsets: runtime.upload(matrix.row_offsets())?,
            column_indices: runtime.upload(matrix.column_indices())?,
            values: runtime.upload(matrix.values())?,
            row_indices: None,
            sliced: None,
            blocks: None,
        })
    }

    /// Adds the arrays that COO needs in addition to CSR.
    pub(super) fn add_coo(&mut self, runtime: Runtime, matrix: &Csr<V>) -> Result<(), PeerError> {
        let mut row_indices = vec![0_u32; matrix.nnz()];
        for (row, pair) in matrix.row_offsets().windows(2).enumerate() {
            row_indices[pair[0] as usize..pair[1] as usize].fill(row as u32);
        }
        self.row_indices = Some(runtime.upload(&row_indices)?);
        Ok(())
    }

    /// Adds sliced ELL, unless it would store too many elements.
    pub(super) fn add_sliced_ell(&mut self, runtime: Runtime, matrix: &Csr<V>) -> Result<(), PeerError> {
        let sliced = SlicedRows::new(matrix)?;
        self.sliced = Some(Sliced {
            stored: sliced.values.len(),
            slice_offsets: runtime.upload(&sliced.slice_offsets)?,
            column_indices: runtime.upload(&sliced.column_indices)?,
            values: runtime.upload(&sliced.values)?,
        });
        Ok(())
    }

    /// Adds BSR, unless it would take more bytes than CSR.
    pub(super) fn add_bsr(&mut self, runtime: Runtime, matrix: &Csr<V>) -> Result<(), PeerError> {
        self.blocks = Some(Blocks::upload(runtime, matrix)?);
        Ok(())
    }

    /// The values of CSR and COO.
    pub(super) fn values(&self) -> &Buffer<V> {
        &self.values
    }

    /// Describes the matrix in a format.
    pub(super) fn describe(&self, version: &Version, format: Format) -> Result<Descriptor, PeerError> {
        let functions = &version.functions;
        let [rows, cols, nonzeros] = [self.rows, self.cols, self.nonzeros].map(|number| number as i64);
        let Self { row_offsets, column_indices, values, .. } = self;
        let unmade = || PeerError::Unsuitable(format!("the matrix was not uploaded as {format:?}"));
        match format {
            // SAFETY: the arrays are those of a valid matrix of this size and outlive the descriptor.
            Format::Csr => unsafe {
                describe! {
                    version, functions, cusparseCreateCsr(
                        rows, cols, nonzeros, row_offsets, column_indices, values,
                        INDEX_32, INDEX_32, BASE_ZERO, V::CUDA_TYPE
                    ), cusparseDestroySpMat
                }
            },
            Format::Coo => {
                let row_indices = self.row_indices.as_ref().ok_or_else(unmade)?;
                // SAFETY: as above.
                unsafe {
                    describe! {
                        version, functions, cusparseCreateCoo(
                            rows, cols, nonzeros, row_indices, column_indices, values,
                            INDEX_32, BASE_ZERO, V::CUDA_TYPE
                        ), cusparseDestroySpMat
                    }
                }
            }
            Format::Bsr => self.blocks.as_ref().ok_or_else(unmade)?.describe(version),
            Format::SlicedEll => {
                let Sliced { stored, slice_offsets, column_indices, values } =
                    self.sliced.as_ref().ok_or_else(unmade)?;
                let functions = version.optional.sliced_ell.ok_or_else(|| PeerError::Absent {
                    library: "cuSPARSE",
                    reason: "this version has no sliced ELL".into(),
                })?;
                // SAFETY: as above; slices are padded with columns of -1.
                unsafe {
                    describe! {
                        version, functions, cusparseCreateSlicedEll(
                            rows, cols, nonzeros, *stored as i64, SLICE_ROWS as i64,
                            slice_offsets, column_indices, values, INDEX_32, INDEX_32, BASE_ZERO, V::CUDA_TYPE
                        ), cusparseDestroySpMat
                    }
                }
            }
        }
    }
}

/// Sliced ELL on the host: slices of rows, each as wide as its longest row, column by column. Padding has column
/// -1.
struct SlicedRows<V> {
    slice_offsets: Vec<u32>,
    column_indices: Vec<i32>,
    values: Vec<V>,
}

impl<V: PeerScalar> SlicedRows<V> {
    fn new(matrix: &Csr<V>) -> Result<Self, PeerError> {
        let offsets = matrix.row_offsets();
        let width = |slice: usize| {
            let rows = slice * SLICE_ROWS..matrix.nrows().min((slice + 1) * SLICE_ROWS);
            rows.map(|row| offsets[row + 1] - offsets[row]).max().unwrap_or(0) as usize
        };
        let slices = matrix.nrows().div_ceil(SLICE_ROWS);
        let widths: Vec<usize> = (0..slices).into_par_iter().map(width).collect();
        let stored = widths.iter().sum::<usize>() * SLICE_ROWS;
        let limit = (MAX_PADDING * matrix.nnz().max(1)).min(i32::MAX as usize);
        if stored > limit {
            return Err(PeerError::Unsuitable(format!(
                "sliced ELL would store {stored} elements for {} nonzeros, more than {limit}",
                matrix.nnz()
            )));
        }
        let ends = widths.iter().scan(0, |end, width| {
            *end += (width * SLICE_ROWS) as u32;
            Some(*end)
        });
        let mut sliced = Self {
            slice_offsets: std::iter::once(0).chain(ends).collect(),
            column_indices: vec![-1; stored],
            values: vec![V::ZERO; stored],
        };
        for row in 0..matrix.nrows() {
            let first = sliced.slice_offsets[row / SLICE_ROWS] as usize + row % SLICE_ROWS;
            let nonzeros = offsets[row] as usize..offsets[row + 1] as usize;
            for (step, nonzero) in nonzeros.enumerate() {
                sliced.column_indices[first + step * SLICE_ROWS] = matrix.column_indices()[nonzero] as i32;
                sliced.values[first + step * SLICE_ROWS] = matrix.values()[nonzero];
            }
        }
        Ok(sliced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_as_wide_as_their_longest_row() {
        let entries =
            (0..40).map(|row| (row, row, row as f64)).chain([(3, 0, -1.0), (39, 1, -2.0), (39, 2, -3.0)]);
        let matrix: Csr<f64> = Csr::from_triplets(40, 40, entries).unwrap();
        let sliced = SlicedRows::new(&matrix).unwrap();
        assert_eq!(sliced.slice_offsets, [0, 64, 64 + 96]);
        assert_eq!((sliced.column_indices[3], sliced.values[3]), (0, -1.0));
        assert_eq!((sliced.column_indices[32 + 3], sliced.values[32 + 3]), (3, 3.0));
        assert_eq!(sliced.column_indices[32 + 4], -1);
        assert_eq!((sliced.column_indices[64 + 64 + 7], sliced.values[64 + 64 + 7]), (39, 39.0));
        assert_eq!(sliced.column_indices.iter().filter(|&&column| column >= 0).count(), matrix.nnz());
    }

    #[test]
    fn too_much_padding_is_refused() {
        let matrix: Csr<f64> = Csr::from_triplets(32, 1000, (0..1000).map(|col| (5, col, 1.0))).unwrap();
        let refused = SlicedRows::new(&matrix);
        assert!(
            matches!(refused, Err(PeerError::Unsuitable(text)) if text.contains("32000 elements for 1000"))
        );
    }
}
