//! Products of matrices in which most rows have no entries.

use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::devices;

use crate::spgemm::products::{banded, check_product};

/// Number of rows for which one block expands row offsets.
const BLOCK_ROWS: usize = 2048;

/// A matrix with two entries in each of some rows.
fn with_rows<V: Value, O: Offset>(rows: usize, cols: usize, filled: &[usize]) -> Csr<V, O> {
    let entries = filled.iter().flat_map(|&row| {
        [(row, row % cols, V::from_f64(1.5 + row as f64)), (row, (row * 7 + 1) % cols, V::from_f64(-0.5))]
    });
    Csr::from_triplets(rows, cols, entries).expect("a matrix").try_into_offsets().expect("few entries")
}

/// By every method, directly and by a plan, also after values have changed.
fn check<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, b: &Csr<V, O>) {
    let (left, right) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let values: Vec<V> = (0..a.nnz()).map(|index| V::from_f64(index as f64 - 3.25)).collect();
    let (row_offsets, columns) = (a.row_offsets().to_vec(), a.column_indices().to_vec());
    let changed = Csr::try_new(a.nrows(), a.ncols(), row_offsets, columns, values).expect("a matrix");
    for method in SpgemmMethod::ALL {
        let options = SpgemmOptions::default().with_method(method);
        left.set_values(a.values()).expect("upload");
        let plan = left.plan_spgemm(&right, options).expect("a plan");
        let what = format!("{device}, {method}");
        for _ in 0..2 {
            check_product(&what, a, b, &plan.run().expect("a product").download().expect("download"));
        }
        let at_once = left.spgemm(&right, options).expect("a product");
        check_product(&what, a, b, &at_once.download().expect("download"));
        let wide = left.spgemm_with_offsets::<u64>(&right, options).expect("a product");
        check_product(&what, a, b, &wide.download().expect("download"));
        left.set_values(changed.values()).expect("upload");
        check_product(&what, &changed, b, &plan.run().expect("a product").download().expect("download"));
        assert_eq!(plan.info().expect("figures").nnz as usize, wide.nnz(), "{what}");
    }
}

#[test]
fn rows_around_the_edges_of_blocks() {
    for device in devices() {
        for rows in [BLOCK_ROWS - 2, BLOCK_ROWS - 1, BLOCK_ROWS, 2 * BLOCK_ROWS + 1] {
            let b: Csr<f64> = banded(300, &[3, 0, 9, 1, 40].repeat(10), 11);
            for filled in [&[0][..], &[rows - 1], &[0, 1, 2, 700, BLOCK_ROWS - 3, rows - 2, rows - 1]] {
                check(&device.device, &with_rows(rows, 50, filled), &b);
            }
        }
    }
}

/// Blocks in which all rows have entries, between those in which none has.
#[test]
fn stretches_of_rows() {
    for device in devices() {
        let filled: Vec<usize> = (2 * BLOCK_ROWS - 20..3 * BLOCK_ROWS + 20).collect();
        let a: Csr<f32, u64> = with_rows(9 * BLOCK_ROWS, 60, &filled);
        check(&device.device, &a, &banded(90, &[4, 1, 0].repeat(20), 3));
    }
}

#[test]
fn a_hypersparse_square() {
    for device in devices() {
        let filled: Vec<usize> = (0..40).map(|index| index * index * 3).collect();
        let a: Csr<f32> = with_rows(5000, 5000, &filled);
        check(&device.device, &a, &a);
        // Rows with entries, none of which contributes a product.
        let b = with_rows(5000, 5000, &[4999]);
        check(&device.device, &a, &b);
    }
}

/// The memory held beside the matrices is reported, and a limit without room for it is kept.
#[test]
fn memory() {
    for device in devices() {
        let device = device.device;
        let a: Csr<f64> = with_rows(20_000, 100, &(0..800).map(|index| 25 * index).collect::<Vec<_>>());
        let (left, right) = (device.upload(&a).expect("upload"), device.upload(&banded(200, &[5; 100], 3)));
        let right = right.expect("upload");
        let product = left.spgemm(&right, SpgemmOptions::default()).expect("a product");
        let result = (12 * product.nnz() + 4 * 20_001) as u64;
        for limit in [result + 4_000, result + 60_000, result + 1_000_000] {
            let options =
                SpgemmOptions::default().with_memory_limit(limit).with_method(SpgemmMethod::RowWise);
            match left.spgemm(&right, options) {
                Ok(limited) => assert_eq!(limited.nnz(), product.nnz()),
                Err(error) => assert!(limit < result + 1_000_000, "{device}, {limit}: {error}"),
            }
        }
        let before = device.memory().expect("a device").in_use;
        let plan = left.plan_spgemm(&right, SpgemmOptions::default()).expect("a plan");
        drop(plan.run().expect("a product"));
        let kept = plan.info().expect("figures").kept_bytes;
        // The plan also holds the pattern of the result.
        let held = device.memory().expect("a device").in_use - before;
        assert_eq!(held, kept + (4 * product.nnz() + 4 * 20_001) as u64, "{device}");
    }
}
