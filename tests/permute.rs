//! Rows and columns in another order, on the host and on every device.

use evenpath::error::{MatrixError, OpError};
use evenpath::row_order::{DeviceRowOrder, RowOrder};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, Offset, RealStorage, bf16, f16};
use evenpath_kernels::permute::CopyPermuted;
use evenpath_tests::{
    device_of_each_kind, devices, row_lengths, rows_of, stored_with_row_lengths as matrix, tile_len,
};
use proptest::prelude::*;

/// Compares the result with the entries of A, moved one by one.
fn check<V: RealStorage, O: Offset>(device: &Device, a: &Csr<V, O>, order: &[u32]) {
    let rows = rows_of(a);
    let position =
        |column: u32| order.iter().position(|&number| number == column).expect("a permutation") as u32;
    let expected: Vec<Vec<_>> = order
        .iter()
        .map(|&row| {
            let moved = rows[row as usize].iter().map(|&(column, value)| (position(column), value));
            let mut moved: Vec<_> = moved.collect();
            moved.sort_by_key(|&(column, _)| column);
            moved
        })
        .collect();
    let on_host =
        a.permute(&RowOrder::try_new(order.to_vec()).expect("a permutation")).expect("a square matrix");
    assert_eq!(rows_of(&on_host), expected, "{a:?}, {order:?}");
    let order = DeviceRowOrder::try_new(device.upload(order).expect("upload")).expect("a permutation");
    let permuted = device.upload(a).expect("upload").permute(&order).expect("a square matrix");
    assert_eq!(permuted.download().expect("download"), on_host, "{device}: {a:?}");
}

/// The numbers below `len`, in an order that looks random.
fn shuffled(len: usize, factor: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..len as u32).collect();
    order.sort_by_key(|&number| (number as usize + 1) * factor % 1_000_003);
    order
}

#[test]
fn every_type_and_shape() {
    fn all<V: RealStorage, O: Offset>() {
        for under_test in devices() {
            for lengths in [&[][..], &[0], &[1], &[0; 300], &[2, 0, 5, 1, 0, 9], &[1, 700, 0, 2, 650, 0, 3]] {
                let n = lengths.len();
                let a: Csr<V, O> = matrix(n, lengths);
                for order in [(0..n as u32).collect(), (0..n as u32).rev().collect(), shuffled(n, 7919)] {
                    check(&under_test.device, &a, &order);
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
    let tile = tile_len::<CopyPermuted<u32>>();
    for under_test in devices() {
        let mut lengths = vec![0; 300];
        (lengths[0], lengths[7], lengths[8], lengths[299]) = (1, tile - 9, tile, tile + tile / 2);
        let a: Csr<f64> = matrix(300, &lengths);
        check(&under_test.device, &a, &shuffled(300, 31));
    }
}

#[test]
fn orders_that_are_none() {
    let a: Csr<f64> = matrix(3, &[2, 0, 3]);
    for device in device_of_each_kind() {
        let mut long: Vec<u32> = (0..900).collect();
        (long[700], long[800]) = (3, 900);
        for (order, position) in [(vec![0, 1, 1], 2), (vec![0, 3, 1], 1), (vec![1], 0), (long, 700)] {
            let expected = RowOrder::try_new(order.clone()).unwrap_err();
            assert!(matches!(expected, MatrixError::NotAnOrder { position: found, .. } if found == position));
            let error = DeviceRowOrder::try_new(device.upload(&order).unwrap()).unwrap_err();
            assert!(matches!(&error, OpError::Matrix(error) if *error == expected), "{device}: {error}");
        }
        let order = device.upload(&RowOrder::try_new(vec![1, 0]).unwrap()).unwrap();
        let uploaded = device.upload(&a).unwrap();
        let is_length = |error: &MatrixError| *error == MatrixError::RowOrderLength { rows: 3, found: 2 };
        assert!(is_length(&a.permute(&order.download().unwrap()).unwrap_err()));
        assert!(matches!(uploaded.permute(&order), Err(OpError::Matrix(error)) if is_length(&error)));
        let wide: Csr<f64> = matrix(5, &[1, 2]);
        let not_square = MatrixError::NotSquare { rows: 2, cols: 5 };
        assert_eq!(wide.permute(&order.download().unwrap()).unwrap_err(), not_square);
        let error = device.upload(&wide).unwrap().permute(&order).unwrap_err();
        assert!(matches!(error, OpError::Matrix(error) if error == not_square));
        if device.kind() != Device::cpu().kind() {
            let other = Device::cpu().upload(&a).unwrap();
            let order = device.upload(&RowOrder::try_new(vec![1, 0, 2]).unwrap()).unwrap();
            assert!(matches!(other.permute(&order), Err(OpError::Device(_))));
        }
    }
}

#[test]
fn operands_and_results() {
    for device in device_of_each_kind() {
        let a: Csr<f64> =
            Csr::from_triplets(3, 3, [(0, 1, 1.0), (0, 2, 4.0), (1, 2, 2.0), (2, 0, 3.0)]).unwrap();
        let uploaded = device.upload(&a).unwrap();
        let order = device.upload(&RowOrder::try_new(vec![2, 0, 1]).unwrap()).unwrap();
        uploaded.spgemm(&uploaded, SpgemmOptions::default()).unwrap();
        let permuted = uploaded.permute(&order).unwrap();
        // Values of its own, and rows that are known to be sorted.
        uploaded.set_values(&[-1.0; 4]).unwrap();
        let expected = a.permute(&order.download().unwrap()).unwrap();
        assert_eq!(permuted.download().unwrap(), expected);
        let square = permuted.spgemm(&permuted, SpgemmOptions::default()).unwrap().download().unwrap();
        assert_eq!(square, (&expected * &expected).unwrap());
        let captured = device.capture((), |()| uploaded.permute(&order).map(drop));
        let error = captured.and_then(|mut graph| graph.launch()).unwrap_err().to_string();
        assert!(error.contains("rows and columns"), "{device}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_structure(lengths in row_lengths(600, 60), factor in 1..1_000_000_usize) {
        let n = lengths.len();
        let a: Csr<f64, u64> = matrix(n, &lengths);
        for under_test in devices() {
            check(&under_test.device, &a, &shuffled(n, factor));
        }
    }
}
