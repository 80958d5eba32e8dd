//! Rejected matrices with their buffers.

use std::fmt;

use super::MatrixError;

macro_rules! refused {
    ($type:ident<$($parameter:ident),+>) => {
        evenpath_simt::debug_as_message!($type<$($parameter),+>);

        impl<$($parameter),+> fmt::Display for $type<$($parameter),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.error.fmt(f)
            }
        }

        impl<$($parameter),+> std::error::Error for $type<$($parameter),+> {}

        impl<$($parameter),+> From<$type<$($parameter),+>> for MatrixError {
            fn from(refused: $type<$($parameter),+>) -> Self {
                refused.error
            }
        }
    };
}
pub(super) use refused;

/// A rejected CSR matrix: the reason, and the buffers, so that no data is lost.
///
/// ```
/// use evenpath::error::MatrixError;
/// use evenpath::Csr;
///
/// let refused = Csr::<f64>::try_new(1, 1, vec![0, 1], vec![7], vec![5.0]).unwrap_err();
/// assert!(matches!(refused.kind(), MatrixError::ColumnOutOfRange { column: 7, cols: 1, .. }));
/// let (_, _, values) = refused.into_parts(); // the arrays come back
/// assert_eq!(values, [5.0]);
/// ```
pub struct InvalidCsr<V, O = u32> {
    pub(super) error: MatrixError,
    pub(super) row_offsets: Vec<O>,
    pub(super) column_indices: Vec<u32>,
    pub(super) values: Vec<V>,
}

#[cfg(feature = "faer")]
impl<V, O> InvalidCsr<V, O> {
    /// Error for a matrix of these row offsets, column indices and values that was rejected elsewhere.
    pub(crate) fn new(
        (row_offsets, column_indices, values): (Vec<O>, Vec<u32>, Vec<V>),
        error: MatrixError,
    ) -> Self {
        Self { error, row_offsets, column_indices, values }
    }
}

impl<V, O> InvalidCsr<V, O> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// Returns the buffers unchanged: row offsets, column indices, values.
    pub fn into_parts(self) -> (Vec<O>, Vec<u32>, Vec<V>) {
        (self.row_offsets, self.column_indices, self.values)
    }
}

/// A rejected COO matrix: the reason, and the buffers, so that no data is lost.
///
/// ```
/// use evenpath::error::MatrixError;
/// use evenpath::Coo;
///
/// let refused = Coo::<f64>::try_new(1, 1, vec![3], vec![0], vec![5.0]).unwrap_err();
/// assert!(matches!(refused.kind(), MatrixError::RowOutOfRange { row: 3, rows: 1, .. }));
/// let (_, _, values) = refused.into_parts(); // the arrays come back
/// assert_eq!(values, [5.0]);
/// ```
pub struct InvalidCoo<V> {
    pub(super) error: MatrixError,
    pub(super) row_indices: Vec<u32>,
    pub(super) column_indices: Vec<u32>,
    pub(super) values: Vec<V>,
}

impl<V> InvalidCoo<V> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// Returns the buffers unchanged: row indices, column indices, values.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<V>) {
        (self.row_indices, self.column_indices, self.values)
    }
}

/// A rejected ELL matrix: the reason, and the buffers, so that no data is lost.
///
/// ```
/// use evenpath::ell::Ell;
/// use evenpath::error::MatrixError;
///
/// let refused = Ell::<f64>::try_new(2, 1, 1, vec![0], vec![5.0]).unwrap_err();
/// assert!(matches!(refused.kind(), MatrixError::SlotCount { rows: 2, width: 1, found: 1 }));
/// let (_, values) = refused.into_parts(); // the arrays come back
/// assert_eq!(values, [5.0]);
/// ```
pub struct InvalidEll<V> {
    pub(super) error: MatrixError,
    pub(super) column_indices: Vec<u32>,
    pub(super) values: Vec<V>,
}

impl<V> InvalidEll<V> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// Returns the buffers unchanged: column indices, values.
    pub fn into_parts(self) -> (Vec<u32>, Vec<V>) {
        (self.column_indices, self.values)
    }
}

/// A rejected BSR matrix: the reason, and the buffers, so that no data is lost.
///
/// ```
/// use evenpath::bsr::Bsr;
/// use evenpath::error::MatrixError;
///
/// let refused = Bsr::<f64>::try_new(2, 2, 2, vec![0, 1], vec![0], vec![5.0]).unwrap_err();
/// assert!(matches!(refused.kind(), MatrixError::BlockValues { blocks: 1, size: 2, found: 1 }));
/// let (_, _, values) = refused.into_parts(); // the arrays come back
/// assert_eq!(values, [5.0]);
/// ```
pub struct InvalidBsr<V, O = u32> {
    pub(super) error: MatrixError,
    pub(super) row_offsets: Vec<O>,
    pub(super) column_indices: Vec<u32>,
    pub(super) values: Vec<V>,
}

impl<V, O> InvalidBsr<V, O> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// Returns the buffers unchanged: row offsets, column indices, values.
    pub fn into_parts(self) -> (Vec<O>, Vec<u32>, Vec<V>) {
        (self.row_offsets, self.column_indices, self.values)
    }
}

refused!(InvalidCsr<V, O>);
refused!(InvalidBsr<V, O>);
refused!(InvalidCoo<V>);
refused!(InvalidEll<V>);
