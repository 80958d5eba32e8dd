//! Rows and columns of dense matrices.

use evenpath_simt::{device, parameters, Aligned16, Element, Global};

parameters! {
    /// The rows of a dense matrix, or its columns.
    pub struct DenseLines<T: Element> {
        /// The elements of the matrix.
        pub values: Global<T, Aligned16>,
        /// Elements from a line to the next.
        pub stride: u64,
        /// Elements from one of a line to the next.
        pub step: u64,
    }
}

impl<T: Element> DenseLines<T> {
    /// Returns the index of an element of a line.
    #[device]
    pub(super) fn index(self, line: u32, element: u32) -> usize {
        (u64::from(line) * self.stride + u64::from(element) * self.step) as usize
    }
}
