//! Compiles several kernels at once.
//!
//! The driver compiles one module at a time, on one thread. Since CUDA 12.9 an option allows more threads,
//! which share the kernels of a module; the code is the same as with one thread. The linker also compiles PTX
//! on every thread that calls it, and is older, but its code is relocatable and takes more registers: some
//! sparse products were 16% slower.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::num::NonZeroUsize;
use std::ptr;
use std::thread::available_parallelism;

use cust::sys::{self, CUfunction, CUmodule};

use super::driver::{CallError, check_raw};

/// `CU_JIT_SPLIT_COMPILE`: the number of threads that compile a module. `cust` is older and lacks it.
const SPLIT_COMPILE: c_int = 34;

/// A module of several kernels.
pub(super) struct JointModule(CUmodule);

// SAFETY: a module's handle may be used from any thread whose current context is the module's.
unsafe impl Send for JointModule {}

impl JointModule {
    /// Compiles PTX text on all processors and loads it into the current context.
    ///
    /// # Errors
    ///
    /// If the driver refuses the text, or does not know the option.
    pub(super) fn load(text: &CStr) -> Result<Self, CallError> {
        let threads = available_parallelism().map_or(1, NonZeroUsize::get);
        let mut options = [SPLIT_COMPILE];
        // The driver takes numbers by value, in place of a pointer.
        let mut values = [ptr::without_provenance_mut::<c_void>(threads)];
        let mut module = ptr::null_mut();
        // SAFETY: the text ends in NUL, and the options and values have the given count and live until the
        // call returns. The options are cast because the C enum is an int and the Rust enum lacks this value.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                text.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr().cast(),
                values.as_mut_ptr(),
            )
        };
        check_raw("cuModuleLoadDataEx", result)?;
        Ok(Self(module))
    }

    /// Returns the handle of a kernel, valid as long as the module.
    pub(super) fn function(&self, name: &CStr) -> Result<CUfunction, CallError> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, the name ends in NUL, and `function` is live for the call.
        let result = unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, name.as_ptr()) };
        check_raw("cuModuleGetFunction", result)?;
        Ok(function)
    }
}

impl Drop for JointModule {
    fn drop(&mut self) {
        // SAFETY: it was loaded and is unloaded here alone. An error cannot be handled.
        let _ = unsafe { sys::cuModuleUnload(self.0) };
    }
}
