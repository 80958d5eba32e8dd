//! Sparse results, in CSR: described with row offsets alone, then with the nonzeros that the library counted.

use super::call::{Argument, Descriptor, describe};
use super::functions::{BASE_ZERO, INDEX_32, NOWHERE};
use super::version::Version;
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerScalar};

impl Version {
    /// A descriptor of a result of this size without nonzeros. There must be a row offset more than rows, which outlive it.
    pub(super) fn describe_result<V: PeerScalar>(
        &self,
        (rows, cols): (usize, usize),
        row_offsets: &Buffer<u32>,
    ) -> Result<Descriptor, PeerError> {
        // SAFETY: the row offsets are as the caller says, and there are no nonzeros.
        unsafe {
            describe! {
                self, self.functions, cusparseCreateCsr(
                    rows as i64, cols as i64, 0_i64, row_offsets, NOWHERE, NOWHERE,
                    INDEX_32, INDEX_32, BASE_ZERO, V::CUDA_TYPE
                ), cusparseDestroySpMat
            }
        }
    }

    /// The nonzeros in a descriptor.
    pub(super) fn count_nonzeros(&self, result: &Descriptor) -> Result<usize, PeerError> {
        let (mut rows, mut cols, mut nonzeros) = (0, 0, 0);
        let (result, function) = (result.raw(), self.functions.cusparseSpMatGetSize);
        // SAFETY: the descriptor is valid; numbers are written to valid locations.
        let code = unsafe { function(result, &raw mut rows, &raw mut cols, &raw mut nonzeros) };
        self.check("cusparseSpMatGetSize", code)?;
        Ok(nonzeros as usize)
    }

    /// Gives a result its row offsets, columns and values, which must be as long as its descriptor says and outlive it.
    pub(super) fn set_arrays<V: PeerScalar>(
        &self,
        result: &Descriptor,
        (row_offsets, columns, values): (&Buffer<u32>, &Buffer<u32>, &Buffer<V>),
    ) -> Result<(), PeerError> {
        let (result, function) = (result.raw(), self.functions.cusparseCsrSetPointers);
        // SAFETY: the arrays are as the caller says.
        let code = unsafe { function(result, row_offsets.raw(), columns.raw(), values.raw()) };
        self.check("cusparseCsrSetPointers", code)
    }
}
