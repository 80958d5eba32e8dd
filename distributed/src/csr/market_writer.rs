//! Writing of Matrix Market files, of which each rank writes a part.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use evenpath::Value;
use evenpath::csr::MAX_DIMENSION;
use evenpath::io::{
    MatrixMarketError, WriteOptions, write_matrix_market_header_to, write_matrix_market_part_to,
};

use super::matrix::DistributedCsr;
use crate::error::{Error, Result};

impl<V: Value> DistributedCsr<V> {
    /// Writes a Matrix Market file in coordinate format to a folder that every rank can open. Each rank writes the lines of its rows to its
    /// place in the file, which is that of [`evenpath::io::write_matrix_market`] for the gathered matrix. The text is formatted twice, first
    /// to find its length, so that no rank holds it as a whole. It is written to a temporary file in the same folder, which the first rank
    /// renames once all have written; if a rank fails, an existing file is left unchanged. A collective operation.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath::io::{ReadOptions, WriteOptions};
    /// use evenpath_distributed::{Cluster, DistributedCsr, Error};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.mtx");
    /// let mut cluster = Cluster::local((0..2).map(|_| Device::cpu()))?;
    /// cluster.run(|rank| {
    ///     let a = DistributedCsr::from_fn(rank, 3, 3, |row, entries| entries.push((row, 0.5)))?;
    ///     a.write_matrix_market(&path, &WriteOptions::default())?;
    ///     let again = DistributedCsr::<f64>::read_matrix_market(rank, &path, &ReadOptions::default())?;
    ///     assert_eq!(again.gather(0)?, a.gather(0)?);
    ///     Ok::<_, Error>(())
    /// })?;
    /// let text = std::fs::read_to_string(&path)?;
    /// assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 0.5\n2 2 0.5\n3 3 0.5\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a rank cannot write the file; if the options have a symmetry or array format, the name ends in `.gz`, or the name is that of
    /// something else than a file; if values are not integers that should be; if rows are cut between ranks, the matrix exceeds the size
    /// limits of a [`Csr`](evenpath::Csr), the host has too little memory, or a rank failed.
    pub fn write_matrix_market(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        let (path, rank) = (path.as_ref(), &self.rank);
        let (rows, cols) = (dimension("rows", self.nrows())?, dimension("columns", self.ncols())?);
        let own = self.download()?.to_csr(cols)?;
        let first_row = self.rows.range(rank.index()).start as usize;
        let write = |writer: &mut dyn Write| {
            let mut writer = writer;
            write_matrix_market_part_to(&mut writer, own.view(), first_row, options)
        };

        let mut length = Length(0);
        write(&mut length)?;
        let sizes = rank.all_gather(&[length.0, own.nnz() as u64])?;
        let entries = sizes.iter().map(|size| size[1]).sum();
        let (mut header, mut whole) = (Vec::new(), None);
        write_matrix_market_header_to(&mut header, (rows, cols), entries, options)?;
        if rank.index() == 0 {
            whole = Some(Whole::create(path, &header).map_err(|error| in_file(path, &error))?);
        }
        let name = rank.broadcast(0, whole.as_ref().map_or(&[][..], |whole| whole.name.as_bytes()))?;
        let temporary = folder_of(path).join(String::from_utf8_lossy(&name).as_ref());
        let before: u64 = sizes[..rank.index()].iter().map(|size| size[0]).sum();
        write_at(&temporary, header.len() as u64 + before, write)?;
        // A rank that failed leaves the file as it was on all ranks.
        rank.barrier()?;
        if let Some(whole) = whole {
            whole.rename(path).map_err(|error| in_file(path, &error))?;
        }
        rank.barrier()
    }
}

fn dimension(what: &'static str, found: u64) -> Result<usize> {
    let limit = MAX_DIMENSION as u64;
    if found > limit { Err(Error::TooLarge { what, found, limit }) } else { Ok(found as usize) }
}

fn in_file(path: &Path, error: &io::Error) -> Error {
    MatrixMarketError::from(io::Error::new(error.kind(), format!("{}: {error}", path.display()))).into()
}

/// Writes text from a position of a file on.
fn write_at(
    path: &Path,
    position: u64,
    write: impl Fn(&mut dyn Write) -> std::result::Result<(), MatrixMarketError>,
) -> Result<()> {
    let open = || {
        let mut file = File::options().write(true).open(path)?;
        file.seek(SeekFrom::Start(position))?;
        Ok(BufWriter::new(file))
    };
    let mut writer = open().map_err(|error| in_file(path, &error))?;
    write(&mut writer)?;
    let synced = writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
    synced.map_err(|error| in_file(path, &error))
}

/// A writer that counts bytes.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0 += text.len() as u64;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The temporary file of the first rank, which is removed unless it is renamed.
struct Whole {
    name: String,
    path: PathBuf,
}

impl Whole {
    /// Creates the file, with a header.
    fn create(target: &Path, header: &[u8]) -> io::Result<Self> {
        let invalid = |reason: &str| io::Error::new(ErrorKind::InvalidInput, reason);
        if target.extension().is_some_and(|end| end == "gz") {
            return Err(invalid("ranks write plain text: gather the matrix to write a compressed file"));
        }
        let Some(file_name) = target.file_name() else {
            return Err(invalid("the path does not name a file"));
        };
        let existing = match fs::metadata(target) {
            Ok(existing) if !existing.is_file() => return Err(invalid("not a file")),
            Ok(existing) => Some(existing),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // Another process may write the same file; numbers go on after what one that was killed has left.
        let (process, mut number) = (std::process::id(), 0_u32);
        loop {
            let name = format!(".{}-{process}-{number}", file_name.to_string_lossy());
            let path = folder_of(target).join(&name);
            match File::options().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let whole = Self { name, path };
                    if let Some(existing) = existing {
                        file.set_permissions(existing.permissions())?;
                    }
                    file.write_all(header)?;
                    return Ok(whole);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the file its name.
    fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, fs::canonicalize(target).as_deref().unwrap_or(target))?;
        self.path.clear();
        Ok(())
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // The error that ends the operation says more than one of removing the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
