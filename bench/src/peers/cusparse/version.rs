//! The library: its open versions.

use std::ffi::{c_int, c_void};
use std::ptr;

use libloading::Library;

use super::functions::{Functions, Optional};
use crate::peers::cuda::{Runtime, library_folders, text_of};
use crate::peers::library::{open, open_file, paths_of};
use crate::peers::peer::Peer;
use crate::peers::{Operation, PeerError};

/// Further libraries to open, by file.
const FILES_VARIABLE: &str = "EVENPATH_CUSPARSE";
/// Its name among peers.
pub(super) const LIBRARY: &str = "cusparse";
/// The name of the one that is opened first.
const FIRST: &str = "libcusparse.so.12";

/// The open versions of the library, on one GPU, in the primary context. They share memory and events.
pub(crate) struct Cusparse {
    pub(super) runtime: Runtime,
    pub(super) versions: Vec<Version>,
}

/// One version of the library.
pub(super) struct Version {
    pub(super) runtime: Runtime,
    pub(super) library: &'static Library,
    pub(super) functions: Functions,
    pub(super) optional: Optional,
    pub(super) handle: *mut c_void,
    /// Such as `12.6.3`.
    pub(super) name: String,
}

/// `cusparseOperation_t`.
pub(super) fn code(operation: Operation) -> c_int {
    match operation {
        Operation::Direct => 0,
        Operation::Transposed => 1,
    }
}

impl Cusparse {
    /// Opens the library on the GPU with this number: first the one in the folders of the loader, the toolkit or the
    /// variable `EVENPATH_CUDA_LIBRARIES`, then the files that `EVENPATH_CUSPARSE` lists. Also returns why others cannot be
    /// used: they are not found, lack a function, or have the version of one before; or there is no CUDA runtime or GPU.
    pub(crate) fn open(ordinal: u32) -> (Option<Self>, Vec<PeerError>) {
        let runtime = match Runtime::open(ordinal) {
            Ok(runtime) => runtime,
            Err(error) => return (None, vec![error]),
        };
        let folders = library_folders();
        // They look for it by name, in their own folder and those of the loader. Not every version needs it.
        for name in ["libnvJitLink.so.13", "libnvJitLink.so.12"] {
            let _ = open("nvJitLink", &[name], &folders);
        }
        let first = (FIRST.to_owned(), open("cuSPARSE", &[FIRST], &folders));
        let files = paths_of(FILES_VARIABLE).into_iter();
        let further = files.map(|path| (path.display().to_string(), open_file("cuSPARSE", &path)));
        let (mut versions, mut absent) = (Vec::<Version>::new(), Vec::new());
        for (file, library) in std::iter::once(first).chain(further) {
            match library.and_then(|library| Version::new(runtime, library)) {
                Ok(version) if versions.iter().any(|known| known.name == version.name) => {
                    let reason = format!("{file}: cuSPARSE {} is open already", version.name);
                    absent.push(PeerError::Unsuitable(reason));
                }
                Ok(version) => versions.push(version),
                Err(error @ PeerError::Absent { .. }) => absent.push(error),
                Err(error) => absent.push(PeerError::Unsuitable(format!("{file}: {error}"))),
            }
        }
        let opened = (!versions.is_empty()).then_some(Self { runtime, versions });
        (opened, absent)
    }

    /// The names of the open versions, in the order in which they were opened.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(|version| version.name.as_str())
    }
}

/// The name of a version, from `CUSPARSE_VERSION`: major * 1000 + minor * 100 + patch.
fn version_name(version: c_int) -> String {
    format!("{}.{}.{}", version / 1000, version / 100 % 10, version % 100)
}

impl Version {
    fn new(runtime: Runtime, library: &'static Library) -> Result<Self, PeerError> {
        let functions = Functions::find(library)?;
        let optional = Optional::default();
        let handle = ptr::null_mut();
        let mut version = Self { runtime, library, functions, optional, handle, name: String::new() };
        // SAFETY: the handle is written to a valid location.
        let code = unsafe { (functions.cusparseCreate)(&raw mut version.handle) };
        version.check("cusparseCreate", code)?;
        let mut number = 0;
        // SAFETY: the handle is valid; the number is written to a valid location.
        let code = unsafe { (functions.cusparseGetVersion)(version.handle, &raw mut number) };
        version.check("cusparseGetVersion", code)?;
        version.name = version_name(number);
        version.optional = Optional::find(library, number);
        Ok(version)
    }

    pub(super) fn check(&self, function: &'static str, code: c_int) -> Result<(), PeerError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: accepts any code, and returns a constant string.
        let reason = unsafe { text_of((self.functions.cusparseGetErrorString)(code)) };
        Err(PeerError::Call { function, code, reason })
    }

    /// An algorithm of this version.
    pub(super) fn peer<O>(
        &self,
        algorithm: &str,
        format: &'static str,
        outcome: Result<O, PeerError>,
    ) -> Peer<O> {
        Peer { version: Some(self.name.clone()), format, ..Peer::of_csr(LIBRARY, algorithm, outcome) }
    }
}

impl Drop for Version {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: this object owns the handle. A failure cannot be handled.
            unsafe { (self.functions.cusparseDestroy)(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_named_by_their_numbers() {
        assert_eq!([12_603, 12_904, 13_012].map(version_name), ["12.6.3", "12.9.4", "13.0.12"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_without_the_functions_names_the_first() {
        let library = open("the C library", &["libc.so.6"], &[]).expect("every system has it");
        let Err(error) = Functions::find(library) else { panic!("it is not cuSPARSE") };
        let text = error.to_string();
        assert!(text.starts_with("cuSPARSE cannot be used: ") && text.contains("cusparseCreate"), "{text}");
        let found = Optional::find(library, 12_904);
        let Optional { spmv_preprocess, sliced_ell, bsr, bsrmv, spmv_op, spgeam } = found;
        assert!(spmv_preprocess.is_none() && sliced_ell.is_none() && bsr.is_none() && bsrmv.is_none());
        assert!(spmv_op.is_none() && spgeam.is_none());
    }
}
