//! SpGEMM of complex values, on the host and on every device.

use std::collections::BTreeMap;

use evenpath::device::DeviceKind;
use evenpath::error::OpError;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Complex, Csr, Offset};
use evenpath_tests::{
    ComplexValue, DeviceUnderTest, ExpectedComplex, complex, complex_rows, devices, exact, unlike_devices,
};
use proptest::prelude::*;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// A canonical matrix with about these row lengths.
fn matrix<V: ComplexValue, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let all = complex_rows::<V, O>(cols, lengths);
    let matrix = Csr::from_triplets(lengths.len(), cols, all.iter()).expect("inside");
    matrix.try_into_offsets().expect("few")
}

/// Columns of each row of a product by definition, and its values with their bounds.
fn oracle<V: ComplexValue, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> (Vec<Vec<u32>>, ExpectedComplex) {
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in a.iter_rows() {
        let mut sums: BTreeMap<u32, (Complex<f64>, usize, f64)> = BTreeMap::new();
        for (k, left) in row.iter() {
            for (column, right) in b.row(k as usize).expect("a row").iter() {
                let product = exact(left) * exact(right);
                let sum = sums.entry(column).or_default();
                *sum = (sum.0 + product, sum.1 + 1, sum.2 + product.norm());
            }
        }
        columns.push(sums.keys().copied().collect());
        values.extend(sums.into_values());
    }
    (columns, ExpectedComplex::new::<V>(values))
}

fn check<V: ComplexValue, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) {
    let (columns, values) = oracle(a, b);
    let check = |found: &Csr<V, O>, what: &str| {
        assert_eq!(found.shape(), (a.nrows(), b.ncols()), "{what}");
        let found_columns: Vec<_> = found.iter_rows().map(|row| row.columns().to_vec()).collect();
        assert_eq!(found_columns, columns, "{what}");
        assert_eq!(values.check(found.values()), Ok(()), "{what}");
    };
    check(&a.spgemm(b).expect("a product"), "in host memory");
    let other: Csr<V, O> = {
        let mut other = a.clone();
        other.scale(complex(0.0, 1.0));
        other
    };
    let (_, other_values) = oracle(&other, b);
    for DeviceUnderTest { device, .. } in devices() {
        let (a_there, b_there) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
        for method in [SpgemmMethod::Auto, SpgemmMethod::RowWise] {
            let options = SpgemmOptions::default().with_method(method);
            let product = a_there.spgemm(&b_there, options).expect("a product");
            check(&product.download().expect("download"), &format!("{device}, {method}"));
        }
        // A plan finds columns first, then destinations, and then uses both.
        let plan = a_there.plan_spgemm(&b_there, SpgemmOptions::default()).expect("a plan");
        for run in 0..3 {
            let product = plan.run().expect("a product").download().expect("download");
            check(&product, &format!("{device}, run {run}"));
        }
        a_there.set_values(other.values()).expect("as many");
        let found = plan.run().expect("a product").download().expect("download");
        assert_eq!(other_values.check(found.values()), Ok(()), "{device}: new values");
    }
}

#[test]
fn odd_shapes() {
    check(&matrix::<C32, u32>(1, &[]), &matrix(5, &[3]));
    check(&matrix::<C64, u32>(3, &[0; 9]), &matrix(7, &[1, 0, 7]));
    check(&matrix::<C64, u64>(1, &[1]), &matrix(1, &[1]));
    check(&matrix::<C32, u64>(4, &[0, 3, 0, 0, 4, 1, 0]), &matrix(6, &[2, 0, 6, 1]));
}

/// Rows of all kinds: by hash tables of each size, by windows, and with more sums than fit in shared memory.
#[test]
fn rows_of_all_sizes() {
    let lengths = [vec![1, 2, 3, 5, 8, 13, 21, 34, 55, 60], vec![4; 30], vec![0; 20]].concat();
    let b_lengths: Vec<usize> = (0..60).map(|row| [3, 40, 0, 150, 9][row % 5]).collect();
    check(&matrix::<C32, u32>(60, &lengths), &matrix(2000, &b_lengths));
    check(&matrix::<C64, u32>(60, &lengths), &matrix(2000, &b_lengths));
    check(&matrix::<C64, u64>(60, &lengths), &matrix(2000, &b_lengths));
    let wide: Vec<usize> = vec![700; 30];
    check(&matrix::<C64, u32>(30, &[30, 0, 7]), &matrix(20_000, &wide));
}

#[test]
fn a_mask_selects_entries() {
    let a: Csr<C64> = matrix(9, &[3, 0, 9, 1, 4, 4, 4, 2, 5]);
    let mask = Csr::from_triplets(9, 9, (0..9).map(|row| (row, (row * 5) % 9, 1.0))).expect("inside");
    let full = a.spgemm(&a).expect("a product");
    for DeviceUnderTest { device, .. } in devices() {
        let (a, mask_there) = (device.upload(&a).expect("upload"), device.upload(&mask).expect("upload"));
        let found = a.spgemm_masked(&a, &mask_there, SpgemmOptions::default()).expect("a product");
        let found = found.download().expect("download");
        assert_eq!(found.column_indices(), mask.column_indices());
        for (row, column, value) in found.iter() {
            let expected = full.get(row, column).unwrap_or_default();
            assert!((value - expected).norm() < 1e-12, "{device}, row {row}: {value}, not {expected}");
        }
    }
}

#[test]
fn same_bits_in_every_run_and_on_all_gpus() {
    let a: Csr<C64> = matrix(40, &(0..40).map(|row| row % 13).collect::<Vec<_>>());
    let bits_on = |device: &evenpath::Device| {
        let a = device.upload(&a).expect("upload");
        let product =
            || a.spgemm(&a, SpgemmOptions::default()).expect("a product").download().expect("download");
        let bits =
            |c: Csr<C64>| c.values().iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<_>>();
        let first = bits(product());
        assert!(bits(product()) == first, "{device}");
        first
    };
    let all: Vec<_> = unlike_devices().into_iter().map(|one| bits_on(&one.device)).collect();
    assert!(all.iter().all(|bits| *bits == all[0]));
}

#[test]
fn other_methods_are_refused() {
    let a: Csr<C64> = matrix(9, &[3, 0, 9, 1, 4, 4, 4, 2, 5]);
    for DeviceUnderTest { device, .. } in devices() {
        if device.kind() == DeviceKind::Cpu {
            continue;
        }
        let a = device.upload(&a).expect("upload");
        for method in SpgemmMethod::ALL {
            let product = a.spgemm(&a, SpgemmOptions::default().with_method(method));
            if matches!(method, SpgemmMethod::Auto | SpgemmMethod::RowWise) {
                assert!(product.is_ok(), "{method}");
                continue;
            }
            let error = product.expect_err("no kernel");
            assert!(matches!(error, OpError::SpgemmMethodOfType { .. }), "{error}");
            let expected =
                format!("SpGEMM by `{method}` does not support values of Complex<f64>; `row-wise` does");
            assert_eq!(error.to_string(), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn any_rows(a in evenpath_tests::row_lengths(250, 30), b in evenpath_tests::row_lengths(250, 50)) {
        let mut b = b;
        b.resize(50, 2);
        check(&matrix::<C32, u32>(50, &a), &matrix(90, &b));
        check(&matrix::<C64, u32>(50, &a), &matrix(90, &b));
    }
}
