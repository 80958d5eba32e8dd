//! Matrix Market files read in parts, compared with the ordinary reader.

use std::path::{Path, PathBuf};

use evenpath::io::{ReadOptions, read_matrix_market};
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
