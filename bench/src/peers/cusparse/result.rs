//! Sparse results, in CSR: described with row offsets alone, then with the nonzeros that the library counted.

use std::ptr;

use super::functions::{Address, BASE_ZERO, INDEX_32};
use super::version::{Descriptor, Version};
use crate::peers::{PeerError, PeerValue};

impl Version {
    /// A descriptor of a result of this size without nonzeros. There must be a row offset more than rows, which outlive it.
    pub(super) fn describe_result<V: PeerValue>(
        &self,
        (rows, cols): (usize, usize),
        row_offsets: Address,
    ) -> Result<Descriptor, PeerError> {
        let functions = &self.functions;
        Descriptor::new(self, "cusparseCreateCsr", functions.cusparseDestroySpMat, |descriptor| {
            let nowhere = ptr::null_mut();
            // SAFETY: the row offsets are as the caller says, and there are no nonzeros.
            unsafe {
                (functions.cusparseCreateCsr)(
                    descriptor,
                    rows as i64,
                    cols as i64,
                    0,
                    row_offsets,
                    nowhere,
                    nowhere,
                    INDEX_32,
                    INDEX_32,
                    BASE_ZERO,
                    V::CUDA_TYPE,
                )
            }
        })
    }

    /// The nonzeros in a descriptor.
    pub(super) fn count_nonzeros(&self, result: &Descriptor) -> Result<usize, PeerError> {
        let (mut rows, mut cols, mut nonzeros) = (0, 0, 0);
        // SAFETY: the descriptor is valid; numbers are written to valid locations.
        let code = unsafe {
            (self.functions.cusparseSpMatGetSize)(
                result.address,
                &raw mut rows,
                &raw mut cols,
                &raw mut nonzeros,
            )
        };
        self.check("cusparseSpMatGetSize", code)?;
        Ok(nonzeros as usize)
    }

    /// Gives a result its row offsets, columns and values, which must be as long as its descriptor says and outlive it.
    pub(super) fn set_arrays(&self, result: &Descriptor, arrays: [Address; 3]) -> Result<(), PeerError> {
        let [row_offsets, columns, values] = arrays;
        // SAFETY: the arrays are as the caller says.
        let code =
            unsafe { (self.functions.cusparseCsrSetPointers)(result.address, row_offsets, columns, values) };
        self.check("cusparseCsrSetPointers", code)
    }
}
