//! Blocks of consecutive rows and columns, and columns by a list, on the host and on every device.

use std::ops::Range;

use evenpath::error::{MatrixError, OpError};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, Offset, RealStorage, bf16, f16};
use evenpath_kernels::csr_columns::CopyChosen;
use evenpath_tests::{
    device_of_each_kind, devices, odd_row_lengths, row_lengths, rows_of, stored_with_row_lengths as matrix,
    tile_len,
};
use proptest::prelude::*;

/// Compares a block with the entries inside, one by one.
fn check_block<V: RealStorage, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    let inside = |&(column, _): &(u32, f64)| columns.contains(&(column as usize));
    let shifted = |(column, value)| (column - columns.start as u32, value);
    let expected: Vec<Vec<_>> = rows_of(a)[rows.clone()]
        .iter()
        .map(|row| row.iter().copied().filter(inside).map(shifted).collect())
        .collect();
    let on_host = a.submatrix(rows.clone(), columns.clone()).expect("inside");
    assert_eq!(on_host.shape(), (rows.len(), columns.len()));
    assert_eq!(rows_of(&on_host), expected, "{a:?}, {rows:?}, {columns:?}");
    let block = device.upload(a).expect("upload").submatrix(rows.clone(), columns.clone()).expect("inside");
    assert_eq!(block.download().expect("download"), on_host, "{device}: {a:?}, {rows:?}, {columns:?}");
}

/// Compares the selection with the entries that the list names, one by one.
fn check_list<V: RealStorage, O: Offset>(device: &Device, a: &Csr<V, O>, list: &[u32]) {
    let places = |&(column, value): &(u32, f64)| {
        let positions = (0..list.len()).filter(move |&at| list[at] == column);
        positions.map(move |at| (at as u32, value)).collect::<Vec<_>>()
    };
    let mut expected: Vec<Vec<_>> =
        rows_of(a).iter().map(|row| row.iter().flat_map(places).collect()).collect();
    if !list.is_sorted() {
        for row in &mut expected {
            row.sort_by_key(|&(column, _)| column);
        }
    }
    let on_host = a.select_columns(list).expect("columns that exist");
    assert_eq!(on_host.shape(), (a.nrows(), list.len()));
    assert_eq!(rows_of(&on_host), expected, "{a:?}, {list:?}");
    let (uploaded, list) = (device.upload(a).expect("upload"), device.upload(list).expect("upload"));
    let selected = uploaded.select_columns(&list).expect("columns that exist").download().expect("download");
    assert_eq!(selected, on_host, "{device}: {a:?}");
}

/// Lists of some of `cols` columns.
fn lists(cols: u32) -> Vec<Vec<u32>> {
    let mut lists = vec![vec![], (0..cols).collect(), (0..cols).step_by(3).collect()];
    if cols > 0 {
        lists.push(vec![cols - 1]);
        lists.push(vec![0, 0, 0, cols / 2, cols / 2, cols - 1]);
        lists.push((0..cols).rev().collect());
        lists.push((0..9).map(|at| at * 7 % cols).collect());
    }
    lists
}

#[test]
fn every_type_and_shape() {
    fn all<V: RealStorage, O: Offset>() {
        for under_test in devices() {
            let device = &under_test.device;
            for (cols, lengths) in odd_row_lengths() {
                let a: Csr<V, O> = matrix(cols, &lengths);
                for list in lists(cols as u32) {
                    check_list(device, &a, &list);
                }
                let rows = lengths.len();
                check_block(device, &a, 0..rows, 0..cols);
                check_block(device, &a, rows / 2..rows, 0..cols);
                check_block(device, &a, 0..rows, cols / 3..cols);
                check_block(device, &a, rows / 3..rows / 2, cols / 4..cols / 2);
                check_block(device, &a, rows..rows, cols..cols);
                check_block(device, &a, 0..0, 0..cols);
            }
        }
    }
    all::<f16, u32>();
    all::<bf16, u64>();
    all::<f32, u64>();
    all::<f64, u32>();
}

/// Rows and entries that begin and end at the edges of tiles, and one entry with more places than a tile has.
#[test]
fn around_the_edges_of_tiles() {
    let tile = tile_len::<CopyChosen<u64, u32>>();
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = matrix(11, &[1, tile - 2, 0, tile + 1, tile / 2, 3]);
        check_list(device, &a, &[10, 3, 3, 0]);
        check_list(device, &a, &[1, 1, 5]);
        check_block(device, &a, 1..5, 2..3);
        check_block(device, &a, 0..6, 1..11);
        let b: Csr<f32> = matrix(3, &[1, 1, 1]);
        check_list(device, &b, &vec![2; tile + 5]);
    }
}

/// The first of them is named, wherever it is, and nothing is selected.
#[test]
fn columns_that_do_not_exist() {
    let a: Csr<f64> = matrix(9, &[2, 0, 4]);
    for device in device_of_each_kind() {
        let refused = |a: &Csr<f64>, list: &[u32], position: usize| {
            let (column, cols) = (list[position] as usize, a.ncols());
            let expected = MatrixError::ListedColumn { position, column, cols };
            assert_eq!(a.select_columns(list).unwrap_err(), expected);
            let (a, list) = (device.upload(a).unwrap(), device.upload(list).unwrap());
            let before = device.memory().unwrap().in_use;
            let error = a.select_columns(&list).unwrap_err();
            assert!(matches!(&error, OpError::Matrix(error) if *error == expected), "{device}: {error}");
            assert_eq!(device.memory().unwrap().in_use, before);
        };
        refused(&a, &[9], 0);
        refused(&a, &[0, 8, u32::MAX, 11], 2);
        let mut long = vec![1; 900];
        (long[899], long[700], long[701]) = (17, 14, 19);
        refused(&a, &long, 700);
        refused(&Csr::empty(5, 0).unwrap(), &[0], 0);
    }
}

#[test]
fn blocks_outside() {
    let a: Csr<f64> = matrix(9, &[2, 0, 4]);
    for device in device_of_each_kind() {
        let uploaded = device.upload(&a).unwrap();
        #[allow(clippy::reversed_empty_ranges)]
        for (rows, columns, what, len) in [
            (0..4, 0..9, "rows", 3),
            (2..1, 0..9, "rows", 3),
            (0..3, 10..10, "columns", 9),
            (0..1, 8..usize::MAX, "columns", 9),
        ] {
            let range = if what == "rows" { rows.clone() } else { columns.clone() };
            let expected = MatrixError::BlockRange { what, begin: range.start, end: range.end, len };
            assert_eq!(a.submatrix(rows.clone(), columns.clone()).unwrap_err(), expected);
            let error = uploaded.submatrix(rows, columns).unwrap_err();
            assert!(matches!(&error, OpError::Matrix(error) if *error == expected), "{device}: {error}");
        }
    }
}

#[test]
fn more_entries_than_offsets_count() {
    let a: Csr<f32> = matrix(1, &[1 << 16]);
    let list = vec![0; (1 << 16) + 1];
    let nnz = ((1 << 16) + 1) << 16;
    let is_overflow = |error: &MatrixError| matches!(error, MatrixError::OffsetOverflow { nnz: found, .. } if *found == nnz);
    assert!(is_overflow(&a.select_columns(&list).unwrap_err()));
    for device in device_of_each_kind() {
        let (a, list) = (device.upload(&a).unwrap(), device.upload(&list).unwrap());
        let error = a.select_columns(&list).unwrap_err();
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
        let selected = uploaded.select_columns(&list.slice(1..).unwrap()).unwrap();
        assert_eq!(selected.download().unwrap().column_indices(), [0, 1]);
        let block = uploaded.submatrix(1..3, 0..3).unwrap();
        // Values of their own.
        uploaded.set_values(&[-1.0; 3]).unwrap();
        assert_eq!(selected.download().unwrap().values(), [2.0, 3.0]);
        assert_eq!(block.download().unwrap().values(), [2.0, 3.0]);
        // Results of sorted rows are sorted, whether that is known or not.
        uploaded.set_values(a.values()).unwrap();
        uploaded.spgemm(&uploaded, SpgemmOptions::default()).unwrap();
        for list in [&[1, 2, 0][..], &[0, 1, 2]] {
            let all = uploaded.select_columns(&device.upload(list).unwrap()).unwrap();
            let square = all.spgemm(&all, SpgemmOptions::default()).unwrap().download().unwrap();
            assert_eq!(square, a.select_columns(list).map(|a| (&a * &a).unwrap()).unwrap());
        }
        // Another device, and a graph.
        if device.kind() != Device::cpu().kind() {
            assert!(uploaded.select_columns(&Device::cpu().upload(&[0]).unwrap()).is_err());
        }
        let list = device.upload(&[0]).unwrap();
        let captured = device.capture((), |()| uploaded.select_columns(&list).map(drop));
        let error = captured.and_then(|mut graph| graph.launch()).unwrap_err().to_string();
        assert!(error.contains("selection of columns"), "{device}: {error}");
        let captured = device.capture((), |()| uploaded.submatrix(0..1, 0..1).map(drop));
        let error = captured.and_then(|mut graph| graph.launch()).unwrap_err().to_string();
        assert!(error.contains("block of a matrix"), "{device}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_structure(
        lengths in row_lengths(900, 40),
        list in prop::collection::vec(0..80_u32, 0..90),
        ends in (0..41_usize, 0..41_usize, 0..81_usize, 0..81_usize),
        is_sorted in any::<bool>(),
    ) {
        let mut list = list;
        if is_sorted {
            list.sort_unstable();
        }
        let a: Csr<f64, u64> = matrix(80, &lengths);
        let (first, last) = (ends.0.min(lengths.len()), ends.1.min(lengths.len()));
        for under_test in devices() {
            check_list(&under_test.device, &a, &list);
            check_block(
                &under_test.device,
                &a,
                first.min(last)..first.max(last),
                ends.2.min(ends.3)..ends.2.max(ends.3),
            );
        }
    }
}
