//! Real matrices, and test files for readers, in the folder `EVENPATH_MATRICES`.
//!
//! The folder has an `INDEX.tsv` with the name, shape and statistics of every matrix, and a folder
//! `reader-tests` with an `INDEX.tsv` that records the result of scipy's reader for every file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use evenpath::io::{Complex, MatrixMarketErrorKind, MatrixMarketReader, ReadOptions};
use evenpath::{Coo, Csr};

fn folder(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EVENPATH_MATRICES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED {test}: EVENPATH_MATRICES does not name a folder of matrices");
    }
    folder
}

/// Rows of a table whose first line names the columns.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        names.iter().map(ToString::to_string).zip(line.split('\t').map(ToString::to_string)).collect()
    };
    lines.map(row).collect()
}

#[test]
fn every_matrix_matches_its_index() {
    let Some(folder) = folder("every_matrix_matches_its_index") else {
        return;
    };
    let index = table(&folder.join("INDEX.tsv"));
    assert!(!index.is_empty());
    for entry in index {
        let name = &entry["name"];
        let number = |column: &str| entry[column].parse::<usize>().unwrap();
        let path = folder.join(format!("{name}.mtx.gz"));
        let header = &entry["header"];

        let reader = MatrixMarketReader::open(&path, ReadOptions::default()).unwrap();
        let found = reader.header();
        assert_eq!(&format!("{} {} {}", found.format, found.field, found.symmetry), header);
        assert_eq!(found.entries, number("stored_entries") as u128, "{name}");
        if header.contains("complex") {
            let refused = reader.read_csr::<f64, u32>().unwrap_err();
            assert!(matches!(refused.kind(), MatrixMarketErrorKind::Complex), "{refused}");
        }
        let options = ReadOptions::default().with_complex(Complex::RealPart);
        let a: Csr<f64> = MatrixMarketReader::open(&path, options).unwrap().read_csr().unwrap();
        let statistics = a.statistics();
        let found = (a.nrows(), a.ncols(), a.nnz(), statistics.row_length_max, statistics.empty_rows);
        let columns = ["rows", "cols", "nnz_expanded", "max_nnz_per_row", "empty_rows"].map(number);
        assert_eq!(found, columns.into(), "{name}");
        a.check_canonical().unwrap();
    }
}

/// Files that scipy reads and this reader refuses, with the text of the error.
const STRICTER: [(&str, &str); 8] = [
    // A finite number is not infinity.
    ("fmm__overflow__overflow_value_gt_complex128.mtx.gz", ":5: `1E9999` is too large for f64"),
    ("fmm__overflow__overflow_value_gt_float128.mtx.gz", ":4: `1E9999` is too large for f64"),
    ("fmm__overflow__overflow_value_gt_float64.mtx.gz", ":4: `1E310` is too large for f64"),
    // Numbers after the entry.
    ("russell__bad_not_complex_hermitian.mtx.gz", ":3: expected the end of the line, found `0.0`"),
    ("sprs__bad_files__too_many_elems_in_entry.mm.gz", ":5: expected the end of the line, found `4`"),
    // Not square.
    ("russell__bad_symmetric_rectangular.mtx.gz", ":2: a symmetric matrix must be square"),
    ("russell__bad_symmetric_rectangular_complex.mtx.gz", ":2: a symmetric matrix must be square"),
    // scipy counts such positions twice.
    ("russell__ok_complex_hermitian.mtx.gz", ":5: row 2, column 1 and its mirror image are both stored"),
];

/// Files that scipy refuses and this reader accepts, with their number of entries: `+` before numbers, and
/// comments between entries.
const MORE_LENIENT: [(&str, usize); 2] =
    [("russell__ok_complex_general.mtx.gz", 12), ("russell__ok_general.mtx.gz", 12)];

/// Files in array format with zeros, which scipy's dense result counts, and their number of other entries.
const ARRAYS_WITH_ZEROS: [(&str, usize); 3] = [
    ("fmm__eye3_array.mtx.gz", 3),
    ("fmm__symmetry_array__array_skew-symmetric.mtx.gz", 6),
    ("fmm__symmetry_array__array_skew-symmetric_general.mtx.gz", 6),
];

fn listed<T: Copy>(list: &[(&str, T)], file: &str) -> Option<T> {
    list.iter().find(|(name, _)| *name == file).map(|&(_, what)| what)
}

#[test]
fn every_reader_test_matches_its_index() {
    let Some(folder) = folder("every_reader_test_matches_its_index") else {
        return;
    };
    let folder = folder.join("reader-tests");
    let index = table(&folder.join("INDEX.tsv"));
    assert!(!index.is_empty());
    let listed_files = STRICTER.len() + MORE_LENIENT.len() + ARRAYS_WITH_ZEROS.len();
    let mut met = 0;
    for entry in index {
        let file = &entry["file"];
        let options = ReadOptions::default().with_complex(Complex::RealPart);
        let reader = MatrixMarketReader::open(folder.join(file), options);
        let found = reader.and_then(|reader| {
            reader.read_csr::<f64, u64>()?;
            reader.read_coo::<f64>()
        });
        let shape = |coo: Coo<f64>| format!("({}, {}) {}", coo.nrows(), coo.ncols(), coo.nnz());
        if let Some(words) = listed(&STRICTER, file) {
            met += 1;
            let error = found.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        } else if let Some(entries) = listed(&MORE_LENIENT, file) {
            met += 1;
            assert!(entry["scipy_mmread"].contains("rejects"), "{file}");
            assert_eq!(found.unwrap().nnz(), entries, "{file}");
        } else if let Some(entries) = listed(&ARRAYS_WITH_ZEROS, file) {
            met += 1;
            assert_eq!(found.unwrap().nnz(), entries, "{file}");
        } else if entry["scipy_mmread"] == "ok" {
            assert_eq!(shape(found.unwrap()), entry["shape_nnz"], "{file}");
        } else {
            let error = found.expect_err(file);
            assert!(error.line().is_some(), "{error}");
            // scipy names the line of some errors; unless that is beyond the first error, it is the same.
            let line = entry["scipy_mmread"].split_once("Line ").map(|(_, rest)| rest);
            let line = line.map(|rest| rest.split(':').next().unwrap().parse::<usize>().unwrap());
            let vector = entry["first_line"].contains("vector");
            assert!(vector || line.is_none() || line == error.line(), "{line:?} {error}");
        }
    }
    assert_eq!(met, listed_files);
}
