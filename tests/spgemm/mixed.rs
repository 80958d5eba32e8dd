//! Products with rows in two regions, on every device: rows that are sorted between rows that are not.

use std::collections::BTreeMap;

use evenpath::device::DeviceKind;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions, SpgemmPlanInfo};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{devices, kernel_devices, while_values_change};
use proptest::prelude::*;

use crate::spgemm::products::{banded, changed, check_product, matrix_of_lengths};

/// Products of a row up to which it is never sorted: it has a small hash table, which takes less time.
const SHORT: usize = 64;

fn by_mixed() -> SpgemmOptions {
    SpgemmOptions::default().with_method(SpgemmMethod::Mixed)
}

/// The products of each row of A·B, by definition.
fn products<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> Vec<usize> {
    let of_row = |k: usize| b.row(k).expect("a row of B").len();
    a.iter_rows().map(|row| row.columns().iter().map(|&k| of_row(k as usize)).sum()).collect()
}

/// The bits of the values, with products added in the order of A's entries.
fn in_order<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> BTreeMap<(usize, usize), u64> {
    let mut c = BTreeMap::new();
    for (row, k, left) in a.iter() {
        for (column, right) in b.row(k).expect("a row of B").iter() {
            let sum = c.entry((row, column as usize)).or_insert(V::ZERO);
            *sum = left.fma(right, *sum);
        }
    }
    c.into_iter().map(|(place, value)| (place, value.to_bits())).collect()
}

/// Multiplies once and by a plan, with values that change; checks patterns, values, and that they are the same in every run.
fn check<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    b: &Csr<V, O>,
    options: SpgemmOptions,
) -> SpgemmPlanInfo {
    let (left, right) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let plan = left.plan_spgemm(&right, options).expect("a plan");
    let wide = left.plan_spgemm_with_offsets::<u64>(&right, options).expect("a plan");
    let (mut a, mut b) = (a.clone(), b.clone());
    for _ in 0..3 {
        let c = plan.run().expect("a product").download().expect("download");
        check_product(device, &a, &b, &c);
        let at_once = left.spgemm(&right, options).expect("a product").download().expect("download");
        assert_eq!(bits(&at_once), bits(&c), "{device}: {a:?} times {b:?}");
        let in_wide = wide.run().expect("a product").download().expect("download");
        assert_eq!(in_wide.column_indices(), c.column_indices());
        assert_eq!(bits(&in_wide), bits(&c));
        // Short rows have the bits of `row-wise`.
        let (lengths, expected) = (products(&a, &b), in_order(&a, &b));
        if device.kind() != DeviceKind::Cpu && plan.info().expect("figures").method == SpgemmMethod::Mixed {
            for (row, column, value) in c.iter().filter(|&(row, ..)| lengths[row] <= SHORT) {
                assert_eq!(value.to_bits(), expected[&(row, column)], "{device}: ({row}, {column})");
            }
        }
        (a, b) = (changed(&a), changed(&b));
        left.set_values(a.values()).expect("values");
        right.set_values(b.values()).expect("values");
    }
    let info = plan.info().expect("figures");
    assert_eq!(info.products as usize, products(&a, &b).iter().sum::<usize>(), "{info}");
    assert_eq!(info.nnz as usize, in_order(&a, &b).len(), "{info}");
    info
}

fn bits<V: Value, O: Offset>(matrix: &Csr<V, O>) -> Vec<u64> {
    matrix.values().iter().map(|value| value.to_bits()).collect()
}

/// Rows of A that name very many rows of B, between short ones and empty ones.
fn with_huge_rows<V: Value, O: Offset>() -> (Csr<V, O>, Csr<V, O>) {
    let mut lengths: Vec<usize> = (0..300).map(|row| [3, 0, 1, 7, 2][row % 5]).collect();
    (lengths[0], lengths[120], lengths[299]) = (700, 900, 650);
    (banded(900, &lengths, 1), banded(600, &(0..900).map(|row| [2, 1, 0, 4][row % 4]).collect::<Vec<_>>(), 7))
}

#[test]
fn huge_rows_among_short_ones() {
    fn all<V: Value, O: Offset>() {
        let (a, b) = with_huge_rows::<V, O>();
        let lengths = products(&a, &b);
        for under_test in devices() {
            let info = check(&under_test.device, &a, &b, by_mixed());
            if under_test.device.kind() != DeviceKind::Cpu {
                assert_eq!((info.method, info.sorted_rows), (SpgemmMethod::Mixed, 3), "{info}");
                let sorted = lengths[0] + lengths[120] + lengths[299];
                assert_eq!(info.sorted_products as usize, sorted, "{info}");
                assert!(info.to_string().contains(&format!("{sorted} of them sorted, of 3 rows")), "{info}");
            }
        }
    }
    all::<f32, u32>();
    all::<f64, u64>();
}

/// A change of the values waits for a product, or the product for it; neither is refused.
#[test]
fn values_may_change_at_any_time() {
    let (a, b) = with_huge_rows::<f64, u32>();
    for under_test in devices() {
        let device = &under_test.device;
        let (left, right) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
        let values = device.upload(a.values()).expect("memory");
        while_values_change(&left, &values, || {
            let plan = left.plan_spgemm(&right, by_mixed()).expect("a plan");
            for _ in 0..5 {
                let c = plan.run().expect("a product").download().expect("download");
                check_product(device, &a, &b, &c);
            }
        });
    }
}

/// Windows of several sizes, of which some rows are sorted, and more rows than a block takes.
#[test]
fn rows_of_every_class() {
    let b_lengths: Vec<usize> = (0..700).map(|row| [5, 1, 0, 31, 33, 12, 2][row % 7]).collect();
    let b: Csr<f64> = banded(5000, &b_lengths, 3);
    let mut lengths: Vec<usize> = (0..530).map(|row| [0, 1, 3, 8, 2, 7, 1, 5][row % 8]).collect();
    for (at, &length) in [40, 300, 60, 500, 150, 20, 350].iter().enumerate() {
        lengths[at * 75 + 3] = length;
    }
    for under_test in kernel_devices() {
        let info = check(&under_test.device, &banded(700, &lengths, 1), &b, by_mixed());
        assert!(info.method == SpgemmMethod::Mixed && info.sorted_rows > 0, "{info}");
    }
}

/// Where no row is to be sorted, or no other is left, it is the plain method.
#[test]
fn one_region() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let method = |a: &Csr<f64>, b: &Csr<f64>| check(device, a, b, by_mixed()).method;
        let (_, b) = with_huge_rows();
        assert_eq!(method(&banded(900, &[3, 0, 1, 7], 1), &b), SpgemmMethod::RowWise);
        assert_eq!(method(&banded(900, &[700], 1), &b), SpgemmMethod::TwoLevelSort);
        assert_eq!(method(&banded(900, &[800, 0, 700, 0], 1), &b), SpgemmMethod::TwoLevelSort);
        for (rows, inner, cols) in [(0, 0, 0), (3, 0, 2), (300, 5, 2)] {
            let empty = |rows, cols| Csr::<f64>::from_triplets(rows, cols, []).expect("a matrix");
            assert_eq!(method(&empty(rows, inner), &empty(inner, cols)), SpgemmMethod::RowWise);
        }
        let dense: Csr<f64> = banded(60, &[60; 60], 1);
        check(device, &dense, &dense, by_mixed());
    }
}

/// Rows without entries are removed first, and come back in the result.
#[test]
fn hypersparse_operands() {
    for under_test in kernel_devices() {
        let mut lengths = vec![0; 6000];
        for (at, &length) in [3, 800, 1, 5, 700, 2].iter().enumerate() {
            lengths[at * 1100 + 9] = length;
        }
        let (_, b) = with_huge_rows::<f64, u32>();
        let info = check(&under_test.device, &banded(900, &lengths, 1), &b, by_mixed());
        assert_eq!((info.method, info.sorted_rows), (SpgemmMethod::Mixed, 2), "{info}");
    }
}

/// Without room for the sorted rows, all go row by row; the limit holds.
#[test]
fn memory_limits() {
    let (a, b) = with_huge_rows::<f64, u32>();
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let result = 12 * in_order(&a, &b).len() as u64 + 4 * 301;
        let mut methods = Vec::new();
        for room in [16_000, 100_000, 250_000, 4_000_000] {
            let info = check(device, &a, &b, by_mixed().with_memory_limit(result + room));
            assert!(info.workspace_bytes <= result + room, "{info}");
            methods.push(info.method);
        }
        assert_eq!((methods[0], methods[3]), (SpgemmMethod::RowWise, SpgemmMethod::Mixed), "{methods:?}");
        let (a, b) = (device.upload(&a).expect("upload"), device.upload(&b).expect("upload"));
        assert!(a.spgemm(&b, by_mixed().with_memory_limit(result / 2)).is_err());
    }
}

/// The memory that a plan reports is that which it holds, beside the pattern of the result.
#[test]
fn kept_memory_is_reported() {
    let (a, b) = with_huge_rows::<f64, u32>();
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let (a, b) = (device.upload(&a).expect("upload"), device.upload(&b).expect("upload"));
        drop(a.spgemm(&b, by_mixed()).expect("a product"));
        let in_use = || device.memory().expect("a device").in_use;
        let before = in_use();
        let plan = a.plan_spgemm(&b, by_mixed()).expect("a plan");
        assert_eq!(
            in_use() - before,
            plan.info().expect("figures").kept_bytes,
            "{device}, before the first run"
        );
        let nnz = plan.run().expect("a product").nnz();
        for _ in 0..2 {
            let kept = plan.info().expect("figures").kept_bytes;
            assert_eq!(in_use() - before, kept + (4 * nnz + 4 * 301) as u64, "{device}");
            plan.run().expect("a product");
        }
    }
}

/// Matrices with some long rows.
fn any_matrix(rows: usize, cols: usize, longest: usize) -> impl Strategy<Value = Csr<f64>> {
    let length = prop_oneof![4 => 0..4_usize, 1 => 20..45_usize, 1 => longest / 2..=longest];
    matrix_of_lengths(rows, cols, length)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_structure(a in any_matrix(15, 400, 400), b in any_matrix(400, 900, 60)) {
        for under_test in devices() {
            check(&under_test.device, &a, &b, by_mixed());
        }
    }
}
