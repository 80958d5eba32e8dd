//! Limits of the formats.

/// The maximum number of rows, and of columns, of a matrix: 2³² − 1.
///
/// Column indices are `u32`. Rows have the same limit, so that every matrix has a transpose.
pub const MAX_DIMENSION: usize = u32::MAX as usize;

/// Maximum number of rows, and of columns, of a block.
pub const MAX_BLOCK_SIZE: usize = 32;
const _: () = assert!(MAX_BLOCK_SIZE == evenpath_kernels::bsr::shape::MAX_BLOCK_SIZE);

/// The column index of padding. A matrix has at most [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION) columns, so no nonzero
/// has it, and padding differs from stored zeros.
pub(crate) const PADDING: u32 = evenpath_kernels::ell::PADDING;
