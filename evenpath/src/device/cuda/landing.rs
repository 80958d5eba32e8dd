//! Page-locked host memory for small results. The driver takes twice as long to copy anywhere else, and
//! kernels can write to it.

use std::ffi::c_void;

use cust::sys;

use super::driver::{CallError, check_raw};

/// Size in bytes.
pub(super) const LANDING_BYTES: usize = 4096;

/// Page-locked memory. It belongs to the context that is current at its creation, and is freed in it.
pub(super) struct Landing {
    address: *mut c_void,
}

// SAFETY: it is plain memory, which the object's owner may use from any thread.
unsafe impl Send for Landing {}

impl Landing {
    pub(super) fn new() -> Result<Self, CallError> {
        let mut address = std::ptr::null_mut();
        // SAFETY: `address` is live for the call.
        check_raw("cuMemAllocHost", unsafe { sys::cuMemAllocHost_v2(&raw mut address, LANDING_BYTES) })?;
        Ok(Self { address })
    }

    /// Address of the [`LANDING_BYTES`] bytes. Copies and kernels may write to them until the stream has been
    /// waited for.
    pub(super) fn address(&self) -> *mut c_void {
        self.address
    }

    /// Copies the first bytes out, after the stream has been waited for.
    pub(super) fn take(&mut self, bytes: &mut [u8]) {
        let len = bytes.len().min(LANDING_BYTES);
        // SAFETY: the memory has that many bytes, initialized by `cuMemAllocHost` or a copy, and no Rust
        // slice refers to it.
        unsafe { std::ptr::copy_nonoverlapping(self.address.cast(), bytes.as_mut_ptr(), len) };
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // SAFETY: this object owns the memory. After a fault the call fails, and the context's end frees it.
        unsafe { sys::cuMemFreeHost(self.address) };
    }
}
