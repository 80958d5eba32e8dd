//! Files that change, never end, or are not regular; short headers that state large sizes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::Csr;

const HEADER: &str = "%%MatrixMarket matrix coordinate real general\n";

fn diagonal(rows: usize) -> Csr<f64> {
    Csr::from_triplets(rows, rows, (0..rows).map(|row| (row, row, row as f64 + 0.5))).unwrap()
}

/// Runs work that must be fast.
fn at_once<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    result
}

fn refusal(path: &Path, options: ReadOptions) -> MatrixMarketError {
    MatrixMarketReader::open(path, options).expect_err("not a finite matrix")
}

/// If the file were not copied into memory first, a signal would kill the process.
#[test]
fn a_file_may_be_truncated_after_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    let a = diagonal(300_000);
    write_matrix_market(&path, a.view(), WriteOptions::default()).unwrap();
    let reader = MatrixMarketReader::open(&path, ReadOptions::default()).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert_eq!(reader.read_csr().unwrap(), a);
    assert_eq!(read_matrix_market::<f64, u32>(&path).unwrap_err().line(), Some(7));
}

#[test]
fn a_mapped_file_is_read_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let a = diagonal(1000);
    for name in ["a.mtx", "a.mtx.gz"] {
        let path = folder.path().join(name);
        write_matrix_market(&path, a.view(), WriteOptions::default()).unwrap();
        // SAFETY: only this test uses the folder.
        let reader = unsafe { MatrixMarketReader::open_mapped(&path, ReadOptions::default()) }.unwrap();
        assert_eq!(reader.read_csr().unwrap(), a);
    }
}

#[test]
fn files_longer_than_the_limit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    write_matrix_market(&path, diagonal(10).view(), WriteOptions::default()).unwrap();
    let len = fs::metadata(&path).unwrap().len() as usize;
    let limited = |limit| MatrixMarketReader::open(&path, ReadOptions::default().with_file_limit(limit));
    assert!(limited(len).is_ok());
    let error = limited(len - 1).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::FileLimit { limit } if *limit == len - 1));
    assert!(error.to_string().ends_with("raise the limit with ReadOptions::file_limit"), "{error}");
}

/// A decompression bomb is refused after its first megabyte if that is not a matrix.
#[test]
fn gzip_of_other_data_is_not_decompressed_to_its_end() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    (0..1 << 14).for_each(|_| encoder.write_all(&[0; 1 << 12]).unwrap());
    let zeros = encoder.finish().unwrap();
    let steps = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&steps);
    let options = ReadOptions::default().with_progress(move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    let error = MatrixMarketReader::from_bytes(&zeros, options).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::Banner { .. }), "{error}");
    assert_eq!(steps.load(Ordering::Relaxed), 0);
}

/// A matrix in many gzip members, each small; together they exceed the limit.
#[test]
fn gzip_members_are_counted_together() {
    let member = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let mut file = member(&format!("{HEADER}9 9 1\n"));
    let blanks = member(&" ".repeat(1 << 16));
    (0..64).for_each(|_| file.extend_from_slice(&blanks));
    let options = ReadOptions::default().with_decompressed_limit(1 << 20);
    let error = MatrixMarketReader::from_bytes(&file, options).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::DecompressedLimit { .. }), "{error}");
}

#[test]
fn columns_without_rows_take_no_time() {
    let text = "%%MatrixMarket matrix array real general\n0 4294967295\n";
    let empty = at_once(|| parse_matrix_market::<f64, u32>(text.as_bytes())).unwrap();
    assert_eq!((empty.nrows(), empty.ncols(), empty.nnz()), (0, 4_294_967_295, 0));
    let mut written = Vec::new();
    let options = WriteOptions::default().with_format(Format::Array);
    at_once(|| write_matrix_market_to(&mut written, empty.view(), options.clone())).unwrap();
    assert_eq!(written, text.as_bytes());
}

/// Writing must not build a transpose of four billion rows.
#[test]
fn rectangular_matrices_are_not_transposed_to_find_their_symmetry() {
    let wide: Csr<f64> = Csr::from_triplets(1, 4_294_967_295, [(0, 7, 1.0)]).unwrap();
    let options = WriteOptions::default().with_symmetry(Symmetry::Symmetric);
    let error =
        at_once(|| write_matrix_market_to(&mut Vec::new(), wide.view(), options.clone())).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::NotSquare { rows: 1, .. }), "{error}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe.mtx");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    #[test]
    fn endless_devices_are_refused_by_their_first_bytes() {
        let error = at_once(|| refusal(Path::new("/dev/zero"), ReadOptions::default()));
        assert!(matches!(error.kind(), MatrixMarketErrorKind::Banner { .. }), "{error}");
    }

    #[test]
    fn endless_pipes_are_read_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let endless = path.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = File::options().write(true).open(endless).unwrap();
            let mut text = format!("{HEADER}9 9 1\n").into_bytes();
            while pipe.write_all(&text).is_ok() {
                text = vec![b'\n'; 1 << 16];
            }
        });
        let error = at_once(|| refusal(&path, ReadOptions::default().with_file_limit(3 << 20)));
        assert!(matches!(error.kind(), MatrixMarketErrorKind::FileLimit { limit: 0x30_0000 }), "{error}");
        writer.join().unwrap();
        assert_eq!(ReadOptions::default().stream_limit(), 1 << 30);
    }

    #[test]
    fn pipes_are_read_and_written_and_stay_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let a = diagonal(20_000);
        let source = path.clone();
        let reader = std::thread::spawn(move || read_matrix_market::<f64, u32>(source));
        write_matrix_market(&path, a.view(), WriteOptions::default()).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), a);
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (data, links) = (folder.path().join("data"), folder.path().join("links"));
        fs::create_dir(&data).unwrap();
        fs::create_dir(&links).unwrap();
        let (first, second, target) = (links.join("a.mtx"), links.join("b.mtx"), data.join("c.mtx"));
        symlink("b.mtx", &first).unwrap();
        symlink("../data/c.mtx", &second).unwrap();
        // First to a new file, then to an existing one.
        for rows in [3, 4] {
            let a = diagonal(rows);
            write_matrix_market(&first, a.view(), WriteOptions::default()).unwrap();
            assert!(first.is_symlink() && second.is_symlink() && !target.is_symlink());
            assert_eq!(read_matrix_market::<f64, u32>(&target).unwrap(), a);
            assert_eq!((fs::read_dir(&links).unwrap().count(), fs::read_dir(&data).unwrap().count()), (2, 1));
        }
        let around = links.join("around.mtx");
        symlink("around.mtx", &around).unwrap();
        assert!(write_matrix_market(&around, diagonal(1).view(), WriteOptions::default()).is_err());
    }

    #[test]
    fn permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mtx");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
        fs::write(&path, "secret").unwrap();
        for kept in [0o600, 0o640, 0o604] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            write_matrix_market(&path, diagonal(2).view(), WriteOptions::default()).unwrap();
            assert_eq!(mode(), kept);
        }
        // A new file has the permissions of any new file.
        let other = folder.path().join("b");
        fs::write(&other, "").unwrap();
        fs::remove_file(&path).unwrap();
        write_matrix_market(&path, diagonal(2).view(), WriteOptions::default()).unwrap();
        assert_eq!(mode(), fs::metadata(&other).unwrap().mode() & 0o7777);
    }

    /// An error while writing to a pipe is returned.
    #[test]
    fn a_closed_pipe_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let source = path.clone();
        let reader = std::thread::spawn(move || File::open(source).unwrap().read_exact(&mut [0; 10]));
        let error =
            write_matrix_market(&path, diagonal(200_000).view(), WriteOptions::default()).unwrap_err();
        reader.join().unwrap().unwrap();
        assert_eq!(error.path(), Some(&*path));
        assert!(matches!(error.kind(), MatrixMarketErrorKind::Io(_)), "{error}");
    }
}
