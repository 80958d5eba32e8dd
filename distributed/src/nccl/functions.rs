//! NVIDIA's library for communication between GPUs, loaded at run time.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

#[cfg(windows)]
const LIBRARY: &str = "nccl.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libnccl.so.2";

/// Environment variable with folders to search if the system's loader does not find the library.
const FOLDERS: &str = "EVENPATH_NCCL_PATH";

/// First version with non-blocking communicators.
const OLDEST: c_int = 21_400;

/// First version that splits communicators.
const FIRST_WITH_SPLIT: c_uint = 21_800;

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const INVALID_USAGE: c_int = 5;
pub(crate) const IN_PROGRESS: c_int = 7;
/// `ncclUint8`.
pub(crate) const BYTES: c_int = 1;

/// `ncclComm_t`.
pub(crate) type Handle = *mut c_void;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(crate) [u8; 128]);

/// Size of a configuration of version 2.14, in bytes.
const OLDEST_CONFIG: usize = 24;

/// `NCCL_CONFIG_UNDEF_INT`: the library's default.
const DEFAULT: c_int = c_int::MIN;

/// `ncclConfig_t` of version 2.18, which starts with that of 2.14. Later versions accept it too: they check
/// its version, and use defaults for missing fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Config {
    pub(crate) size: usize,
    pub(crate) magic: c_uint,
    pub(crate) version: c_uint,
    pub(crate) blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    pub(crate) split_share: c_int,
}

impl Config {
    /// Configuration for blocking calls.
    pub(crate) fn blocking() -> Self {
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: FIRST_WITH_SPLIT,
            blocking: 1,
            cga_cluster_size: DEFAULT,
            min_ctas: DEFAULT,
            max_ctas: DEFAULT,
            net_name: std::ptr::null(),
            split_share: DEFAULT,
        }
    }

    /// Configuration for non-blocking calls. If the library can split communicators, the split ones share its
    /// connections.
    pub(crate) fn non_blocking(can_split: bool) -> Self {
        let config = Self { blocking: 0, split_share: 1, ..Self::blocking() };
        if can_split { config } else { Self { size: OLDEST_CONFIG, version: OLDEST as c_uint, ..config } }
    }
}

/// `ncclCommSplit`.
pub(crate) type Split = unsafe extern "C" fn(Handle, c_int, c_int, *mut Handle, *mut Config) -> c_int;

macro_rules! functions {
    ($($name:ident($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        /// Functions of the library, by their names there.
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Since version 2.18.
            pub(crate) ncclCommSplit: Option<Split>,
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl Functions {
            fn find(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of the library's header, for every version since 2.14; an enum of C is an int. The
                // library stays open.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)*
                        ncclCommSplit: library.get(b"ncclCommSplit\0").ok().map(|split| *split),
                    })
                }
            }
        }
    };
}

functions! {
    ncclGetVersion(*mut c_int) -> c_int;
    ncclGetUniqueId(*mut UniqueId) -> c_int;
    ncclCommInitRankConfig(*mut Handle, c_int, UniqueId, c_int, *mut Config) -> c_int;
    ncclGroupStart() -> c_int;
    ncclGroupEnd() -> c_int;
    ncclSend(*const c_void, usize, c_int, c_int, Handle, *mut c_void) -> c_int;
    ncclRecv(*mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> c_int;
    ncclCommGetAsyncError(Handle, *mut c_int) -> c_int;
    ncclCommFinalize(Handle) -> c_int;
    ncclCommDestroy(Handle) -> c_int;
    ncclCommAbort(Handle) -> c_int;
    ncclGetErrorString(c_int) -> *const c_char;
    ncclGetLastError(Handle) -> *const c_char;
}

impl Functions {
    /// Returns the functions of the library, loaded by the first call of the process, or the reason why it
    /// cannot be used.
    pub(crate) fn load() -> Result<Self, String> {
        static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
        LOADED.get_or_init(|| open(&folders())).clone()
    }

    /// The version's number: 10000 times the major, 100 times the minor, and the patch.
    pub(crate) fn version(&self) -> Result<u32, String> {
        let mut version = 0;
        // SAFETY: there is room for the number.
        let code = unsafe { (self.ncclGetVersion)(&raw mut version) };
        if code != SUCCESS {
            return Err(self.describe("ncclGetVersion", code, std::ptr::null_mut()));
        }
        if version < OLDEST {
            return Err(format!("NCCL is version {version}, but must be 2.14 or later"));
        }
        Ok(version as u32)
    }

    /// The function that splits communicators so that connections are shared, if the library has it.
    pub(crate) fn split(&self) -> Option<Split> {
        self.ncclCommSplit.filter(|_| self.version().is_ok_and(|version| version >= FIRST_WITH_SPLIT))
    }

    /// Describes the result of a call.
    pub(crate) fn describe(&self, call: &str, code: c_int, handle: Handle) -> String {
        // SAFETY: the function takes any code.
        let meaning = unsafe { text((self.ncclGetErrorString)(code)) };
        // SAFETY: the communicator is live, or there is none, which the function allows.
        let last = unsafe { text((self.ncclGetLastError)(handle)) };
        let last = if last.is_empty() { last } else { format!(" ({last})") };
        format!("`{call}` answered {code}, {meaning}{last}")
    }
}

/// # Safety
///
/// The pointer is null or points to a string.
unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().trim().to_owned()
}

fn folders() -> Vec<PathBuf> {
    std::env::var_os(FOLDERS).map_or_else(Vec::new, |folders| std::env::split_paths(&folders).collect())
}

/// Loads the library from where the system's loader finds it, or from one of the folders. It is never
/// unloaded.
fn open(folders: &[PathBuf]) -> Result<Functions, String> {
    let in_folders = folders.iter().map(|folder| folder.join(LIBRARY)).filter(|path| path.exists());
    let mut reasons = Vec::new();
    for path in std::iter::once(PathBuf::from(LIBRARY)).chain(in_folders) {
        // SAFETY: this runs the initializers of a library that the user has installed, or named in a variable, under NCCL's name.
        let found = unsafe { Library::new(&path) };
        let found = found.and_then(|library| Functions::find(Box::leak(Box::new(library))));
        match found {
            Ok(functions) => return Ok(functions),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(format!("NCCL was not found: {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_that_of_the_header() {
        assert_eq!((size_of::<Config>(), std::mem::offset_of!(Config, blocking)), (48, 16));
        assert_eq!(std::mem::offset_of!(Config, cga_cluster_size) + 4, OLDEST_CONFIG);
        assert_eq!(std::mem::offset_of!(Config, net_name), 32);
        assert_eq!(std::mem::offset_of!(Config, split_share), 40);
        assert_eq!(size_of::<UniqueId>(), 128);
    }

    /// Builds a library with all functions except one, of which only the version's does anything.
    fn build(folder: &std::path::Path, version: u32, missing: &str) {
        let function = |name: &&str| {
            let (argument, body) = match *name {
                "ncclGetVersion" => ("v: *mut u32", format!("unsafe {{ *v = {version} }};")),
                _ => ("", String::new()),
            };
            format!("#[unsafe(no_mangle)] pub extern \"C\" fn {name}({argument}) -> i32 {{ {body} 0 }}\n")
        };
        let source: String = NAMES.iter().filter(|name| **name != missing).map(function).collect();
        let path = folder.join("nccl.rs");
        std::fs::write(&path, source).unwrap();
        let status = std::process::Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .args(["--edition=2024", "--crate-type=cdylib", "-Anon_snake_case", "-o"])
            .args([&folder.join(LIBRARY), &path])
            .status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn libraries_in_folders_are_found() {
        if open(&[]).is_ok() {
            return println!("SKIPPED: the system's loader has NCCL");
        }
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        build(folders[0].path(), 22_803, "ncclCommAbort");
        build(folders[1].path(), 21_304, "");
        build(folders[2].path(), 22_803, "");
        let folders = folders.each_ref().map(|folder| folder.path().to_owned());
        let Err(reason) = open(&folders[..1]) else { panic!("a function is missing") };
        assert!(reason.contains("ncclCommAbort"), "{reason}");
        let old = open(&folders[..2]).unwrap().version().unwrap_err();
        assert_eq!(old, "NCCL is version 21304, but must be 2.14 or later");
        assert_eq!(open(&folders[2..]).unwrap().version(), Ok(22_803));
    }

    #[test]
    fn invalid_libraries_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LIBRARY), b"nothing").unwrap();
        let absent = open(&[]);
        let Err(reason) = open(&[folder.path().to_owned()]) else { return assert!(absent.is_ok()) };
        assert!(reason.starts_with("NCCL was not found: ") && reason.contains("; "), "{reason}");
        assert!(reason.contains(&folder.path().display().to_string()), "{reason}");
    }
}
