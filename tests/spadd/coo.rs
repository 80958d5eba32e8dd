//! Sums of COO matrices, by every method, compared with sums of CSR or a map of coordinates.

use std::collections::BTreeMap;

use approx::abs_diff_ne;
use evenpath::coo::DeviceCoo;
use evenpath::error::OpError;
use evenpath::spadd::SpaddMethod;
use evenpath::{Coo, Csr, Device, Value};
use evenpath_kernels::sets::SetPairs;
use evenpath_tests::{devices, tile_len};

use super::sums::{bits, matrix, upload};

fn upload_coo<V: Value>(device: &Device, matrix: &Coo<V>) -> DeviceCoo<V> {
    device.upload(matrix).expect("upload")
}

/// Row, column and bits of each entry.
fn entries<V: Value>(matrix: &Coo<V>) -> Vec<(u32, u32, u64)> {
    let coordinates = matrix.row_indices().iter().zip(matrix.column_indices());
    let bits = matrix.values().iter().map(|value| value.to_f64().to_bits());
    coordinates.zip(bits).map(|((&row, &column), bits)| (row, column, bits)).collect()
}

/// Checks that every method gives the bits of the sum of CSR matrices.
fn check_canonical<V: Value>(device: &Device, a: &Csr<V>, b: &Csr<V>) {
    let (alpha, beta) = (V::from_f64(1.75), V::from_f64(-0.3));
    let expected = upload(device, a).spadd(alpha, &upload(device, b), beta).expect("sum");
    let expected = entries(&expected.download().expect("download").to_coo().expect("memory"));
    let coo = |matrix: &Csr<V>| upload_coo(device, &matrix.to_coo().expect("memory"));
    for method in SpaddMethod::ALL {
        let sum = coo(a).spadd_with(alpha, &coo(b), beta, method).expect("sum");
        assert_eq!(sum.shape(), a.shape());
        assert!(entries(&sum.download().expect("download")) == expected, "{device}, {method}: {a:?}, {b:?}");
    }
}

#[test]
fn canonical_sums_have_the_bits_of_csr() {
    let tile = tile_len::<SetPairs<u64, u64>>();
    let shapes: [(usize, Vec<usize>, Vec<usize>); 9] = [
        (0, vec![], vec![]),
        (3, vec![0; 4], vec![0, 3, 0, 1]),
        (1, vec![1; 600], vec![1; 600]),
        (9, vec![0, 3, 0, 0, 9, 1, 0], vec![0, 0, 2, 0, 9, 0, 9]),
        (90, vec![7; 900], vec![4; 900]),
        (2 * tile, vec![tile], vec![0]),
        (2 * tile, vec![tile / 2], vec![tile - tile / 2]),
        (2 * tile, vec![tile / 2 + 1], vec![tile - tile / 2]),
        (tile + 9, vec![tile + 9], vec![tile + 9]),
    ];
    for device in devices() {
        for (cols, a, b) in &shapes {
            check_canonical::<f64>(&device.device, &matrix(*cols, a, 1), &matrix(*cols, b, 2));
            check_canonical::<f32>(&device.device, &matrix(*cols, a, 1), &matrix(*cols, b, 2));
        }
    }
}

/// A matrix of `entries` entries, with many duplicates, sorted by row; by column too if `is_sorted`.
fn with_duplicates((rows, cols): (usize, usize), entries: usize, seed: usize, is_sorted: bool) -> Coo<f64> {
    let entry = |number: usize| {
        let random = (number + 1).wrapping_mul(seed * 7919 + 104_729) % 65_521;
        (random * rows / 65_521, random * 31 % cols, random as f64 / 1000.0 - 30.0)
    };
    let mut triplets: Vec<_> = (0..entries).map(entry).collect();
    triplets.sort_by_key(|&(row, column, _)| if is_sorted { (row, column) } else { (row, 0) });
    Coo::from_triplets(rows, cols, triplets).expect("valid")
}

/// Sums of αA + βB with the magnitudes of their terms.
fn oracle((alpha, a): (f64, &Coo<f64>), (beta, b): (f64, &Coo<f64>)) -> BTreeMap<(u32, u32), (f64, f64)> {
    let mut sums = BTreeMap::<_, (f64, f64)>::new();
    for (factor, matrix) in [(alpha, a), (beta, b)] {
        for (row, column, bits) in entries(matrix) {
            let (sum, magnitude) = sums.entry((row, column)).or_default();
            let term = factor * f64::from_bits(bits);
            (*sum, *magnitude) = (*sum + term, *magnitude + term.abs());
        }
    }
    sums
}

fn check_sum(device: &Device, a: &Coo<f64>, b: &Coo<f64>, method: SpaddMethod) {
    let sum = upload_coo(device, a).spadd_with(1.5, &upload_coo(device, b), -0.7, method).expect("sum");
    let sum = sum.download().expect("download");
    let expected = oracle((1.5, a), (-0.7, b));
    assert_eq!(sum.nnz(), expected.len(), "{device}, {method}");
    for ((row, column, found), (&place, &(value, magnitude))) in entries(&sum).into_iter().zip(&expected) {
        assert_eq!((row, column), place, "{device}, {method}");
        let wrong = abs_diff_ne!(f64::from_bits(found), value, epsilon = 1e-13 * magnitude);
        assert!(!wrong, "{device}, {method}: {} at {place:?}, not {value}", f64::from_bits(found));
    }
}

#[test]
fn duplicates_are_added_up() {
    let sizes = [((1, 1), 7), ((3, 2), 500), ((40, 30), 5000)];
    for device in devices() {
        for (shape, len) in sizes {
            for of_b in [0, len / 3, len] {
                let sorted = |len, seed| with_duplicates(shape, len, seed, true);
                let (a, b) = (sorted(len, 1), sorted(of_b, 2));
                for method in [SpaddMethod::Auto, SpaddMethod::BalancedPath, SpaddMethod::GlobalSort] {
                    check_sum(&device.device, &a, &b, method);
                    check_sum(&device.device, &b, &a, method);
                }
                let (a, b) = (with_duplicates(shape, len, 1, false), with_duplicates(shape, of_b, 2, false));
                check_sum(&device.device, &a, &b, SpaddMethod::Auto);
                check_sum(&device.device, &a, &b, SpaddMethod::GlobalSort);
            }
        }
    }
}

#[test]
fn columns_in_no_order_are_named() {
    let sorted = Coo::from_triplets(3, 5, [(0, 1, 1.0), (2, 0, 1.0), (2, 4, 1.0)]).expect("valid");
    let repeated = Coo::from_triplets(3, 5, [(0, 1, 1.0), (2, 3, 1.0), (2, 3, 1.0)]).expect("valid");
    let unsorted = Coo::from_triplets(3, 5, [(0, 1, 1.0), (2, 4, 1.0), (2, 3, 1.0)]).expect("valid");
    for device in devices() {
        let device = device.device;
        let [sorted, repeated, unsorted] =
            [&sorted, &repeated, &unsorted].map(|coo| upload_coo(&device, coo));
        let refused =
            |(a, b): (&DeviceCoo<f64>, &DeviceCoo<f64>), method, operand: &str, previous: u32| match a
                .spadd_with(1.0, b, 1.0, method)
            {
                Err(OpError::NotCanonical { operand: found, row: 2, previous: p, column: 3 }) => {
                    assert_eq!((found, p), (operand, previous));
                }
                other => panic!("{device}, {method}: {other:?}"),
            };
        refused((&unsorted, &sorted), SpaddMethod::BalancedPath, "A", 4);
        refused((&sorted, &unsorted), SpaddMethod::BalancedPath, "B", 4);
        refused((&unsorted, &sorted), SpaddMethod::MergePath, "A", 4);
        refused((&sorted, &repeated), SpaddMethod::MergePath, "B", 3);
        assert_eq!(sorted.spadd(1.0, &unsorted, 1.0).expect("by a sort").nnz(), 4);
    }
}

#[test]
fn a_factor_of_zero_hides_values_of_coo() {
    let nan = Coo::from_triplets(2, 2, [(0, 1, f64::NAN), (1, 0, f64::NAN)]).expect("valid");
    let ones = Coo::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 1.0)]).expect("valid");
    for device in devices() {
        let device = device.device;
        let [nan, ones] = [&nan, &ones].map(|coo| upload_coo(&device, coo));
        for method in SpaddMethod::ALL {
            let sum = nan.spadd_with(0.0, &ones, 2.0, method).expect("sum").download().expect("download");
            assert_eq!(sum.values(), [2.0, 2.0, 0.0], "{device}, {method}");
        }
    }
}

#[test]
fn conversions_between_coo_and_csr() {
    for device in devices() {
        let device = device.device;
        for (cols, lengths) in [(0, vec![]), (3, vec![0, 3, 0, 1]), (90, vec![7; 900])] {
            let a: Csr<f64> = matrix(cols, &lengths, 1);
            let coo = upload(&device, &a).to_coo().expect("conversion");
            let (narrow, wide) =
                (coo.to_csr().expect("conversion"), coo.to_csr_with_offsets::<u64>().expect("conversion"));
            assert!(narrow.download().expect("download") == a, "{device}");
            assert!(bits(&wide.download().expect("download")) == bits(&a), "{device}");
        }
    }
}
