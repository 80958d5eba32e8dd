//! Matrices of some rows of a matrix, on the host and on every device.

use evenpath::error::{MatrixError, OpError};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, Offset, RealStorage, bf16, f16};
use evenpath_kernels::csr_rows::{CopyListedRows, ListedLengths};
use evenpath_tests::{
    device_of_each_kind, devices, odd_row_lengths, row_lengths, rows_of, stored_with_row_lengths as matrix,
    tile_len,
};
use proptest::prelude::*;

/// Compares the selection with the rows that the list names, one by one.
fn check<V: RealStorage, O: Offset>(device: &Device, a: &Csr<V, O>, list: &[u32]) {
    let all = rows_of(a);
    let expected: Vec<_> = list.iter().map(|&row| all[row as usize].clone()).collect();
    let on_host = a.select_rows(list).expect("rows that exist");
    assert_eq!(on_host.shape(), (list.len(), a.ncols()));
    assert_eq!(rows_of(&on_host), expected, "{a:?}, {list:?}");
    let (uploaded, list) = (device.upload(a).expect("upload"), device.upload(list).expect("upload"));
    let selected = uploaded.select_rows(&list).expect("rows that exist").download().expect("download");
    assert_eq!(selected, on_host, "{device}: {a:?}");
}

/// Lists of some of `rows` rows.
fn lists(rows: u32) -> Vec<Vec<u32>> {
    let mut lists = vec![vec![], (0..rows).collect(), (0..rows).rev().collect()];
    if rows > 0 {
        lists.push(vec![rows - 1]);
        lists.push(vec![0; 7]);
        lists.push((0..3 * rows).map(|at| at * 7 % rows).collect());
    }
    lists
}

#[test]
fn every_type_and_shape() {
    fn all<V: RealStorage, O: Offset>() {
        for under_test in devices() {
            for (cols, lengths) in odd_row_lengths() {
                let a: Csr<V, O> = matrix(cols, &lengths);
                for list in lists(lengths.len() as u32) {
                    check(&under_test.device, &a, &list);
                }
            }
        }
    }
    all::<f16, u32>();
    all::<bf16, u64>();
    all::<f32, u64>();
    all::<f64, u32>();
}

/// Rows that begin, end and are cut at the edges of tiles.
#[test]
fn rows_around_the_edges_of_tiles() {
    let (tile, counted) = (tile_len::<CopyListedRows<u64, u32>>(), tile_len::<ListedLengths<u32>>());
    for under_test in devices() {
        let a: Csr<f64> = matrix(97, &[1, tile - 1, 0, tile, 2 * tile + 1, tile / 2, 3]);
        for list in [&[1, 0][..], &[3, 3, 0], &[4, 2, 2, 1], &[5, 5, 6, 5], &[2, 3, 2, 4, 2]] {
            check(&under_test.device, &a, list);
        }
        let b: Csr<f32> = matrix(9, &[2, 0, 1]);
        for len in [counted - 1, counted, counted + 1] {
            check(&under_test.device, &b, &(0..len as u32).map(|at| at % 3).collect::<Vec<_>>());
        }
    }
}

/// The first of them is named, wherever it is, and nothing is selected.
#[test]
fn rows_that_do_not_exist() {
    let a: Csr<f64> = matrix(9, &[2, 0, 4]);
    let empty = Csr::<f64>::empty(0, 5).expect("a matrix");
    for device in device_of_each_kind() {
        let refused = |a: &Csr<f64>, list: &[u32], position: usize| {
            let rows = a.nrows();
            let expected = MatrixError::RowOutOfRange { position, row: list[position] as usize, rows };
            assert_eq!(a.select_rows(list).unwrap_err(), expected);
            let (a, list) = (device.upload(a).unwrap(), device.upload(list).unwrap());
            let before = device.memory().unwrap().in_use;
            let error = a.select_rows(&list).unwrap_err();
            assert!(matches!(&error, OpError::Matrix(error) if *error == expected), "{device}: {error}");
            assert_eq!(device.memory().unwrap().in_use, before);
        };
        refused(&a, &[3], 0);
        refused(&a, &[0, 1, u32::MAX, 5], 2);
        let mut long = vec![1; 3000];
        (long[2999], long[1500], long[1501]) = (7, 4, 9);
        refused(&a, &long, 1500);
        long[1500] = 0;
        refused(&a, &long, 1501);
        refused(&empty, &[0], 0);
    }
}

#[test]
fn more_entries_than_offsets_count() {
    let a: Csr<f32> = matrix(5, &[1 << 16]);
    let list = vec![0; (1 << 16) + 1];
    let nnz = ((1 << 16) + 1) << 16;
    let is_overflow = |error: &MatrixError| matches!(error, MatrixError::OffsetOverflow { nnz: found, .. } if *found == nnz);
    assert!(is_overflow(&a.select_rows(&list).unwrap_err()));
    for device in device_of_each_kind() {
        let (a, list) = (device.upload(&a).unwrap(), device.upload(&list).unwrap());
        let error = a.select_rows(&list).unwrap_err();
        assert!(matches!(&error, OpError::Matrix(error) if is_overflow(error)), "{device}: {error}");
    }
}

#[test]
fn operands_and_results() {
    for device in device_of_each_kind() {
        let a: Csr<f64> = Csr::from_triplets(3, 3, [(0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0)]).unwrap();
        let uploaded = device.upload(&a).unwrap();
        // A part of a vector, which is not aligned.
        let list = device.upload(&[9, 2, 0]).unwrap();
        let selected = uploaded.select_rows(&list.slice(1..).unwrap()).unwrap();
        assert_eq!(selected.download().unwrap().column_indices(), [0, 1]);
        // Values of its own.
        uploaded.set_values(&[-1.0; 3]).unwrap();
        assert_eq!(selected.download().unwrap().values(), [3.0, 1.0]);
        // Sorted rows are still known to be sorted.
        uploaded.set_values(a.values()).unwrap();
        uploaded.spgemm(&uploaded, SpgemmOptions::default()).unwrap();
        let all = uploaded.select_rows(&device.upload(&[1, 2, 0]).unwrap()).unwrap();
        let square = all.spgemm(&all, SpgemmOptions::default()).unwrap().download().unwrap();
        assert_eq!(square, a.select_rows(&[1, 2, 0]).map(|a| (&a * &a).unwrap()).unwrap());
        // Another device, and a graph.
        let other = Device::cpu().upload(&[0]).unwrap();
        if device.kind() != Device::cpu().kind() {
            assert!(uploaded.select_rows(&other).is_err());
        }
        let list = device.upload(&[0]).unwrap();
        let captured = device.capture((), |()| uploaded.select_rows(&list).map(drop));
        let error = captured.and_then(|mut graph| graph.launch()).unwrap_err().to_string();
        assert!(error.contains("selection of rows"), "{device}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_structure(lengths in row_lengths(900, 60), picks in prop::collection::vec(any::<u32>(), 0..90)) {
        let rows = lengths.len() as u32;
        let list: Vec<u32> = if rows == 0 { vec![] } else { picks.iter().map(|pick| pick % rows).collect() };
        let a: Csr<f64, u64> = matrix(700, &lengths);
        for under_test in devices() {
            check(&under_test.device, &a, &list);
        }
    }
}
