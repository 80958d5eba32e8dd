//! NVIDIA's cuSPARSE, through its generic functions.

mod formats;
mod functions;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod transpose;

pub use spadd::SpaddTimes;
pub use spgemm::{PeerRows, SpgemmProblem, SpgemmRun, SpgemmTimes};
pub use spmm::{Layout, SpmmProblem};
pub use spmv::SpmvProblem;

use std::ffi::{c_int, c_void};
use std::ptr;

use libloading::Library;

use super::cuda::{Runtime, library_folders, text_of};
use super::library::open;
use super::{Operation, PeerError, PeerValue};
use functions::{Functions, Optional};

/// The open library, on one GPU, in the primary context. It has separate memory and events.
pub struct Cusparse {
    runtime: Runtime,
    library: &'static Library,
    functions: Functions,
    optional: Optional,
    handle: *mut c_void,
}

/// `cusparseOperation_t`.
fn code(operation: Operation) -> c_int {
    match operation {
        Operation::Direct => 0,
        Operation::Transposed => 1,
    }
}

impl Cusparse {
    /// Opens the library on the GPU with this number.
    ///
    /// # Errors
    ///
    /// If it or the CUDA runtime is not found in the folders of the loader, the toolkit or the variable
    /// `EVENPATH_CUDA_LIBRARIES`; if it lacks a function, or there is no such GPU.
    pub fn open(ordinal: u32) -> Result<Self, PeerError> {
        let runtime = Runtime::open(ordinal)?;
        let library = open("cuSPARSE", &["libcusparse.so.12"], &library_folders())?;
        let functions = Functions::find(library)?;
        let mut opened =
            Self { runtime, library, functions, optional: Optional::find(library), handle: ptr::null_mut() };
        // SAFETY: the handle is written to a valid location.
        let code = unsafe { (functions.cusparseCreate)(&raw mut opened.handle) };
        opened.check("cusparseCreate", code)?;
        Ok(opened)
    }

    /// The version: major * 1000 + minor * 100 + patch.
    ///
    /// # Errors
    ///
    /// If the library does not report it.
    pub fn version(&self) -> Result<i32, PeerError> {
        let mut version = 0;
        // SAFETY: the handle is valid; the number is written to a valid location.
        let code = unsafe { (self.functions.cusparseGetVersion)(self.handle, &raw mut version) };
        self.check("cusparseGetVersion", code)?;
        Ok(version)
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), PeerError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: accepts any code, and returns a constant string.
        let reason = unsafe { text_of((self.functions.cusparseGetErrorString)(code)) };
        Err(PeerError::Call { function, code, reason })
    }

    /// A descriptor of a dense vector at an address, which must have `len` elements and outlive the
    /// descriptor.
    fn vector<V: PeerValue>(&self, len: usize, address: *mut c_void) -> Result<Descriptor, PeerError> {
        let destroy = self.functions.cusparseDestroyDnVec;
        Descriptor::new(self, "cusparseCreateDnVec", destroy, |descriptor| {
            // SAFETY: the descriptor is written to a valid location; the elements are not accessed.
            unsafe { (self.functions.cusparseCreateDnVec)(descriptor, len as i64, address, V::CUDA_TYPE) }
        })
    }
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: this object owns the handle. A failure cannot be handled.
            unsafe { (self.functions.cusparseDestroy)(self.handle) };
        }
    }
}

/// The library's descriptor of an operand.
struct Descriptor {
    address: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl Descriptor {
    fn new(
        library: &Cusparse,
        function: &'static str,
        destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
        create: impl FnOnce(*mut *mut c_void) -> c_int,
    ) -> Result<Self, PeerError> {
        let mut address = ptr::null_mut();
        library.check(function, create(&raw mut address))?;
        Ok(Self { address, destroy })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: this object owns the descriptor. A failure cannot be handled.
        unsafe { (self.destroy)(self.address) };
    }
}
