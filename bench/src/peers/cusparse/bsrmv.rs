//! `bsrmv`, the product of BSR that is older than the generic functions.

use std::ffi::c_int;

use super::blocks::Blocks;
use super::call::{Descriptor, call, describe, factor};
use super::functions::{Address, Bsrmv, DIRECT};
use super::spadd::count;
use super::spmv_problem::{Product, Run, SpmvProblem};
use super::version::Version;
use crate::peers::{PeerError, PeerScalar, Ready};

/// Its name among algorithms.
pub(super) const NAME: &str = "bsrmv";

/// `CUSPARSE_DIRECTION_ROW`.
const BY_ROWS: c_int = 0;

/// A call that is ready to run.
struct Call<'p, V: PeerScalar> {
    version: &'p Version,
    functions: Bsrmv,
    description: Descriptor,
    blocks: &'p Blocks<V>,
    /// Rows, columns and number of blocks, and rows of a block.
    numbers: [c_int; 4],
    alpha: V,
    x: Address,
    beta: V,
    /// The elements of y, which the product owns.
    y: Address,
}

impl<V: PeerScalar> SpmvProblem<'_, V> {
    /// `bsrmv`, which has no preprocessing and no workspace.
    pub(super) fn prepare_bsrmv<'p>(
        &'p self,
        version: &'p Version,
        functions: Bsrmv,
    ) -> Result<Ready<'p, V>, PeerError> {
        let (runtime, before) = (version.runtime, self.operands.y.to_vec());
        let unmade = || PeerError::Unsuitable("the matrix was not uploaded in blocks".into());
        let blocks = self.formats.blocks.as_ref().ok_or_else(unmade)?;
        // SAFETY: the descriptor is written to a valid location. It describes a general matrix that counts from 0.
        let description = unsafe {
            describe! { version, functions, cusparseCreateMatDescr(), cusparseDestroyMatDescr }
        }?;
        let y = runtime.upload(&before)?;
        let numbers =
            [count(blocks.block_rows)?, count(blocks.block_cols)?, count(blocks.count)?, count(blocks.size)?];
        let (alpha, beta) = (self.operands.alpha, self.operands.beta);
        let (x, y_address) = (self.x.address(), y.address());
        let call = Call { version, functions, description, blocks, numbers, alpha, x, beta, y: y_address };
        let prepared = Box::new(Product { runtime, call, y, before });
        Ok(Ready { preprocessing_ms: 0.0, workspace_bytes: 0, prepared })
    }
}

/// Calls the function for a type of values.
macro_rules! product {
    ($call:expr, $function:ident) => {{
        let Call { version, functions, description, blocks, numbers, alpha, x, beta, y } = $call;
        let [rows, cols, count, size] = *numbers;
        // SAFETY: handle and descriptor are valid; the arrays are those of a valid matrix, and of vectors of matching
        // lengths, on this GPU; the factors are on the host, where the library expects them by default.
        unsafe {
            call! {
                version, functions, $function(
                    BY_ROWS, DIRECT, rows, cols, count, factor(alpha), description, &blocks.values, &blocks.row_offsets,
                    &blocks.column_indices, size, *x, factor(beta), *y
                )
            }
        }
    }};
}

impl<V: PeerScalar> Run for Call<'_, V> {
    fn run(&self) -> Result<(), PeerError> {
        match (V::IS_COMPLEX, size_of::<V::Real>()) {
            (false, 4) => product!(self, cusparseSbsrmv),
            (false, _) => product!(self, cusparseDbsrmv),
            (true, 4) => product!(self, cusparseCbsrmv),
            (true, _) => product!(self, cusparseZbsrmv),
        }
    }
}
