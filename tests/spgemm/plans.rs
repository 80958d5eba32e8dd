//! Plans of SpGEMM with changing values, by every method and for every class of rows.

use std::collections::BTreeMap;

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions, SpgemmPlanInfo};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spgemm::{HASH_CLASSES, part_len};
use evenpath_tests::{devices, kernel_devices};
use proptest::prelude::*;

use crate::spgemm::products::{banded, changed, matrix_of_lengths};

/// The bits of the values of A·B, with products added in the order of A's entries.
fn in_order<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> Vec<u64> {
    let mut c = BTreeMap::new();
    for (row, k, left) in a.iter() {
        for (column, right) in b.row(k).expect("a row of B").iter() {
            let sum = c.entry((row, column)).or_insert(V::ZERO);
            *sum = left.fma(right, *sum);
        }
    }
    bits(&c.into_values().collect::<Vec<_>>())
}

fn bits<V: Value>(values: &[V]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Runs a plan three times with changing values. Compares each result with a product without a plan and, for
/// row-wise kernels, with sums in order. Returns the plan's final information.
fn check<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    b: &Csr<V, O>,
    options: SpgemmOptions,
) -> SpgemmPlanInfo {
    let (left, right) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let plan = left.plan_spgemm(&right, options).expect("a plan");
    let (mut a, mut b) = (a.clone(), b.clone());
    for run in 0..3 {
        let c = plan.run().expect("a product").download().expect("download");
        let alone = left.spgemm(&right, options).expect("a product").download().expect("download");
        assert_eq!(c.row_offsets(), alone.row_offsets(), "{device}");
        assert_eq!(c.column_indices(), alone.column_indices(), "{device}");
        assert_eq!(bits(c.values()), bits(alone.values()), "{device}, run {run}: {a:?} times {b:?}");
        if device.kind() != DeviceKind::Cpu && plan.info().expect("figures").method == SpgemmMethod::RowWise {
            assert_eq!(bits(c.values()), in_order(&a, &b), "{device}, run {run}: {a:?} times {b:?}");
        }
        (a, b) = (changed(&a), changed(&b));
        left.set_values(a.values()).expect("values");
        right.set_values(b.values()).expect("values");
    }
    plan.info().expect("figures")
}

fn by(method: SpgemmMethod) -> SpgemmOptions {
    SpgemmOptions::default().with_method(method)
}

/// Rows in hash tables and windows, of one part and several, with rows of B shorter and longer than a warp.
#[test]
fn rows_of_every_class() {
    fn all<V: Value, O: Offset>() {
        for under_test in devices() {
            let part = part_len(size_of::<V>()) as usize;
            let mut b_lengths: Vec<usize> =
                (0..300).map(|row| [5, 1, 0, 31, 32, 33, 12, 2][row % 8]).collect();
            (b_lengths[14], b_lengths[15], b_lengths[16]) = (part + 70, 2 * part, 130);
            let b: Csr<V, O> = banded(2 * part + 999, &b_lengths, 3);
            let mut lengths: Vec<usize> = (0..60).map(|row| [0, 1, 3, 8, 40, 7, 1, 33][row % 8]).collect();
            lengths[33] = 300;
            let a = banded(300, &lengths, 1);
            for method in SpgemmMethod::ALL {
                check(&under_test.device, &a, &b, by(method));
            }
        }
    }
    all::<f32, u32>();
    all::<f64, u64>();
}

/// Rows of C with numbers of entries around one and two parts; from one row of B, and from many.
#[test]
fn rows_around_the_edges_of_parts() {
    let part = part_len(8) as usize;
    for under_test in devices() {
        for size in [part - 1, part, part + 1, 2 * part - 1, 2 * part, 2 * part + 1] {
            let wide: Csr<f64> = banded(size, &[size, 3, size / 2], 1);
            check(&under_test.device, &banded(3, &[1, 3, 2], 1), &wide, by(SpgemmMethod::RowWise));
            let narrow = banded(size, &vec![40; size / 40 + 1], 1);
            let row: Csr<f64> = banded(size / 40 + 1, &[size / 40 + 1, 33, 32], 1);
            check(&under_test.device, &row, &narrow, by(SpgemmMethod::RowWise));
        }
    }
}

/// Spans of columns that need several windows, with shared memory for small windows only.
#[test]
fn rows_of_several_windows() {
    let options = SimulatedOptions::default().with_max_shared_bytes(56 << 10);
    let mut devices: Vec<Device> = kernel_devices().into_iter().map(|under_test| under_test.device).collect();
    devices.push(Device::simulated(options));
    for device in devices {
        let a: Csr<f32> = banded(70, &[70, 4, 60], 1);
        for cols in [70_000, 300_000] {
            check(&device, &a, &banded(cols, &[60; 70], cols / 61), by(SpgemmMethod::RowWise));
        }
    }
}

/// Rows of C with more entries than a block can sum, whose ranks are computed in the first run.
#[test]
fn rows_that_are_ranked_at_once() {
    fn all<V: Value, O: Offset>() {
        let options = SimulatedOptions::default().with_max_shared_bytes(56 << 10);
        let mut devices: Vec<Device> =
            kernel_devices().into_iter().map(|under_test| under_test.device).collect();
        devices.push(Device::simulated(options));
        for device in devices {
            let a: Csr<V, O> = banded(60, &[5, 0, 60, 3, 33], 1);
            let mut lengths = vec![40; 60];
            (lengths[1], lengths[4], lengths[33]) = (6000, 1500, 9000);
            let b = banded(80_000, &lengths, 3);
            let options = by(SpgemmMethod::RowWise);
            check(&device, &a, &b, options);
            // A product without a plan, with memory for its result and the analysis only.
            let (left, right) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
            let c = left.spgemm(&right, options).unwrap().download().unwrap();
            let bytes = ((4 + size_of::<V>()) * c.nnz()) as u64;
            let short = left.spgemm(&right, options.with_memory_limit(bytes + 6000)).unwrap();
            assert_eq!(bits(short.download().unwrap().values()), bits(c.values()));
        }
    }
    all::<f32, u32>();
    all::<f64, u64>();
}

/// Data kept by plans stays within the limit; without room for it, values are the same.
#[test]
fn limits_on_what_is_kept() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let a: Csr<f64> = banded(60, &[40, 0, 60, 9], 1);
        let b = banded(900, &[50; 60], 3);
        let options = by(SpgemmMethod::RowWise);
        let kept = check(device, &a, &b, options).kept_bytes;
        let nonzeros = in_order(&a, &b).len() as u64;
        let products: u64 = (40 + 60 + 9) * 50;
        assert!(kept >= 2 * products, "{kept}");
        // Room for the result and the analysis, but not for ranks.
        let short = check(device, &a, &b, options.with_memory_limit(12 * nonzeros + 5000));
        assert!(short.kept_bytes < 2 * products, "{short}");
        // Room for everything.
        let enough = 12 * nonzeros + 5000 + 2 * kept;
        assert_eq!(check(device, &a, &b, options.with_memory_limit(enough)).kept_bytes, kept);
    }
}

/// Sorted at once, and in parts, for which every run repeats all steps.
#[test]
fn sorted_products_are_kept() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let a: Csr<f64> = banded(400, &(0..120).map(|row| [3, 0, 90, 12][row % 4]).collect::<Vec<_>>(), 1);
        let b = banded(5000, &(0..400).map(|row| [9, 1, 0, 33][row % 4]).collect::<Vec<_>>(), 17);
        let options = by(SpgemmMethod::TwoLevelSort);
        let info = check(device, &a, &b, options);
        assert!(info.kept_bytes >= 2 * info.products, "{info}");
        let parts = check(device, &a, &b, options.with_memory_limit(1_200_000));
        assert_eq!((parts.kept_bytes, parts.nnz), (0, info.nnz));
    }
}

#[test]
fn nothing_to_multiply() {
    for under_test in devices() {
        for (rows, inner, cols) in [(0, 0, 0), (3, 0, 2), (300, 5, 2)] {
            let a = Csr::<f64>::from_triplets(rows, inner, []).unwrap();
            let b = Csr::from_triplets(inner, cols, []).unwrap();
            for method in SpgemmMethod::ALL {
                check(&under_test.device, &a, &b, by(method));
            }
        }
    }
}

/// Matrices of any structure, with some long rows.
fn any_matrix(rows: usize, cols: usize, longest: usize) -> impl Strategy<Value = Csr<f64>> {
    let length = prop_oneof![4 => 0..6_usize, 2 => 20..45_usize, 1 => 0..=longest];
    matrix_of_lengths(rows, cols, length)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_structure(a in any_matrix(12, 80, 80), b in any_matrix(80, 3000, 1500)) {
        assert!(HASH_CLASSES[0] < 45);
        for under_test in devices() {
            check(&under_test.device, &a, &b, by(SpgemmMethod::RowWise));
            check(&under_test.device, &a, &b, by(SpgemmMethod::TwoLevelSort));
        }
    }
}
