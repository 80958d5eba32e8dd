//! Files that `scipy.sparse` 1.17 wrote, and round trips.

use std::path::PathBuf;

use tempfile::TempDir;

use super::array::{Array, header};
use super::{NpzFormat, read_npz, write_npz};
use crate::io::{MatrixMarketError, MatrixMarketErrorKind as Kind, ReadOptions};
use crate::{Csr, Duplicates, Value};

/// `coo_matrix(([1.5, -2, 1e-300, 4], ([0, 0, 2, 1], [0, 3, 1, 2])), shape=(3, 5)).tocsr()`
const CSR: &[u8] = include_bytes!("../../../tests/npz/csr.npz");
/// The same by columns, with values of 32 bits and indices of 64, not compressed.
const CSC: &[u8] = include_bytes!("../../../tests/npz/csc_f32_i64.npz");
/// `coo_array(([1., 2., 4.], ([1, 0, 1], [1, 0, 1])), shape=(2, 2))`
const COO: &[u8] = include_bytes!("../../../tests/npz/coo.npz");
/// `bsr_matrix(eye(2))`
const BSR: &[u8] = include_bytes!("../../../tests/npz/bsr.npz");

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn read<V: Value>(bytes: &[u8], options: &ReadOptions) -> Result<Csr<V>, MatrixMarketError> {
    read_npz(file(bytes).1, options)
}

fn matrix<V: Value>(small: f64) -> Csr<V> {
    let triplets = [(0, 0, 1.5), (0, 3, -2.0), (2, 1, small), (1, 2, 4.0)];
    Csr::from_triplets(3, 5, triplets.map(|(row, column, value)| (row, column, V::from_f64(value)))).unwrap()
}

#[test]
fn files_of_scipy_are_read() {
    let (_folder, path) = file(CSR);
    let options = ReadOptions::default();
    assert_eq!(read_npz::<f64, u32>(&path, &options).unwrap(), matrix(1e-300));
    assert_eq!(read_npz::<f64, u64>(&path, &options).unwrap().into_parts().0, [0_u64, 2, 3, 4]);
    assert_eq!(read_npz::<f32, u32>(&path, &options).unwrap(), matrix(0.0)); // rounded
    let (_folder, path) = file(CSC);
    assert_eq!(read_npz::<f32, u32>(&path, &options).unwrap(), matrix(0.0));
    assert_eq!(read_npz::<f64, u32>(&path, &options).unwrap(), matrix(0.0));
    let (_folder, path) = file(COO);
    let summed: Csr<f64> = read_npz(&path, &options).unwrap();
    assert_eq!(summed.to_dense().unwrap(), [2.0, 0.0, 0.0, 5.0]);
    let kept: Csr<f64> = read_npz(&path, &options.with_duplicates(Duplicates::Keep)).unwrap();
    assert_eq!(kept.values(), [2.0, 1.0, 4.0]);
}

#[test]
fn matrices_are_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let long =
        Csr::from_triplets(700, 500, (0..90_000).map(|at| (at % 700, at % 499, 1.0 / (at + 1) as f64)));
    let matrices = [matrix::<f64>(1e-300), long.unwrap(), Csr::from_triplets(0, 7, []).unwrap()];
    for matrix in matrices {
        for format in [NpzFormat::Csr, NpzFormat::Csc, NpzFormat::Coo] {
            let path = folder.path().join("a.npz");
            write_npz(&path, matrix.view(), format).unwrap();
            let again: Csr<f64> = read_npz(&path, &ReadOptions::default()).unwrap();
            assert_eq!(again, matrix, "{format:?}");
        }
    }
    let path = folder.path().join("b.npz");
    write_npz(&path, matrix::<f32>(0.25).view(), NpzFormat::Csc).unwrap();
    assert_eq!(read_npz::<f32, u64>(&path, &ReadOptions::default()).unwrap().get(2, 1), Some(0.25));
}

#[test]
fn invalid_files_are_named() {
    let options = ReadOptions::default();
    let (_folder, path) = file(b"no archive");
    let error = read_npz::<f64, u32>(&path, &options).unwrap_err();
    assert!(matches!(error.kind(), Kind::Io(_)) && error.path() == Some(&*path), "{error}");
    let (_folder, path) = file(BSR);
    let error = read_npz::<f64, u32>(&path, &options).unwrap_err().to_string();
    assert!(error.ends_with("array `format`: `bsr` is not supported: csr, csc and coo are"), "{error}");
    let (_folder, path) = file(CSR);
    let error = read_npz::<f64, u32>(&path, &options.with_decompressed_limit(300)).unwrap_err();
    assert!(matches!(error.kind(), Kind::DecompressedLimit { limit: 300 }), "{error}");
    assert!(read::<f64>(&CSR[..CSR.len() / 2], &ReadOptions::default()).is_err());
    // A changed byte is an error or the same matrix, and never a panic.
    for at in 0..CSR.len() {
        let mut damaged = CSR.to_vec();
        damaged[at] ^= 0x41;
        if let Ok(found) = read::<f64>(&damaged, &ReadOptions::default()) {
            assert_eq!(found, matrix(1e-300), "byte {at}");
        }
    }
}

#[test]
fn headers_of_arrays() {
    let array = |descr: &str, shape: &str, bytes: &[u8]| [&header(descr, shape), bytes].concat();
    assert_eq!(header("<f8", "(3,)").len() % 64, 0);
    let indices = array("<i4", "(2,)", &[7, 0, 0, 0, 1, 1, 0, 0]);
    assert_eq!(Array::parse(&indices).unwrap().indices().unwrap(), [7, 257]);
    let version_2 = [&b"\x93NUMPY\x02\x00"[..], &(indices.len() as u32 - 10).to_le_bytes(), &indices[10..]];
    let short = &version_2.concat()[..];
    assert!(Array::parse(short).is_err()); // eight bytes of elements were counted too
    assert_eq!(Array::parse(&array("<U3", "()", b"c\0\0\0s\0\0\0r\0\0\0")).unwrap().text(), "csr");
    let reason = |bytes: &[u8]| match Array::parse(bytes) {
        Ok(array) => array.indices().expect_err("no indices"),
        Err(reason) => reason,
    };
    assert_eq!(reason(&array("<i4", "(1,)", &[0xff; 4])), "-1 is not an index");
    assert_eq!(
        reason(&array(">i4", "(1,)", &[0; 4])),
        "indices of type >i4 are not supported: `<i4` and `<i8` are"
    );
    assert_eq!(
        reason(&array("<i8", "(2,)", &[0; 15])),
        "2 elements of type <i8 have 16 bytes, but there are 15"
    );
    assert_eq!(
        reason(&array("<i8", "(1, 1)", &[0; 8])),
        "its shape is not that of an array of one dimension"
    );
    assert_eq!(reason(b"text"), "it is not in the format NPY");
    assert_eq!(reason(b"\x93NUMPY\x01\x00\xff"), "the file ends in its header");
    assert_eq!(reason(b"\x93NUMPY\x09\x00\x00\x00"), "version 9 of NPY is unknown");
}
