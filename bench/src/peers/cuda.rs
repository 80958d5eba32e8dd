//! The CUDA runtime: separate memory and events, for libraries that use it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::ptr;

use bytemuck::Pod;

use super::PeerError;
use super::library::{folders_with_prefix, functions, open, paths_of};
use crate::measure::Clock;

/// Folders with CUDA libraries, searched after those of the loader and the toolkit.
pub(super) const FOLDERS_VARIABLE: &str = "EVENPATH_CUDA_LIBRARIES";

/// `cudaMemcpyKind`: inferred from the addresses.
const COPY_DEFAULT: c_int = 4;

type Stream = *mut c_void;

functions! {
    struct Functions of "the CUDA runtime";
    fn cudaSetDevice(c_int) -> c_int;
    fn cudaMalloc(*mut *mut c_void, usize) -> c_int;
    fn cudaFree(*mut c_void) -> c_int;
    fn cudaMemcpy(*mut c_void, *const c_void, usize, c_int) -> c_int;
    fn cudaMemset(*mut c_void, c_int, usize) -> c_int;
    fn cudaDeviceSynchronize() -> c_int;
    fn cudaEventCreate(*mut *mut c_void) -> c_int;
    fn cudaEventDestroy(*mut c_void) -> c_int;
    fn cudaEventRecord(*mut c_void, Stream) -> c_int;
    fn cudaEventElapsedTime(*mut f32, *mut c_void, *mut c_void) -> c_int;
    fn cudaGetErrorString(c_int) -> *const c_char;
}

/// The runtime, and its legacy default stream.
#[derive(Clone, Copy)]
pub(super) struct Runtime {
    functions: Functions,
}

/// Folders of CUDA libraries, besides those of the loader: those in the variable, then the toolkits, newest first.
pub(super) fn library_folders() -> Vec<PathBuf> {
    let toolkits = folders_with_prefix("/usr/local", "cuda");
    let in_toolkit = |toolkit: &PathBuf| {
        ["targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib64"].map(|part| toolkit.join(part))
    };
    let mut folders = paths_of(FOLDERS_VARIABLE);
    folders.extend(toolkits.iter().flat_map(in_toolkit));
    folders
}

impl Runtime {
    /// Opens the runtime, and selects the GPU with this number for the calling thread.
    pub(super) fn open(ordinal: u32) -> Result<Self, PeerError> {
        let names = ["libcudart.so.13", "libcudart.so.12"];
        let library = open("the CUDA runtime", &names, &library_folders())?;
        let runtime = Self { functions: Functions::find(library)? };
        // SAFETY: accepts any number.
        runtime.check("cudaSetDevice", unsafe { (runtime.functions.cudaSetDevice)(ordinal as c_int) })?;
        Ok(runtime)
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), PeerError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: accepts any code, and returns a constant string.
        let reason = unsafe { text_of((self.functions.cudaGetErrorString)(code)) };
        Err(PeerError::Call { function, code, reason })
    }

    /// Allocates memory for `len` elements.
    pub(super) fn allocate<T: Pod>(&self, len: usize) -> Result<Buffer<T>, PeerError> {
        let mut address = ptr::null_mut();
        // Libraries need an address even for empty arrays.
        let bytes = (len * size_of::<T>()).max(16);
        // SAFETY: the address is written to a valid location.
        self.check("cudaMalloc", unsafe { (self.functions.cudaMalloc)(&raw mut address, bytes) })?;
        Ok(Buffer { runtime: *self, address, len, element: PhantomData })
    }

    /// Copies the elements to the GPU.
    pub(super) fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, PeerError> {
        let buffer = self.allocate(elements.len())?;
        buffer.write(elements)?;
        Ok(buffer)
    }
}

/// An event of the runtime.
pub(super) struct RuntimeEvent {
    runtime: Runtime,
    event: *mut c_void,
}

impl Drop for RuntimeEvent {
    fn drop(&mut self) {
        // SAFETY: this object owns the event. A failure cannot be handled.
        unsafe { (self.runtime.functions.cudaEventDestroy)(self.event) };
    }
}

impl Clock for Runtime {
    type Event = RuntimeEvent;
    type Error = PeerError;

    fn record(&self) -> Result<RuntimeEvent, PeerError> {
        let mut event = ptr::null_mut();
        // SAFETY: the event is written to a valid location.
        self.check("cudaEventCreate", unsafe { (self.functions.cudaEventCreate)(&raw mut event) })?;
        let event = RuntimeEvent { runtime: *self, event };
        // SAFETY: the event exists; null is the legacy default stream.
        let code = unsafe { (self.functions.cudaEventRecord)(event.event, ptr::null_mut()) };
        self.check("cudaEventRecord", code)?;
        Ok(event)
    }

    fn synchronize(&self) -> Result<(), PeerError> {
        // SAFETY: always allowed.
        self.check("cudaDeviceSynchronize", unsafe { (self.functions.cudaDeviceSynchronize)() })
    }

    fn elapsed_ms(&self, start: &RuntimeEvent, end: &RuntimeEvent) -> Result<f64, PeerError> {
        self.synchronize()?;
        let mut ms = 0.0_f32;
        // SAFETY: both events exist and have been recorded.
        let code = unsafe { (self.functions.cudaEventElapsedTime)(&raw mut ms, start.event, end.event) };
        self.check("cudaEventElapsedTime", code)?;
        Ok(f64::from(ms))
    }
}

/// Memory of the GPU.
pub(super) struct Buffer<T> {
    runtime: Runtime,
    address: *mut c_void,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Buffer<T> {
    /// The address on the GPU. Never null.
    pub(super) fn address(&self) -> *mut c_void {
        self.address
    }
}

impl<T: Pod> Buffer<T> {
    /// Replaces the elements, after all work so far.
    ///
    /// # Panics
    ///
    /// If the slice has another length.
    pub(super) fn write(&self, elements: &[T]) -> Result<(), PeerError> {
        assert_eq!(elements.len(), self.len, "one element of the slice for each of the buffer");
        self.runtime.synchronize()?;
        let bytes = size_of_val(elements);
        // SAFETY: the buffer has as many bytes as the slice.
        let code = unsafe {
            (self.runtime.functions.cudaMemcpy)(self.address, elements.as_ptr().cast(), bytes, COPY_DEFAULT)
        };
        self.runtime.check("cudaMemcpy", code)
    }

    /// Sets every bit, which makes floating-point elements NaN, so that unwritten results are detected.
    pub(super) fn fill_with_ones(&self) -> Result<(), PeerError> {
        let bytes = self.len * size_of::<T>();
        // SAFETY: the buffer has that many bytes.
        let code = unsafe { (self.runtime.functions.cudaMemset)(self.address, 0xff, bytes) };
        self.runtime.check("cudaMemset", code)
    }

    /// Waits for the GPU, and copies the elements to the host.
    pub(super) fn download(&self) -> Result<Vec<T>, PeerError> {
        self.runtime.synchronize()?;
        let mut elements = vec![T::zeroed(); self.len];
        let bytes = size_of_val(elements.as_slice());
        // SAFETY: both have that many bytes.
        let code = unsafe {
            (self.runtime.functions.cudaMemcpy)(
                elements.as_mut_ptr().cast(),
                self.address,
                bytes,
                COPY_DEFAULT,
            )
        };
        self.runtime.check("cudaMemcpy", code)?;
        Ok(elements)
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: this object owns the memory, and freeing waits for work that uses it. A failure cannot be handled.
        unsafe { (self.runtime.functions.cudaFree)(self.address) };
    }
}

/// The string at an address returned by a library.
///
/// # Safety
/// The address is null or that of a constant string.
pub(super) unsafe fn text_of(address: *const c_char) -> String {
    if address.is_null() {
        return "unknown".into();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(address) }.to_string_lossy().into_owned()
}
