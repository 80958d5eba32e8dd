//! Matrix Market files read and written in parts, compared with the ordinary reader and writer.

use std::path::{Path, PathBuf};

use evenpath::io::{
    Field, Format, ReadOptions, Symmetry, WriteOptions, read_matrix_market, write_matrix_market_to,
};
use evenpath::{Csr, Value};
use evenpath_distributed::{DistributedCsr, Error};

use crate::support::on_cpu;

fn read<V: Value>(path: &Path, ranks: usize) -> Result<Csr<V, u64>, Error> {
    let options = ReadOptions::default();
    let results =
        on_cpu(ranks).run(|rank| DistributedCsr::read_matrix_market(rank, path, &options)?.gather(0))?;
    Ok(results.into_iter().next().flatten().expect("rank 0 has it"))
}

/// The examples' matrices, and those in the folder named by the environment, up to a few MB each.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    let folders = [
        Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/data").into()),
        std::env::var_os("EVENPATH_MATRICES"),
    ];
    for folder in folders.into_iter().flatten() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let is_matrix = entry.path().to_string_lossy().contains(".mtx");
            if is_matrix && entry.metadata().expect("metadata").len() < 1_500_000 {
                files.push(entry.path());
            }
        }
    }
    files
}

#[test]
fn files_are_read_like_by_the_ordinary_reader() {
    needs!("cpu");
    let files = files();
    assert!(files.len() >= 2, "{files:?}");
    for path in files {
        let expected: Csr<f64, u64> = match read_matrix_market(&path) {
            Ok(matrix) => matrix,
            Err(error) => {
                println!("skipped: {error}");
                continue;
            }
        };
        for ranks in 1..=7 {
            assert_eq!(read::<f64>(&path, ranks).unwrap(), expected, "{} on {ranks} ranks", path.display());
        }
    }
}

/// A file in a folder that is removed with it.
fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, text).expect("a file");
    (folder, path)
}

#[test]
fn every_kind_of_coordinate_file() {
    needs!("cpu");
    let kinds = [
        (
            "real general",
            "4 6 7\n1 1 1.5\n\n4 6 -2e3\n% a comment\n2 3 1\n2 3 1e-17\n2 3 -1\n   3 2 7\r\n1 6 inf\n",
        ),
        ("integer general", "3 3 2\n3 1 -4\n1 3 18446744073709551615\n"),
        ("pattern general", "3 3 3\n3 1\n1 3\n2 2\n"),
        ("real symmetric", "4 4 5\n1 1 2\n3 1 0.5\n3 1 0.25\n2 4 -1\n4 4 1\n"),
        ("pattern symmetric", "4 4 2\n3 1\n2 2\n"),
        ("real skew-symmetric", "4 4 2\n3 1 0.5\n2 4 -1\n"),
        ("integer hermitian", "2 2 2\n2 1 3\n2 2 1\n"),
        ("real general", "3 4 0\n"),
        ("real general", "0 0 0\n"),
    ];
    for (kind, body) in kinds {
        let (_folder, path) = file(&format!("%%MatrixMarket matrix coordinate {kind}\n% comment\n{body}"));
        let expected: Csr<f32, u64> = read_matrix_market(&path).unwrap();
        for ranks in 1..=7 {
            assert_eq!(read::<f32>(&path, ranks).unwrap(), expected, "{kind} on {ranks} ranks");
        }
    }
}

#[test]
fn errors_are_named_on_all_ranks() {
    needs!("cpu");
    let bad = [
        ("coordinate real general\n3 3 3\n1 1 1\n2 2 x\n3 3 1\n", "4"),
        ("coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 4 1\n", "column 4 is out of range"),
        ("coordinate real general\n3 3 4\n1 1 1\n2 2 1\n3 3 1\n", "ends after 3 of 4 entries"),
        ("coordinate real general\n3 3 2\n1 1 1\n2 2 1\n3 3 1\n", "more entries than the 2"),
        ("coordinate real symmetric\n3 3 2\n2 1 1\n1 2 1\n", "mirror image"),
        ("coordinate real skew-symmetric\n3 3 1\n2 2 1\n", "diagonal"),
        ("array real general\n1 1\n1\n", "array format"),
        // A few bytes that state more rows than fit in memory.
        ("coordinate real general\n4294967295 1 0\n", "4294967295 rows in a file of 61 bytes"),
    ];
    for (text, reason) in bad {
        let (_folder, path) = file(&format!("%%MatrixMarket matrix {text}"));
        for ranks in [1, 2, 5] {
            let options = ReadOptions::default();
            let results = on_cpu(ranks).run_each(|rank| {
                DistributedCsr::<f64>::read_matrix_market(rank, &path, &options).map(|_| ())
            });
            for result in results {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(reason), "{text}: {error}");
            }
        }
    }
}

/// A 40 × 30 matrix with an empty row, a long one, and numbers of many digits.
fn uneven(row: u64, entries: &mut Vec<(u64, f64)>) {
    let columns = match row {
        7 => 0..0,
        3 => 0..30,
        _ => row % 5..row % 5 + 3,
    };
    entries.extend(columns.map(|column| (column, (row as f64 + 0.1) / (column as f64 - 7.3))));
}

#[test]
fn files_are_written_like_by_the_ordinary_writer() {
    needs!("cpu");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mtx");
    for (rows, cols) in [(40, 30), (3, 30), (1, 30), (0, 5), (0, 0)] {
        for field in [Field::Real, Field::Pattern, Field::Complex] {
            let options = WriteOptions::default().with_field(field).with_comment("two\nlines");
            for ranks in 1..=7 {
                let whole = on_cpu(ranks)
                    .run(|rank| {
                        let a = DistributedCsr::from_fn(rank, rows, cols, uneven)?;
                        a.write_matrix_market(&path, &options)?;
                        a.gather(0)
                    })
                    .unwrap();
                let whole = whole.into_iter().next().flatten().expect("rank 0 has it");
                let mut expected = Vec::new();
                write_matrix_market_to(&mut expected, whole.view(), options.clone()).unwrap();
                let text = std::fs::read(&path).unwrap();
                assert!(text == expected, "{rows} x {cols}, {field} on {ranks} ranks");
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "temporary files are left");
}

#[test]
fn a_file_that_cannot_be_written_stays() {
    needs!("cpu");
    let folder = tempfile::tempdir().expect("a folder");
    let integers = WriteOptions::default().with_field(Field::Integer);
    let cases = [
        (
            "a.mtx",
            WriteOptions::default().with_format(Format::Array),
            "coordinate general, but the options say array",
        ),
        ("a.mtx", WriteOptions::default().with_symmetry(Symmetry::Symmetric), "coordinate symmetric"),
        ("a.mtx.gz", WriteOptions::default(), "gather the matrix to write a compressed file"),
        ("folder", WriteOptions::default(), "not a file"),
        // Only the last row has such a value: the other ranks have nothing to object to.
        ("a.mtx", integers, "row 40, column 1 is not a 64-bit integer"),
        ("nowhere/a.mtx", WriteOptions::default(), "nowhere/a.mtx"),
    ];
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    std::fs::write(folder.path().join("a.mtx"), "before").unwrap();
    std::fs::write(folder.path().join("a.mtx.gz"), "before").unwrap();
    for (name, options, reason) in cases {
        for ranks in [1, 3] {
            let results = on_cpu(ranks).run_each(|rank| {
                let last = |row, entries: &mut Vec<_>| entries.push((0, if row == 39 { 0.5 } else { 1.0 }));
                DistributedCsr::from_fn(rank, 40, 1, last)?
                    .write_matrix_market(folder.path().join(name), &options)
            });
            for result in results {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(reason), "{name}: {error}");
            }
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("a.mtx")).unwrap(), "before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "temporary files are left");
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    needs!("cpu");
    let folder = tempfile::tempdir().expect("a folder");
    let (path, link) = (folder.path().join("a.mtx"), folder.path().join("link.mtx"));
    std::fs::write(&path, "before").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    symlink(&path, &link).unwrap();
    on_cpu(2)
        .run(|rank| {
            let a = DistributedCsr::from_fn(rank, 4, 4, |row, entries| entries.push((row, 1.0)))?;
            a.write_matrix_market(&link, &WriteOptions::default())
        })
        .unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(read_matrix_market::<f64, u32>(&path).unwrap().nnz(), 4);
}
