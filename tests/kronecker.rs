//! Kronecker products, on the host and on every device.

use evenpath::error::{MatrixError, OpError};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, Offset, RealStorage, bf16, f16};
use evenpath_kernels::kronecker::KroneckerEntries;
use evenpath_tests::{
    device_of_each_kind, devices, row_lengths, rows_of, stored_with_row_lengths as matrix, tile_len,
};
use proptest::prelude::*;

/// Compares the product with one by the definition, whose numbers are exact in `f64` or rounded once.
fn check<V: RealStorage, O: Offset>(device: &Device, a: &Csr<V, O>, b: &Csr<V, O>) {
    let mut expected = vec![];
    for of_a in rows_of(a) {
        for of_b in rows_of(b) {
            let mut row = vec![];
            for &(column, value) in &of_a {
                row.extend(of_b.iter().map(|&(b_column, b_value)| {
                    (column * b.ncols() as u32 + b_column, V::from_f64(value * b_value).to_f64())
                }));
            }
            expected.push(row);
        }
    }
    let on_host = a.kronecker(b).expect("a product");
    assert_eq!(on_host.shape(), (a.nrows() * b.nrows(), a.ncols() * b.ncols()));
    assert_eq!(rows_of(&on_host), expected, "{a:?}, {b:?}");
    let (a, b) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let product = a.kronecker(&b).expect("a product").download().expect("download");
    assert_eq!(product, on_host, "{device}: {a:?}, {b:?}");
}

#[test]
fn every_type_and_shape() {
    fn all<V: RealStorage, O: Offset>() {
        let shapes: [(usize, &[usize]); 7] = [
            (0, &[]),
            (3, &[]),
            (0, &[0; 4]),
            (1, &[1]),
            (2, &[0, 0]),
            (4, &[2, 0, 3, 1]),
            (40, &[33, 0, 1, 7]),
        ];
        for under_test in devices() {
            for (a_cols, a_lengths) in shapes {
                for (b_cols, b_lengths) in shapes {
                    let (a, b): (Csr<V, O>, Csr<V, O>) =
                        (matrix(a_cols, a_lengths), matrix(b_cols, b_lengths));
                    check(&under_test.device, &a, &b);
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
    let tile = tile_len::<KroneckerEntries<f64, u32>>();
    for under_test in devices() {
        let (a, b): (Csr<f64>, Csr<f64>) = (matrix(3, &[1, 0, 2]), matrix(50, &[tile - 3, 1, tile / 2 + 1]));
        check(&under_test.device, &a, &b);
        check(&under_test.device, &b, &a);
    }
}

#[test]
fn products_that_are_too_large() {
    let (large, single): (Csr<f32>, Csr<f32>) = (Csr::empty(1, 1 << 20).unwrap(), matrix(1, &[1]));
    let many: Csr<f32> = matrix(1, &[1 << 16]);
    let tall: Csr<f32> = Csr::empty(1 << 16, 1).unwrap();
    for device in device_of_each_kind() {
        let refused = |a: &Csr<f32>, b: &Csr<f32>, expected: MatrixError| {
            assert_eq!(a.kronecker(b).unwrap_err(), expected);
            let (a, b) = (device.upload(a).unwrap(), device.upload(b).unwrap());
            let before = device.memory().unwrap().in_use;
            let error = a.kronecker(&b).unwrap_err();
            assert!(matches!(&error, OpError::Matrix(error) if *error == expected), "{device}: {error}");
            assert_eq!(device.memory().unwrap().in_use, before);
        };
        refused(&large, &large, MatrixError::TooManyColumns { cols: 1 << 40 });
        refused(&tall, &tall, MatrixError::TooManyRows { rows: 1 << 32 });
        let remedy = "use u64 offsets";
        refused(&many, &many, MatrixError::OffsetOverflow { nnz: 1 << 32, offset: "u32", remedy });
        assert_eq!(single.kronecker(&large).unwrap().ncols(), 1 << 20);
    }
}

#[test]
fn operands_and_results() {
    for device in device_of_each_kind() {
        let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 2.0)]).unwrap();
        let uploaded = device.upload(&a).unwrap();
        uploaded.spgemm(&uploaded, SpgemmOptions::default()).unwrap();
        let product = uploaded.kronecker(&uploaded).unwrap();
        // Values of its own, and rows that are known to be sorted.
        uploaded.set_values(&[-1.0; 2]).unwrap();
        let expected = a.kronecker(&a).unwrap();
        assert_eq!(product.download().unwrap(), expected);
        let square = product.spgemm(&product, SpgemmOptions::default()).unwrap().download().unwrap();
        assert_eq!(square, (&expected * &expected).unwrap());
        // Another device, and a graph.
        if device.kind() != Device::cpu().kind() {
            let other = Device::cpu().upload(&a).unwrap();
            assert!(matches!(uploaded.kronecker(&other), Err(OpError::Device(_))));
        }
        let captured = device.capture((), |()| uploaded.kronecker(&uploaded).map(drop));
        let error = captured.and_then(|mut graph| graph.launch()).unwrap_err().to_string();
        assert!(error.contains("Kronecker product"), "{device}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn any_structure(a in row_lengths(201, 6), b in row_lengths(210, 8)) {
        let (a, b): (Csr<f64, u64>, Csr<f64, u64>) = (matrix(20, &a), matrix(30, &b));
        // The simulated GPU takes long for more.
        prop_assume!(a.nnz() * b.nnz() < 20_000);
        for under_test in devices() {
            check(&under_test.device, &a, &b);
        }
    }
}
