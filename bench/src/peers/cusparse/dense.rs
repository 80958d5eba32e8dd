//! Dense matrices.

use std::ffi::c_int;

use evenpath::Layout;

use super::call::{Descriptor, describe};
use super::version::Version;
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerValue};

/// `cusparseOrder_t`, and the leading dimension of a matrix without gaps.
fn order(layout: Layout, rows: usize, cols: usize) -> (c_int, usize) {
    match layout {
        Layout::ColumnMajor => (1, rows),
        Layout::RowMajor => (2, cols),
    }
}

impl Version {
    /// A descriptor of a dense matrix, which must have all of its elements and outlive the descriptor.
    pub(super) fn dense<V: PeerValue>(
        &self,
        (rows, cols): (usize, usize),
        layout: Layout,
        elements: &Buffer<V>,
    ) -> Result<Descriptor, PeerError> {
        let (order, leading) = order(layout, rows, cols);
        let (rows, cols, leading) = (rows as i64, cols as i64, leading.max(1) as i64);
        // SAFETY: the descriptor is written to a valid location; the elements are not accessed.
        unsafe {
            describe! {
                self, self.functions, cusparseCreateDnMat(rows, cols, leading, elements, V::CUDA_TYPE, order),
                cusparseDestroyDnMat
            }
        }
    }
}
