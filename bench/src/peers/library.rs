//! Finding and opening shared libraries.

use std::path::{Path, PathBuf};

use libloading::Library;

use super::PeerError;

/// Opens the first library found with one of these names: by the system's loader, then in the folders, in order. It is
/// never closed.
pub(super) fn open(
    library: &'static str,
    names: &[&str],
    folders: &[PathBuf],
) -> Result<&'static Library, PeerError> {
    let by_loader = names.iter().map(PathBuf::from);
    let in_folders = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    let mut reasons = Vec::new();
    for path in by_loader.chain(in_folders.filter(|path| path.exists())) {
        match open_path(&path) {
            Ok(found) => return Ok(Box::leak(Box::new(found))),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(PeerError::Absent { library, reason: reasons.join("; ") })
}

/// Opens a library with global symbols, for libraries opened later, as if the program were linked with it.
#[cfg(unix)]
fn open_path(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix;
    // SAFETY: this runs the initializers of a library that the user has installed, or named in a variable, under the
    // expected name.
    unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_GLOBAL) }.map(Library::from)
}

#[cfg(not(unix))]
fn open_path(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: as on Unix.
    unsafe { Library::new(path) }
}

/// The folders in an environment variable; empty if it is not set.
pub(super) fn folders_of(variable: &str) -> Vec<PathBuf> {
    std::env::var_os(variable).map_or_else(Vec::new, |folders| std::env::split_paths(&folders).collect())
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
