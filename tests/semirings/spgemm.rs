//! Products of matrices, also where a mask has entries.

use std::collections::BTreeMap;

use evenpath::semiring::{MinPlus, PlusPair};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, Offset};
use evenpath_tests::devices;

use super::oracle::{Defined, Oracle, Sample, for_each_semiring, sorted};

/// For each entry of A·B, by definition, its value.
fn oracle<S: Defined<V>, V: Sample, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> BTreeMap<(usize, usize), V> {
    let Oracle { zero, plus, times } = S::oracle();
    let mut c = BTreeMap::new();
    for (row, k, left) in a.iter() {
        for (column, right) in b.row(k).expect("a row of B").iter() {
            let entry = c.entry((row, column as usize)).or_insert(zero);
            *entry = plus(*entry, times(left, right));
        }
    }
    c
}

fn assert_same<V: Sample, O: Offset>(
    what: &str,
    found: &Csr<V, O>,
    expected: impl Iterator<Item = (usize, usize, V)>,
) {
    found.check_canonical().expect("rows are sorted");
    let expected: Vec<_> = expected.collect();
    assert_eq!(found.nnz(), expected.len(), "{what}: {found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found == expected, "{what}: {found:?}, not {expected:?}");
    }
}

/// Checks AB, and AB where a mask has entries.
fn check<S: Defined<V>, V: Sample, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    b: &Csr<V, O>,
    mask: &Csr<f32, O>,
) {
    let what = format!("{} on {device}: {a:?} times {b:?}", S::NAME);
    let expected = oracle::<S, V, O>(a, b);
    let (left, right) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let options = SpgemmOptions::default();
    let c = left.spgemm_over::<S>(&right, options).expect("a product").download().expect("download");
    assert_eq!(c.shape(), (a.nrows(), b.ncols()));
    assert_same(&what, &c, expected.iter().map(|(&(row, column), &value)| (row, column, value)));

    let on_device = device.upload(mask).expect("upload");
    let masked = left.spgemm_masked_over::<S, _>(&right, &on_device, options).expect("a product");
    let zero = S::oracle().zero;
    let kept =
        mask.iter().map(|(row, column, _)| (row, column, *expected.get(&(row, column)).unwrap_or(&zero)));
    assert_same(&what, &masked.download().expect("download"), kept);
}

fn mask<O: Offset>(rows: usize, cols: usize) -> Csr<f32, O> {
    let places = (0..rows).flat_map(|row| {
        (0..cols).filter(move |col| (row * 7 + col) % 3 == 0).map(move |col| (row, col, 1.0))
    });
    Csr::from_triplets(rows, cols, places).expect("inside").try_into_offsets().expect("few")
}

/// Rows in hash tables, and one whose columns fill windows.
fn all_rows<S: Defined<V>, V: Sample>(device: &Device) {
    let a = sorted::<S, V, u32>(30, &[0, 3, 1, 30, 0, 9, 2]);
    let mut lengths = vec![4; 30];
    (lengths[7], lengths[8]) = (90, 0);
    let b = sorted::<S, V, u32>(110, &lengths);
    check::<S, V, u32>(device, &a, &b, &mask(7, 110));
    let small = sorted::<S, V, u64>(6, &[2, 0, 6, 1, 3, 1]);
    check::<S, V, u64>(device, &small, &small, &mask(6, 6));
}

#[test]
fn every_semiring_and_type() {
    for under_test in devices() {
        let device = &under_test.device;
        for_each_semiring!(all_rows(device));
    }
}

#[test]
fn shapes_without_products() {
    for under_test in devices() {
        let device = &under_test.device;
        for (rows, inner, cols) in [(0, 0, 0), (0, 3, 2), (4, 0, 5), (3, 7, 0), (300, 5, 2), (1, 1, 1)] {
            let (a, b) = (Csr::<i32>::empty(rows, inner).unwrap(), Csr::empty(inner, cols).unwrap());
            check::<MinPlus, i32, u32>(device, &a, &b, &mask(rows, cols));
        }
    }
}

/// Long rows: sums in shared memory, and in several windows.
#[test]
fn wide_rows() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = sorted::<MinPlus, f64, u32>(60, &[60, 1, 40]);
        let mut lengths = vec![3; 60];
        lengths[11] = 900;
        let b = sorted::<MinPlus, f64, u32>(3000, &lengths);
        check::<MinPlus, f64, u32>(device, &a, &b, &mask(3, 3000));
        let ones = sorted::<PlusPair, u32, u32>(60, &[60, 1, 40]);
        let b = sorted::<PlusPair, u32, u32>(3000, &lengths);
        check::<PlusPair, u32, u32>(device, &ones, &b, &mask(3, 3000));
    }
}
