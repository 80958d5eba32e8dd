//! Functions of the library.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use super::types::{Object, SUCCESS, meaning};
use crate::error::Error;

/// Environment variable with the library's file.
const FILE: &str = "EVENPATH_CUDSS";

/// Names that the system's loader knows it by.
#[cfg(windows)]
const NAMES: [&str; 2] = ["cudss64_1.dll", "cudss64_0.dll"];
#[cfg(not(windows))]
const NAMES: [&str; 2] = ["libcudss.so.1", "libcudss.so.0"];

/// First version whose functions have these parameters: 0.8.
const OLDEST: u32 = 800;

/// How to get the library.
const REMEDY: &str = "`pip install nvidia-cudss-cu13` installs it, for drivers of CUDA 13; the variable EVENPATH_CUDSS then names its file \
    libcudss.so.1. With the option `with_host_fallback` the host solves";

macro_rules! functions {
    ($($name:ident($($argument:ty),* $(,)?);)*) => {
        /// Functions of the library, by their names there. Each returns a status.
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub(in crate::direct) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            fn find(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of the library's header, for the versions that are accepted; an enum of C is an int. The
                // library stays open.
                unsafe { Ok(Self { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* }) }
            }
        }
    };
}

functions! {
    cudssGetProperty(c_int, *mut c_int);
    cudssCreate(*mut Object);
    cudssDestroy(Object);
    cudssSetStream(Object, *mut c_void);
    cudssConfigCreate(*mut Object);
    cudssConfigDestroy(Object);
    cudssConfigSet(Object, c_int, *const c_void, usize);
    cudssDataCreate(Object, *mut Object);
    cudssDataDestroy(Object, Object);
    cudssDataGet(Object, Object, c_int, *mut c_void, usize, *mut usize);
    cudssMatrixCreateCsr(
        *mut Object, i64, i64, i64, *const c_void, *const c_void, *const c_void, *const c_void, c_int, c_int, c_int, c_int, c_int, c_int,
    );
    cudssMatrixCreateDn(*mut Object, i64, i64, i64, *const c_void, c_int, c_int);
    cudssMatrixSetValues(Object, *const c_void);
    cudssMatrixDestroy(Object);
    cudssExecute(Object, c_int, Object, Object, Object, Object, Object);
}

impl Functions {
    /// Returns the functions of the library, loaded by the first call of the process, or the reason why it cannot be used.
    pub(in crate::direct) fn load() -> Result<Self, Error> {
        static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| {
            let file = std::env::var_os(FILE).map(PathBuf::from);
            open(file.as_deref(), &NAMES.map(PathBuf::from))
        });
        loaded.clone().map_err(|reason| Error::NoLibrary { library: "cuDSS", reason, remedy: REMEDY })
    }

    /// The version's number: 10000 times the major, 100 times the minor, and the patch.
    pub(super) fn version(&self) -> Result<u32, String> {
        let mut version = 0;
        for property in 0..3 {
            let mut part: c_int = 0;
            // SAFETY: there is room for the number.
            let status = unsafe { (self.cudssGetProperty)(property, &raw mut part) };
            if status != SUCCESS {
                return Err(format!("`cudssGetProperty` answered {status}, {}", meaning(status)));
            }
            version = version * 100 + part as u32;
        }
        Ok(version)
    }
}

/// Loads the file, or the first library that can be used of those that the system's loader knows. It is never unloaded.
pub(super) fn open(file: Option<&Path>, names: &[PathBuf]) -> Result<Functions, String> {
    let mut reasons = Vec::new();
    let names = if file.is_some() { &[] } else { names };
    for path in file.into_iter().chain(names.iter().map(PathBuf::as_path)) {
        // SAFETY: this runs the initializers of a library that the user has installed under cuDSS's name, or named in a variable.
        let library = unsafe { Library::new(path) };
        match library.and_then(|library| Functions::find(Box::leak(Box::new(library)))) {
            Ok(functions) => match functions.version() {
                Ok(OLDEST..) => return Ok(functions),
                Ok(version) => reasons.push(format!(
                    "{} is version {}.{}, but must be 0.8 or later",
                    path.display(),
                    version / 10_000,
                    version / 100 % 100
                )),
                Err(reason) => reasons.push(reason),
            },
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(reasons.join("; "))
}
