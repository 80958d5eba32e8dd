//! The NVIDIA driver, found at run time.
//!
//! `cust` declares the driver's functions as symbols that the linker must find. This library defines those
//! symbols as trampolines into the machine's `libcuda.so.1`. One binary thus runs with and without a driver:
//! without one, every function returns [`CUresult::CUDA_ERROR_NO_DEVICE`].
//!
//! The trampolines also keep a promise that `cust` relies on but the driver does not give: `cust` takes
//! results as a Rust enum, and a newer driver may return a code that the enum lacks. Such a code becomes
//! [`CUresult::CUDA_ERROR_UNKNOWN`]; [`CallError`] keeps the original.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use cust::error::CudaError;
use cust::sys::CUresult;
use libloading::Library;

use symbols::Functions;

#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";

/// The loaded driver. It is never unloaded.
pub(super) struct Driver {
    functions: Functions,
    get_error_name: Option<Describe>,
    get_error_string: Option<Describe>,
}

/// `cuGetErrorName` and `cuGetErrorString`, taking any code instead of the enum.
type Describe = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

thread_local! {
    /// Last error code that a trampoline returned in this thread.
    static LAST_FAILURE: Cell<c_int> = const { Cell::new(0) };
}

/// Returns the driver, loaded by the first call of the process; the error is the loader's reason.
pub(super) fn load() -> Result<&'static Driver, &'static str> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    DRIVER.get_or_init(|| open(LIBRARY)).as_ref().map_err(String::as_str)
}

fn open(name: &str) -> Result<Driver, String> {
    // SAFETY: this runs the initialisers of the library that the system's loader finds by the driver's name;
    // like every CUDA program, this one trusts it to be the driver.
    let library = unsafe { load_system_library(name) }.map_err(|error| error.to_string())?;
    let driver = Driver {
        functions: Functions::find(&library),
        // SAFETY: the types are the driver's documented signatures; an enum of C is an int.
        get_error_name: unsafe { symbol(&library, "cuGetErrorName") },
        // SAFETY: as above.
        get_error_string: unsafe { symbol(&library, "cuGetErrorString") },
    };
    // The function pointers are used until the process ends.
    std::mem::forget(library);
    Ok(driver)
}

/// Loads a library from where the system's loader looks for it; the program's folder and the current one are
/// not searched.
///
/// # Safety
/// The library's initialisers run.
#[cfg(not(windows))]
unsafe fn load_system_library(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { Library::new(name) }
}

/// Loads a library from the folder `System32`, where the driver is installed: by default Windows would search
/// the program's folder first, and also the current one.
///
/// # Safety
/// The library's initialisers run.
#[cfg(windows)]
unsafe fn load_system_library(name: &str) -> Result<Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library as WindowsLibrary};

    // SAFETY: guaranteed by the caller.
    unsafe { WindowsLibrary::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32) }.map(Library::from)
}

/// Returns the function of the given name, if the library has it.
///
/// # Safety
/// `F` must be the type of a function pointer with the function's signature, and must not be used after the
/// library is unloaded.
pub(super) unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller guarantees the type.
    unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
}

/// Number and duration of driver calls, while they are measured.
struct Calls {
    is_measured: AtomicBool,
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

static CALLS: Calls =
    Calls { is_measured: AtomicBool::new(false), count: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) };

/// Starts or stops measuring the driver calls of this process. Returns their number and duration since
/// measuring started.
#[cfg(feature = "lab")]
pub(crate) fn measure_calls(is_measured: bool) -> (u64, std::time::Duration) {
    CALLS.is_measured.store(is_measured, Relaxed);
    (CALLS.count.swap(0, Relaxed), std::time::Duration::from_nanos(CALLS.nanoseconds.swap(0, Relaxed)))
}

/// Calls `function` with the driver's functions and converts its result to the enum.
fn forward(function: impl FnOnce(&Functions) -> Option<c_int>) -> CUresult {
    let begin = CALLS.is_measured.load(Relaxed).then(Instant::now);
    let code = match load() {
        Err(_) => CUresult::CUDA_ERROR_NO_DEVICE as c_int,
        Ok(driver) => function(&driver.functions).unwrap_or(CUresult::CUDA_ERROR_NOT_FOUND as c_int),
    };
    if let Some(begin) = begin {
        CALLS.count.fetch_add(1, Relaxed);
        CALLS.nanoseconds.fetch_add(begin.elapsed().as_nanos() as u64, Relaxed);
    }
    if code != 0 {
        LAST_FAILURE.set(code);
    }
    to_result(code)
}

/// Converts a code to the enum; `CUDA_ERROR_UNKNOWN` if the enum lacks it.
fn to_result(code: c_int) -> CUresult {
    let known = matches!(
        code,
        0..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600
            | 700..=705 | 708..=720 | 800..=809 | 900..=911 | 999
    );
    if known {
        // SAFETY: `CUresult` is `repr(i32)` and has a variant for each of these values in every 0.11 release of
        // `cust_raw`; the test below spells out the ends of the ranges.
        unsafe { std::mem::transmute::<c_int, CUresult>(code) }
    } else {
        CUresult::CUDA_ERROR_UNKNOWN
    }
}

/// A call of the driver that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallError {
    pub(super) call: &'static str,
    /// The driver's code, which the enum may lack.
    pub(super) code: i32,
}

/// Converts the result of a `cust` call that was just made in this thread.
pub(super) fn check<T>(call: &'static str, result: Result<T, CudaError>) -> Result<T, CallError> {
    result.map_err(|error| match error {
        // `cust` returns this also for every code that it does not list.
        CudaError::UnknownError => CallError { call, code: LAST_FAILURE.get() },
        listed => CallError { call, code: listed as i32 },
    })
}

/// Converts the result of a driver function that was just called in this thread.
pub(super) fn check_raw(call: &'static str, result: CUresult) -> Result<(), CallError> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CallError { call, code: LAST_FAILURE.get() }),
    }
}

/// Returns the driver's name and text for a code, such as `CUDA_ERROR_INVALID_VALUE: invalid argument`.
pub(super) fn describe(code: i32) -> String {
    let Ok(driver) = load() else {
        return format!("error {code} without a driver");
    };
    let text = |function: Option<Describe>| {
        let mut text = std::ptr::null();
        // SAFETY: the functions take any code and return a static string, or an error and null.
        let status = unsafe { function?(code, &raw mut text) };
        // SAFETY: on success the driver has set `text` to a string of its own that is never freed.
        (status == 0 && !text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
    };
    match (text(driver.get_error_name), text(driver.get_error_string)) {
        (Some(name), Some(text)) => format!("{name}: {text}"),
        (Some(name), None) => name.into_owned(),
        _ => format!("CUDA error {code}"),
    }
}

/// Declares the driver's functions: a table of pointers into the driver, and for each a symbol of the same
/// name for the linker, which calls through the table. A signature that differs from the one `cust` uses does
/// not compile.
macro_rules! trampolines {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// Pointers to the driver's functions; `None` if this driver lacks one.
        #[allow(non_snake_case)]
        pub(super) struct Functions {
            $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
        }

        impl Functions {
            pub(super) fn find(library: &libloading::Library) -> Self {
                Self {
                    // SAFETY: the signatures are those of the driver's header, through `cust_raw`.
                    $($name: unsafe { super::symbol(library, stringify!($name)) },)*
                }
            }
        }

        $(
            const _: unsafe extern "C" fn($($type),*) -> CUresult = cust::sys::$name;

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                // SAFETY: the caller keeps the driver's contract for the function, and the arguments pass
                // unchanged.
                super::forward(|driver| driver.$name.map(|function| unsafe { function($($argument),*) }))
            }
        )*
    };
}

mod symbols;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_enum_pass_and_others_become_unknown() {
        let known = [
            CUresult::CUDA_SUCCESS,
            CUresult::CUDA_ERROR_PROFILER_ALREADY_STOPPED,
            CUresult::CUDA_ERROR_STUB_LIBRARY,
            CUresult::CUDA_ERROR_NO_DEVICE,
            CUresult::CUDA_ERROR_DEVICE_NOT_LICENSED,
            CUresult::CUDA_ERROR_INVALID_IMAGE,
            CUresult::CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
            CUresult::CUDA_ERROR_MAP_FAILED,
            CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
            CUresult::CUDA_ERROR_INVALID_SOURCE,
            CUresult::CUDA_ERROR_OPERATING_SYSTEM,
            CUresult::CUDA_ERROR_INVALID_HANDLE,
            CUresult::CUDA_ERROR_ILLEGAL_STATE,
            CUresult::CUDA_ERROR_NOT_FOUND,
            CUresult::CUDA_ERROR_NOT_READY,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
            CUresult::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
            CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            CUresult::CUDA_ERROR_NOT_PERMITTED,
            CUresult::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
            CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            CUresult::CUDA_ERROR_EXTERNAL_DEVICE,
            CUresult::CUDA_ERROR_UNKNOWN,
        ];
        for result in known {
            assert_eq!(to_result(result as c_int), result);
        }
        for code in [-1, 9, 33, 99, 103, 203, 204, 225, 305, 402, 601, 706, 707, 721, 810, 912, 1000] {
            assert_eq!(to_result(code), CUresult::CUDA_ERROR_UNKNOWN, "code {code}");
        }
    }

    #[test]
    fn a_missing_library_is_an_error_that_names_it() {
        let reason = open("libevenpath-no-such-driver.so.1").err().expect("no such library");
        assert!(reason.contains("libevenpath-no-such-driver.so.1"), "{reason}");
    }

    #[test]
    fn codes_that_cust_does_not_list_are_kept() {
        LAST_FAILURE.set(222);
        let code = |error| check::<()>("cuInit", Err(error)).unwrap_err().code;
        assert_eq!(code(CudaError::UnknownError), 222);
        assert_eq!(code(CudaError::OutOfMemory), 2);
    }
}
