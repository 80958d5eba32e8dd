//! Finding and opening shared libraries.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use libloading::Library;

use super::PeerError;

/// Opens the first library found with one of these names: by the system's loader, then in the folders, in order. It is
/// never closed. Its symbols are seen by nothing but itself, so that several versions of it can be open.
pub(super) fn open(
    library: &'static str,
    names: &[&str],
    folders: &[PathBuf],
) -> Result<&'static Library, PeerError> {
    open_first(library, names, folders, Symbols::Own)
}

/// Opens a library as [`open`] does, but with symbols for all libraries, as if the program were linked with it: for
/// libraries that expect another one to be there.
pub(super) fn open_for_all(
    library: &'static str,
    names: &[&str],
    folders: &[PathBuf],
) -> Result<&'static Library, PeerError> {
    open_first(library, names, folders, Symbols::ForAll)
}

/// Opens the library in a file, even if another one with its name is open. It is never closed, and its symbols are seen by
/// nothing but itself.
pub(super) fn open_file(library: &'static str, path: &Path) -> Result<&'static Library, PeerError> {
    let absent = |reason: String| PeerError::Absent { library, reason };
    if !path.is_file() {
        return Err(absent(format!("there is no file {}", path.display())));
    }
    // The loader searches for a name without a folder elsewhere.
    let path = std::path::absolute(path).map_err(|error| absent(format!("{}: {error}", path.display())))?;
    let opened = open_path(&path, Symbols::Own).map_err(|error| absent(error.to_string()))?;
    Ok(Box::leak(Box::new(opened)))
}

/// Which libraries see the symbols of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbols {
    /// Itself. It prefers its own symbols to those that are there already.
    Own,
    /// All that are opened later.
    ForAll,
}

fn open_first(
    library: &'static str,
    names: &[&str],
    folders: &[PathBuf],
    symbols: Symbols,
) -> Result<&'static Library, PeerError> {
    let by_loader = names.iter().map(PathBuf::from);
    let in_folders = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    let mut reasons = Vec::new();
    for path in by_loader.chain(in_folders.filter(|path| path.exists())) {
        match open_path(&path, symbols) {
            Ok(found) => return Ok(Box::leak(Box::new(found))),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(PeerError::Absent { library, reason: reasons.join("; ") })
}

#[cfg(unix)]
fn open_path(path: &Path, symbols: Symbols) -> Result<Library, libloading::Error> {
    use libloading::os::unix;
    let visibility = match symbols {
        Symbols::Own => unix::RTLD_LOCAL | PREFER_OWN,
        Symbols::ForAll => unix::RTLD_GLOBAL,
    };
    // SAFETY: this runs the initializers of a library that the user has installed, or named in a variable, under the
    // expected name.
    unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | visibility) }.map(Library::from)
}

/// The flag by which a library prefers its own symbols.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PREFER_OWN: std::ffi::c_int = libc::RTLD_DEEPBIND;

/// Elsewhere there is none.
#[cfg(all(unix, not(all(target_os = "linux", target_env = "gnu"))))]
const PREFER_OWN: std::ffi::c_int = 0;

#[cfg(not(unix))]
fn open_path(path: &Path, _symbols: Symbols) -> Result<Library, libloading::Error> {
    // SAFETY: as on Unix.
    unsafe { Library::new(path) }
}

/// The paths in an environment variable, separated as in `PATH`; none if it is not set.
pub(super) fn paths_of(variable: &str) -> Vec<PathBuf> {
    std::env::var_os(variable).map_or_else(Vec::new, |paths| split(&paths))
}

/// The paths of a list; empty ones do not count.
fn split(paths: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The folders within `parent` whose names start with `prefix`, in descending order: for version numbers, the newest
/// first.
pub(super) fn folders_with_prefix(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(prefix))
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// Declares a table of functions of a library, by their names there, and `find`, which looks all of them up.
macro_rules! functions {
    ($(#[$attribute:meta])* struct $table:ident of $library:literal;
     $(fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(#[$attribute])*
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub(super) struct $table {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks up every function in a library that stays open.
            pub(super) fn find(
                library: &'static libloading::Library,
            ) -> Result<Self, $crate::peers::PeerError> {
                let absent = |error: libloading::Error| {
                    $crate::peers::PeerError::Absent { library: $library, reason: error.to_string() }
                };
                Ok(Self {
                    $(
                        // SAFETY: the types are those of the library's header.
                        $name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }
                            .map_err(absent)?,
                    )*
                })
            }
        }
    };
}

pub(super) use functions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let error =
            open("libnothing", &["libnothing.so.1", "libnothing.so.2"], &["/no/folder".into()]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("libnothing cannot be used: ") && text.contains("libnothing.so.2"),
            "{text}"
        );
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = |path: &Path| open_file("cuSPARSE", path).unwrap_err().to_string();
        let missing = folder.path().join("libcusparse.so.12");
        assert_eq!(
            error(&missing),
            format!("cuSPARSE cannot be used: there is no file {}", missing.display())
        );
        // A folder is no file either.
        assert!(error(folder.path()).contains("there is no file"));
        std::fs::write(&missing, "no library").expect("a file");
        let text = error(&missing);
        assert!(
            text.starts_with("cuSPARSE cannot be used: ") && text.contains("libcusparse.so.12"),
            "{text}"
        );
    }

    #[test]
    fn empty_paths_of_a_list_do_not_count() {
        let joined = std::env::join_paths(["", "/a/one.so", "", "two.so"]).expect("a list");
        assert_eq!(split(&joined), [PathBuf::from("/a/one.so"), PathBuf::from("two.so")]);
        assert!(split(OsStr::new("")).is_empty());
    }

    #[test]
    fn folders_are_sorted_from_the_newest() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["cuda-12.8", "cuda-13.0", "other"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let parent = folder.path().to_str().expect("text");
        let names: Vec<_> = folders_with_prefix(parent, "cuda")
            .iter()
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect();
        assert_eq!(names, ["cuda-13.0", "cuda-12.8"]);
        assert!(folders_with_prefix("/no/folder", "cuda").is_empty());
    }
}
