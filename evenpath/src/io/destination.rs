//! The destination of a written file, which is replaced as a whole or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The maximum length of a chain of symbolic links, as on Linux.
const MOST_LINKS: usize = 40;

/// Calls `write` to write the file of this name. A regular file is replaced once everything is written, and keeps its
/// permissions. Symbolic links are followed. Pipes and devices are written to directly.
pub(super) fn write_file(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(existing) if existing.is_file() => replace(&fs::canonicalize(path)?, Some(&existing), write),
        Ok(_) => write(&mut File::options().write(true).open(path)?),
        Err(error) if error.kind() == ErrorKind::NotFound => replace(&followed(path)?, None, write),
        Err(error) => Err(error),
    }
}

/// Like [`write_file`], through gzip if the name ends in `.gz`.
pub(super) fn write_text(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let is_compressed = path.extension().is_some_and(|end| end == "gz");
    write_file(path, |file| {
        if !is_compressed {
            return write(file);
        }
        let mut encoder = GzEncoder::new(BufWriter::new(file), Compression::default());
        write(&mut encoder)?;
        encoder.finish()?.flush()
    })
}

/// Writes a temporary file in the same folder, then renames it.
fn replace(
    path: &Path,
    existing: Option<&Metadata>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if existing.is_none() {
        // The same as for any new file: the umask of the process applies.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut file = builder.prefix(".mtx-").tempfile_in(folder)?;
    #[cfg(unix)]
    if let Some(existing) = existing {
        file.as_file().set_permissions(existing.permissions())?;
    }
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Waits until a rename in the folder has reached the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // The file is already in place. Some folders are writable but not readable, and some file systems cannot sync
        // folders.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// The target of a chain of links whose last one points to no file.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = folder_of(&path).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
