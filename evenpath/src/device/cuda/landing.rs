//! Page-locked host memory. Copies of small results land there, since the driver takes twice as long to bring them anywhere else, and
//! kernels can store in it.

use std::ffi::c_void;

use cust::sys;

use super::driver::{CallError, check_raw};

/// Bytes that can land.
pub(super) const LANDING_BYTES: usize = 4096;

/// The memory. It is of the context that is current when it is made, and freed in it.
pub(super) struct Landing {
    address: *mut c_void,
}

// SAFETY: it is plain memory, which whoever has the object may use from any thread.
unsafe impl Send for Landing {}

impl Landing {
    pub(super) fn new() -> Result<Self, CallError> {
        let mut address = std::ptr::null_mut();
        // SAFETY: `address` is live for the call.
        check_raw("cuMemAllocHost", unsafe { sys::cuMemAllocHost_v2(&raw mut address, LANDING_BYTES) })?;
        Ok(Self { address })
    }

    /// The memory, [`LANDING_BYTES`] long. It is written by copies and kernels until the stream was waited for.
    pub(super) fn address(&self) -> *mut c_void {
        self.address
    }

    /// Takes out what landed, after the stream was waited for.
    pub(super) fn take(&mut self, bytes: &mut [u8]) {
        let len = bytes.len().min(LANDING_BYTES);
        // SAFETY: the memory has as many bytes, which `cuMemAllocHost` or a copy wrote; it is no slice of Rust's.
        unsafe { std::ptr::copy_nonoverlapping(self.address.cast(), bytes.as_mut_ptr(), len) };
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // SAFETY: the memory is this object's own. After a fault the call fails, and the context's end frees it.
        unsafe { sys::cuMemFreeHost(self.address) };
    }
}
