//! Options of the conversion.

use super::super::padding::PaddingLimit;

/// Options of [`Csr::to_sliced_ell`](crate::Csr::to_sliced_ell).
///
/// ```
/// use evenpath::ell::SlicedEllOptions;
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(64, 64, (0..64).map(|row| (row, row, 1.0)))?;
/// let options = SlicedEllOptions::default().with_slice_height(16);
/// assert_eq!(a.to_sliced_ell(options)?.slice_offsets(), [0, 16, 32, 48, 64]);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlicedEllOptions {
    /// Rows per slice, C. Default: 32, the size of a warp.
    pub slice_height: u32,
    /// Rows per sorting window, σ. Default: 1, rows are not sorted.
    pub sorting_scope: usize,
    /// Limit on the memory of the padded rows.
    pub limit: PaddingLimit,
}

impl Default for SlicedEllOptions {
    fn default() -> Self {
        Self { slice_height: 32, sorting_scope: 1, limit: PaddingLimit::default() }
    }
}

impl SlicedEllOptions {
    /// Sets the number of rows per slice.
    #[must_use]
    pub fn with_slice_height(self, slice_height: u32) -> Self {
        Self { slice_height, ..self }
    }

    /// Sets the number of rows per sorting window.
    #[must_use]
    pub fn with_sorting_scope(self, sorting_scope: usize) -> Self {
        Self { sorting_scope, ..self }
    }

    /// Sets the limit on padding.
    #[must_use]
    pub fn with_limit(self, limit: PaddingLimit) -> Self {
        Self { limit, ..self }
    }
}
