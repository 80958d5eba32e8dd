//! The calls of the library, one method per signature.

use std::ffi::c_int;
use std::ptr;

use super::functions::{Address, BufferFunction, Functions, PatternFunction, ProductFunction};
use crate::peers::cusparse::functions::DIRECT;
use crate::peers::cusparse::version::{Descriptor, Version};
use crate::peers::{PeerError, PeerValue};

/// The arguments that all calls of one product share.
///
/// Every call is sound for the same reasons: handle and descriptors are valid, of matrices on this GPU with matching
/// sizes; the factors are on the host, where the library expects them by default; sizes are written to valid locations;
/// and a buffer has as many bytes as the call requested when called without one.
pub(super) struct Call<'p, V> {
    pub(super) version: &'p Version,
    pub(super) functions: &'p Functions,
    pub(super) alpha: V,
    pub(super) beta: V,
    pub(super) a: Descriptor,
    pub(super) b: Descriptor,
    pub(super) c: Descriptor,
    pub(super) description: Descriptor,
    pub(super) algorithm: c_int,
}

impl<V: PeerValue> Call<'_, V> {
    pub(super) fn product(&self, name: &'static str, function: ProductFunction) -> Result<(), PeerError> {
        // SAFETY: see `Call`; C has room for its nonzeros.
        let code = unsafe {
            function(
                self.version.handle,
                DIRECT,
                DIRECT,
                ptr::from_ref(&self.alpha).cast(),
                self.a.address,
                self.b.address,
                ptr::from_ref(&self.beta).cast(),
                self.c.address,
                V::CUDA_TYPE,
                self.algorithm,
                self.description.address,
            )
        };
        self.version.check(name, code)
    }

    pub(super) fn with_buffer(
        &self,
        name: &'static str,
        function: BufferFunction,
        bytes: &mut usize,
        address: Address,
    ) -> Result<(), PeerError> {
        // SAFETY: see `Call`.
        let code = unsafe {
            function(
                self.version.handle,
                DIRECT,
                DIRECT,
                ptr::from_ref(&self.alpha).cast(),
                self.a.address,
                self.b.address,
                ptr::from_ref(&self.beta).cast(),
                self.c.address,
                V::CUDA_TYPE,
                self.algorithm,
                self.description.address,
                bytes,
                address,
            )
        };
        self.version.check(name, code)
    }

    pub(super) fn estimate_memory(
        &self,
        share: f32,
        bytes: &mut usize,
        address: Address,
        compute_bytes: &mut usize,
    ) -> Result<(), PeerError> {
        // SAFETY: see `Call`.
        let code = unsafe {
            (self.functions.cusparseSpGEMM_estimateMemory)(
                self.version.handle,
                DIRECT,
                DIRECT,
                ptr::from_ref(&self.alpha).cast(),
                self.a.address,
                self.b.address,
                ptr::from_ref(&self.beta).cast(),
                self.c.address,
                V::CUDA_TYPE,
                self.algorithm,
                self.description.address,
                share,
                bytes,
                address,
                compute_bytes,
            )
        };
        self.version.check("cusparseSpGEMM_estimateMemory", code)
    }

    pub(super) fn with_pattern(
        &self,
        name: &'static str,
        function: PatternFunction,
        bytes: &mut usize,
        address: Address,
    ) -> Result<(), PeerError> {
        // SAFETY: see `Call`; if C is written, it has room for its nonzeros.
        let code = unsafe {
            function(
                self.version.handle,
                DIRECT,
                DIRECT,
                self.a.address,
                self.b.address,
                self.c.address,
                self.algorithm,
                self.description.address,
                bytes,
                address,
            )
        };
        self.version.check(name, code)
    }

    /// Counts the nonzeros of C. Without addresses, returns the sizes of three buffers.
    pub(super) fn count_nonzeros(
        &self,
        bytes: &mut [usize; 3],
        addresses: [Address; 3],
    ) -> Result<(), PeerError> {
        let [second, third, fourth] = bytes;
        // SAFETY: see `Call`.
        let code = unsafe {
            (self.functions.cusparseSpGEMMreuse_nnz)(
                self.version.handle,
                DIRECT,
                DIRECT,
                self.a.address,
                self.b.address,
                self.c.address,
                self.algorithm,
                self.description.address,
                second,
                addresses[0],
                third,
                addresses[1],
                fourth,
                addresses[2],
            )
        };
        self.version.check("cusparseSpGEMMreuse_nnz", code)
    }
}
