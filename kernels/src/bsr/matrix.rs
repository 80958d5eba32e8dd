use evenpath_simt::{parameters, Aligned16, Element, Global};

use crate::Offset;

parameters! {
    /// A matrix in BSR.
    pub struct GlobalBsr<V: Element, O: Offset> {
        /// First block of each block row, `block_rows` + 1.
        pub row_offsets: Global<O>,
        /// Block column of each block.
        pub column_indices: Global<u32>,
        /// Values, block by block, each row by row.
        pub values: Global<V, Aligned16>,
        /// Rows and columns of a block, not 0.
        pub block_size: u32,
        /// Block rows of the matrix.
        pub block_rows: u32,
    }
}
