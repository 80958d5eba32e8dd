//! Writing of `.npz` files.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::array::header;
use crate::io::{MatrixMarketError, destination};
use crate::matrix::check_threads;
use crate::{Csr, CsrView, Offset, Value};

/// Bytes of elements that are converted at once.
const STEP: usize = 1 << 16;

/// Format of a matrix in a file of `scipy.sparse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NpzFormat {
    /// Rows: `scipy.sparse.csr_matrix`.
    #[default]
    Csr,
    /// Columns: `scipy.sparse.csc_matrix`.
    Csc,
    /// Coordinates: `scipy.sparse.coo_matrix`.
    Coo,
}

/// Writes a matrix for `scipy.sparse.load_npz`, compressed as by `scipy.sparse.save_npz`. Indices have 32 bits where that is enough.
///
/// The file is replaced as a whole, like by [`write_matrix_market`](crate::io::write_matrix_market).
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{self, NpzFormat};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// let a = Csr::from_triplets(2, 3, [(0, 2, 0.5_f32), (1, 0, 4.5)])?;
/// io::write_npz(&path, a.view(), NpzFormat::Csr)?; // a = scipy.sparse.load_npz("a.npz")
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be written, or there is too little memory for the matrix in another format.
pub fn write_npz<V: Value, O: Offset>(
    path: impl AsRef<Path>,
    matrix: CsrView<'_, V, O>,
    format: NpzFormat,
) -> Result<(), MatrixMarketError> {
    let path = path.as_ref();
    write(path, matrix, format).map_err(|error| error.in_file(Some(path)))
}

fn write<V: Value, O: Offset>(
    path: &Path,
    matrix: CsrView<'_, V, O>,
    format: NpzFormat,
) -> Result<(), MatrixMarketError> {
    check_threads()?;
    let transpose: Option<Csr<V, O>> = match format {
        NpzFormat::Csc => Some(matrix.transpose()?),
        NpzFormat::Csr | NpzFormat::Coo => None,
    };
    let by_rows = transpose.as_ref().map_or(matrix, Csr::view);
    Ok(destination::write_file(path, |file| write_to(file, matrix.shape(), by_rows, format))?)
}

/// Writes the arrays. `by_rows` is the matrix, or its transpose in the format by columns.
fn write_to<V: Value, O: Offset>(
    file: &mut File,
    (rows, cols): (usize, usize),
    by_rows: CsrView<'_, V, O>,
    format: NpzFormat,
) -> io::Result<()> {
    let nnz = by_rows.nnz();
    let is_wide = [rows, cols, nnz].into_iter().any(|len| i32::try_from(len).is_err());
    let mut archive = Archive { zip: ZipWriter::new(BufWriter::new(file)) };
    let columns = || by_rows.column_indices().iter().map(|&column| u64::from(column));
    let name = match format {
        NpzFormat::Csr => "csr",
        NpzFormat::Csc => "csc",
        NpzFormat::Coo => "coo",
    };
    if format == NpzFormat::Coo {
        let row_indices =
            by_rows.iter_rows().enumerate().flat_map(|(row, entries)| vec![row as u64; entries.len()]);
        archive.indices("row", nnz, row_indices, is_wide)?;
        archive.indices("col", nnz, columns(), is_wide)?;
    } else {
        let offsets = by_rows.row_offsets();
        archive.indices("indices", nnz, columns(), is_wide)?;
        let row_offsets = offsets.iter().map(|offset| offset.to_usize() as u64);
        archive.indices("indptr", offsets.len(), row_offsets, is_wide)?;
    }
    archive.array("format", "|S3", "()", [Cow::Borrowed(name.as_bytes())].into_iter())?;
    archive.indices("shape", 2, [rows as u64, cols as u64].into_iter(), true)?;
    let descr = format!("<f{}", size_of::<V>());
    let values = by_rows.values().chunks(STEP).map(|values| Cow::Borrowed(bytemuck::cast_slice(values)));
    archive.array("data", &descr, &format!("({nnz},)"), values)?;
    archive.zip.finish()?.flush()
}

/// An archive to which arrays are added.
struct Archive<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> Archive<W> {
    fn array<'b>(
        &mut self,
        name: &str,
        descr: &str,
        shape: &str,
        parts: impl Iterator<Item = Cow<'b, [u8]>>,
    ) -> io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        self.zip.start_file(format!("{name}.npy"), options.large_file(true))?;
        self.zip.write_all(&header(descr, shape))?;
        for part in parts {
            self.zip.write_all(&part)?;
        }
        Ok(())
    }

    fn indices(
        &mut self,
        name: &str,
        len: usize,
        mut indices: impl Iterator<Item = u64>,
        is_wide: bool,
    ) -> io::Result<()> {
        let part = || {
            let indices = indices.by_ref().take(STEP);
            let bytes: Vec<u8> = if is_wide {
                indices.flat_map(u64::to_le_bytes).collect()
            } else {
                indices.flat_map(|index| (index as u32).to_le_bytes()).collect()
            };
            (!bytes.is_empty()).then_some(Cow::Owned(bytes))
        };
        let descr = if is_wide { "<i8" } else { "<i4" };
        self.array(name, descr, &format!("({len},)"), std::iter::from_fn(part))
    }
}
