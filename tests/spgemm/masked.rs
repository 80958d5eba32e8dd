//! Products under a mask, and outside of one.

use std::collections::BTreeSet;

use evenpath::error::OpError;
use evenpath::generate::generate;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spgemm::MASKED_TILE;
use evenpath_tests::{DeviceUnderTest, device_of_each_kind, devices, kernel_devices, row_lengths};
use proptest::prelude::*;

use super::products::{banded, is_close, oracle};

/// Multiplies under a mask and outside of it, checks both, and returns the values under it.
fn check<V: Value, M: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    b: &Csr<V, O>,
    mask: &Csr<M, O>,
) -> Vec<V> {
    let expected = oracle(a, b);
    let (on_a, on_b) = (device.upload(a).unwrap(), device.upload(b).unwrap());
    let on_mask = device.upload(mask).unwrap();
    let options = SpgemmOptions::default();
    let under = on_a.spgemm_masked(&on_b, &on_mask, options).unwrap().download().unwrap();
    assert_eq!(under.row_offsets(), mask.row_offsets(), "{device}");
    assert_eq!(under.column_indices(), mask.column_indices(), "{device}");
    for (row, column, value) in under.iter() {
        let entry = expected.get(&(row, column)).copied().unwrap_or((0.0, 0.0, 0));
        assert!(is_close(value, entry), "{device}: ({row}, {column}) is {value}, not {entry:?}");
    }
    let outside = on_a.spgemm_masked_out(&on_b, &on_mask, options).unwrap().download().unwrap();
    let masked: BTreeSet<_> = mask.iter().map(|(row, column, _)| (row, column)).collect();
    let rest: Vec<_> = expected.into_iter().filter(|(place, _)| !masked.contains(place)).collect();
    assert_eq!(outside.nnz(), rest.len(), "{device}");
    for ((row, column, value), (place, entry)) in outside.iter().zip(rest) {
        assert_eq!((row, column), place, "{device}");
        assert!(is_close(value, entry), "{device}: ({row}, {column}) is {value}, not {entry:?}");
    }
    under.values().to_vec()
}

fn repeated(pattern: &[usize], rows: usize) -> Vec<usize> {
    (0..rows).map(|row| pattern[row % pattern.len()]).collect()
}

#[test]
fn rows_of_any_lengths() {
    fn all<V: Value, O: Offset>(device: &Device) {
        let a: Csr<V, O> = banded(200, &repeated(&[2, 0, 30, 7], 90), 3);
        let b: Csr<V, O> = banded(4000, &repeated(&[9, 1, 0, 60], 200), 17);
        let masks: [Csr<f32, O>; 4] = [
            banded(4000, &repeated(&[0, 4, 700, 33], 90), 5),
            banded(4000, &repeated(&[1200, 0, 3], 90), 1),
            banded(4000, &[0; 90], 1),
            banded(4000, &[1; 90], 1),
        ];
        for mask in masks {
            check(device, &a, &b, &mask);
        }
    }
    for DeviceUnderTest { device, .. } in devices() {
        all::<f64, u32>(&device);
        all::<f32, u64>(&device);
    }
}

#[test]
fn empty_matrices() {
    let of = |rows: usize, cols, len: usize| banded::<f64, u32>(cols, &vec![len; rows], 1);
    for DeviceUnderTest { device, .. } in devices() {
        check(&device, &of(0, 5, 0), &of(5, 3, 1), &of(0, 3, 0));
        check(&device, &of(4, 5, 2), &of(5, 0, 0), &of(4, 0, 0));
        check(&device, &of(4, 0, 0), &of(0, 3, 0), &of(4, 3, 2));
        check(&device, &of(4, 5, 0), &of(5, 3, 1), &of(4, 3, 2));
        check(&device, &of(4, 5, 2), &of(5, 3, 0), &of(4, 3, 2));
        check(&device, &of(1, 1, 1), &of(1, 1, 1), &of(1, 1, 1));
    }
}

/// Rows with more lookups than a tile has, alone and side by side, with short rows of the mask, and with long ones whose parts are longer.
#[test]
fn heavy_rows_are_cut() {
    let tile = MASKED_TILE as usize;
    for DeviceUnderTest { device, .. } in devices() {
        let b: Csr<f64> = banded(3000, &repeated(&[40, 3, 1, 700, 0], 400), 7);
        for heavy in [tile / 16, 300] {
            let lengths = [&[1, heavy, heavy, 0, 5][..], &[2; 40], &[heavy], &[0; 3], &[heavy]].concat();
            let a: Csr<f64> = banded(400, &lengths, 1);
            for (of_heavy, of_light) in [(2, 3), (90, 0), (2000, 40)] {
                let lengths: Vec<usize> =
                    lengths.iter().map(|&len| if len == heavy { of_heavy } else { of_light }).collect();
                check(&device, &a, &b, &banded::<f32, _>(3000, &lengths, 1));
            }
        }
    }
}

/// Many rows of B add to the same few sums at the same time.
#[test]
fn products_of_one_sum_do_not_meet() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f32> = banded(100, &[100, 33, 1, 64], 1);
        let b: Csr<f32> = banded(8, &[1; 100], 1);
        let narrow = Csr::try_new(100, 1, (0..=100).collect(), vec![0; 100], vec![0.5_f32; 100]).unwrap();
        check(&device, &a, &b, &banded::<f64, _>(8, &[8, 3, 2, 8], 1));
        check(&device, &a, &narrow, &banded::<f64, _>(1, &[1; 4], 1));
    }
}

/// In rows that are not cut, the sums have the bits of the product by rows.
#[test]
fn products_are_added_in_order() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let a: Csr<f64> = generate("rmat:6".parse().unwrap(), 5).unwrap();
        let on_device = device.upload(&a).unwrap();
        let by_rows = SpgemmOptions::default().with_method(SpgemmMethod::RowWise);
        let all = on_device.spgemm(&on_device, by_rows).unwrap().download().unwrap();
        let under = check(&device, &a, &a, &all);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&under), bits(all.values()), "{device}");
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f32> = banded(500, &[480, 3, 0, 300, 7], 1);
        let b: Csr<f32> = banded(900, &repeated(&[11, 2, 40], 500), 7);
        let mask: Csr<f32> = banded(900, &[300, 10, 4, 20, 0], 3);
        let run = || check(&device, &a, &b, &mask).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let first = run();
        assert!((0..3).all(|_| run() == first), "{device}");
    }
}

/// Triangles of a graph: the sum of L ∘ (L L) for its lower triangle L.
#[test]
fn triangles_are_counted() {
    let graph: Csr<f64> = generate("rmat:6".parse().unwrap(), 7).unwrap();
    let edges: BTreeSet<_> = graph
        .iter()
        .filter(|(row, column, _)| row != column)
        .map(|(row, column, _)| (row.max(column), row.min(column)))
        .collect();
    let lower = edges.iter().map(|&(high, low)| (high, low, 1.0));
    let lower = Csr::from_triplets(graph.nrows(), graph.nrows(), lower).unwrap();
    let triangles = edges
        .iter()
        .flat_map(|&(high, middle)| edges.range((middle, 0)..(middle + 1, 0)).map(move |edge| (high, edge.1)))
        .filter(|edge| edges.contains(edge))
        .count();
    assert!(triangles > 100);
    for DeviceUnderTest { device, .. } in devices() {
        let sum: f64 = check(&device, &lower, &lower, &lower).iter().sum();
        assert_eq!(sum as usize, triangles, "{device}");
    }
}

#[test]
fn masks_that_do_not_fit_are_refused() {
    for device in device_of_each_kind() {
        let of = |rows: usize, cols| device.upload(&banded::<f64, u32>(cols, &vec![1; rows], 1)).unwrap();
        let (a, b, options) = (of(2, 5), of(5, 5), SpgemmOptions::default());
        for refused in [
            a.spgemm_masked(&b, &of(3, 5), options).unwrap_err(),
            a.spgemm_masked_out(&b, &of(3, 5), options).unwrap_err(),
        ] {
            let is_it =
                matches!(refused, OpError::Shape { operand: "the mask", rows: 3, needed_rows: 2, .. });
            assert!(is_it, "{refused}");
        }
        let unsorted = Csr::try_new(2, 5, vec![0_u32, 0, 2], vec![3, 1], vec![1.0; 2]).unwrap();
        let unsorted = device.upload(&unsorted).unwrap();
        for refused in [
            a.spgemm_masked(&b, &unsorted, options).unwrap_err(),
            a.spgemm_masked_out(&b, &unsorted, options).unwrap_err(),
        ] {
            assert!(
                matches!(refused, OpError::NotCanonical { operand: "the mask", row: 1, .. }),
                "{refused}"
            );
        }
        let refused = a.spgemm_masked(&b, &of(2, 5), options.with_memory_limit(8)).unwrap_err();
        assert!(matches!(refused, OpError::ProductMemory { needed: 16, limit: 8, .. }), "{refused}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_structure(
        of_a in row_lengths(300, 12),
        of_b in prop::collection::vec(prop_oneof![4 => 0..6_usize, 2 => 0..40_usize, 1 => 100..300_usize], 300),
        of_mask in prop::collection::vec(prop_oneof![4 => 0..6_usize, 2 => 0..40_usize, 1 => 100..300_usize], 12),
        steps in (1..4_usize, 1..8_usize, 1..8_usize),
    ) {
        let rows = of_a.len();
        let a: Csr<f64> = banded(300, &of_a, steps.0);
        let b: Csr<f64> = banded(400, &of_b, steps.1);
        let of_mask: Vec<usize> = (0..rows).map(|row| of_mask[row % of_mask.len()]).collect();
        let mask: Csr<f32> = banded(400, &of_mask, steps.2);
        for DeviceUnderTest { device, .. } in devices() {
            check(&device, &a, &b, &mask);
        }
    }
}
