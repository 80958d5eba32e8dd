//! Dense vectors.

use super::call::{Descriptor, describe};
use super::version::Version;
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerScalar};

impl Version {
    /// A descriptor of a dense vector, which must have `len` elements and outlive the descriptor.
    pub(super) fn vector<V: PeerScalar>(
        &self,
        len: usize,
        vector: &Buffer<V>,
    ) -> Result<Descriptor, PeerError> {
        // SAFETY: the descriptor is written to a valid location; the elements are not accessed.
        unsafe {
            describe! {
                self, self.functions, cusparseCreateDnVec(len as i64, vector, V::CUDA_TYPE), cusparseDestroyDnVec
            }
        }
    }
}
