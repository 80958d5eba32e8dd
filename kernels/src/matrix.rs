//! Views of sparse matrices, as kernels get them.

use evenpath_simt::{parameters, Element, Global};

use crate::Offset;

parameters! {
    /// The pattern of a CSR matrix.
    pub struct Pattern<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one per nonzero.
        pub column_indices: Global<u32>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Rows of the matrix.
        pub rows: u32,
    }
}

parameters! {
    /// A CSR matrix.
    pub struct CsrView<V: Element, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one per nonzero.
        pub column_indices: Global<u32>,
        /// Values, one per nonzero.
        pub values: Global<V>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Rows of the matrix.
        pub rows: u32,
    }
}

impl<V: Element, O: Offset> CsrView<V, O> {
    /// The matrix without its values.
    #[inline(always)]
    pub fn pattern(self) -> Pattern<O> {
        let Self { row_offsets, column_indices, nonzeros, rows, .. } = self;
        Pattern { row_offsets, column_indices, nonzeros, rows }
    }
}
