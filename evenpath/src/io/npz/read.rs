//! Reading of `.npz` files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use super::array::Array;
use crate::io::{MatrixMarketError, MatrixMarketErrorKind as Kind, ReadOptions};
use crate::matrix::{check_dimensions, check_threads};
use crate::{Coo, Csr, MatrixError, Offset, Value};

/// Reads a matrix that `scipy.sparse.save_npz` wrote, in the formats `csr`, `csc` and `coo`, with values of `float32` or `float64`, which
/// are converted to `V`, and indices of `int32` or `int64`.
///
/// Entries of a row keep their order, so CSR may be unsorted or have duplicates, which [`Csr::canonicalize`] repairs; duplicates of COO
/// are added up, as [`ReadOptions::duplicates`] says. Of the options, those for complex matrices and progress have no effect.
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{self, NpzFormat, ReadOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// let a = Csr::from_triplets(2, 3, [(0, 2, 0.5), (1, 0, 4.5)])?;
/// io::write_npz(&path, a.view(), NpzFormat::Csc)?; // or scipy.sparse.save_npz("a.npz", a)
/// let again: Csr<f64> = io::read_npz(&path, &ReadOptions::default())?;
/// assert_eq!(again, a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read, is not such an archive, or its arrays are not those of a valid matrix; the error names the file and the
/// array. If a limit of the options is exceeded.
pub fn read_npz<V: Value, O: Offset>(
    path: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<Csr<V, O>, MatrixMarketError> {
    let path = path.as_ref();
    read(path, options).map_err(|error| error.in_file(Some(path)))
}

/// An archive of arrays.
struct Archive {
    zip: ZipArchive<BufReader<File>>,
    /// Bytes that may still be decompressed.
    left: usize,
    limit: usize,
}

fn read<V: Value, O: Offset>(path: &Path, options: &ReadOptions) -> Result<Csr<V, O>, MatrixMarketError> {
    check_threads()?;
    let file = File::open(path)?;
    let len = options.checked_len(file.metadata()?.len())?;
    let limit = options.decompressed_limit_of(len);
    let zip = ZipArchive::new(BufReader::new(file)).map_err(std::io::Error::from)?;
    let mut archive = Archive { zip, left: limit, limit };
    let format = archive.array("format", |array| Ok(array.text()))?;
    let shape = archive.array("shape", |array| array.indices())?;
    let [rows, cols] = shape[..] else {
        return Err(fault("shape", format!("{} dimensions instead of two", shape.len())));
    };
    let dimension = |len: u64| usize::try_from(len).unwrap_or(usize::MAX);
    let (rows, cols) = (dimension(rows), dimension(cols));
    check_dimensions(rows, cols)?;
    // Row offsets of CSR are in the file.
    if format != "csr" && rows > options.row_limit && rows > len {
        let (bytes, limit) = (len, options.row_limit);
        return Err(Kind::RowLimit { rows, bytes, limit }.into());
    }
    match format.as_str() {
        "csr" => archive.compressed(rows, cols),
        // The transpose in CSR.
        "csc" => Ok(archive.compressed(cols, rows)?.transpose()?),
        "coo" => {
            let (row_indices, column_indices) = (archive.indices("row")?, archive.indices("col")?);
            let values = archive.array("data", |array| array.values::<V>())?;
            let coo = Coo::try_new(rows, cols, row_indices, column_indices, values);
            Ok(coo.map_err(MatrixError::from)?.to_csr_with_offsets(options.duplicates)?)
        }
        other => {
            let reason = format!("`{}` is not supported: csr, csc and coo are", other.escape_default());
            Err(fault("format", reason))
        }
    }
}

fn fault(array: &'static str, reason: String) -> MatrixMarketError {
    Kind::Npz { array, reason }.into()
}

impl Archive {
    /// Reads an array.
    fn array<T>(
        &mut self,
        name: &'static str,
        convert: impl FnOnce(Array<'_>) -> Result<T, String>,
    ) -> Result<T, MatrixMarketError> {
        let entry = self.zip.by_name(&format!("{name}.npy"));
        let entry = entry.map_err(|error| fault(name, error.to_string()))?;
        let mut bytes = Vec::new();
        let read = entry.take(self.left as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| fault(name, error.to_string()))?;
        self.left =
            self.left.checked_sub(bytes.len()).ok_or(Kind::DecompressedLimit { limit: self.limit })?;
        Array::parse(&bytes).and_then(convert).map_err(|reason| fault(name, reason))
    }

    /// Reads an array of rows or columns.
    fn indices(&mut self, name: &'static str) -> Result<Vec<u32>, MatrixMarketError> {
        self.array(name, |array| {
            let narrow = |index| u32::try_from(index).map_err(|_| format!("index {index} is out of range"));
            array.indices()?.into_iter().map(narrow).collect()
        })
    }

    /// Reads a CSR matrix.
    fn compressed<V: Value, O: Offset>(
        &mut self,
        rows: usize,
        cols: usize,
    ) -> Result<Csr<V, O>, MatrixMarketError> {
        let values = self.array("data", |array| array.values::<V>())?;
        let column_indices = self.indices("indices")?;
        let row_offsets = self.array("indptr", |array| array.indices())?;
        let nnz = values.len();
        let narrow = |offset: u64| {
            usize::try_from(offset)
                .ok()
                .and_then(O::try_from_usize)
                .ok_or(MatrixError::offset_overflow::<O>(nnz))
        };
        let row_offsets = row_offsets.into_iter().map(narrow).collect::<Result<_, _>>()?;
        let csr = Csr::try_new(rows, cols, row_offsets, column_indices, values);
        Ok(csr.map_err(MatrixError::from)?)
    }
}
