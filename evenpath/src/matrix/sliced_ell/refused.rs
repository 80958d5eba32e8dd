//! A rejected matrix with its buffers.

use std::fmt;

use super::super::refused::refused;
use super::super::{MatrixError, RowOrder};

/// A rejected sliced ELL matrix: the reason, and the buffers, so that no data is lost.
///
/// ```
/// use evenpath::ell::SlicedEll;
/// use evenpath::error::MatrixError;
///
/// let refused = SlicedEll::<f64>::try_new(1, 1, 0, vec![0, 1], vec![0], vec![5.0], None).unwrap_err();
/// assert!(matches!(refused.kind(), MatrixError::NoSliceHeight));
/// let (_, _, values, _) = refused.into_parts(); // the arrays come back
/// assert_eq!(values, [5.0]);
/// ```
pub struct InvalidSlicedEll<V> {
    pub(super) error: MatrixError,
    pub(super) parts: Box<SlicedEllParts<V>>,
}

/// Slice offsets, column indices, values, and the row order.
pub(super) type SlicedEllParts<V> = (Vec<u64>, Vec<u32>, Vec<V>, Option<RowOrder>);

impl<V> InvalidSlicedEll<V> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// Returns the buffers unchanged: slice offsets, column indices, values, and the row order.
    pub fn into_parts(self) -> (Vec<u64>, Vec<u32>, Vec<V>, Option<RowOrder>) {
        *self.parts
    }
}

refused!(InvalidSlicedEll<V>);
