//! Merges and set operations on unsorted keys, on every device: an unspecified result or an error, but no fault.

use std::any::type_name;

use evenpath::error::OpError;
use evenpath::key::{Key, PairValue, Pairs};
use evenpath::sets::{self, Combine, SetOperation};
use evenpath::{Device, merge};
use evenpath_kernels::merge::MergePairs;
use evenpath_kernels::sets::SetPairs;
use evenpath_tests::{devices, tile_len};
use proptest::prelude::*;

/// Unsorted keys with duplicates.
fn scrambled(len: usize) -> Vec<u32> {
    (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761) >> 20).collect()
}

fn descending(len: usize) -> Vec<u32> {
    (0..len as u32).rev().map(|key| key / 3).collect()
}

/// Keys that ascend repeatedly, `period` keys at a time.
fn sawtooth(len: usize, period: usize) -> Vec<u32> {
    (0..len).map(|i| (i % period) as u32).collect()
}

/// One key throughout, except at one position.
fn run_with_outlier(len: usize, key: u32, place: usize, outlier: u32) -> Vec<u32> {
    let mut keys = vec![key; len];
    if let Some(key) = keys.get_mut(place) {
        *key = outlier;
    }
    keys
}

/// Pairs of inputs of these lengths, at least one of them unsorted in some way.
fn inputs(a_len: usize, b_len: usize) -> [(Vec<u32>, Vec<u32>); 6] {
    [
        (scrambled(a_len), scrambled(b_len)),
        (descending(a_len), descending(b_len)),
        (sawtooth(a_len, 7), sawtooth(b_len, 300)),
        (vec![5; a_len], descending(b_len)),
        // A search that hits the outlier cuts at a different position than one that does not.
        (vec![5; a_len], run_with_outlier(b_len, 9, b_len / 4, 0)),
        (run_with_outlier(a_len, 9, a_len / 2, 0), run_with_outlier(b_len, 5, b_len / 2, u32::MAX)),
    ]
}

/// Lengths of A and B that end around the edges of tiles.
fn lengths(tile: usize) -> [(usize, usize); 6] {
    [
        (tile / 2, tile / 2 - 1),
        (1, tile),
        (tile, 2),
        (tile - 9, tile + 12),
        (400, 2 * tile),
        (2 * tile, tile - 5),
    ]
}

/// Checks all operations on pairs, with values numbered from 1, so that reads of other memory are detected.
fn check_pairs<K: Key, V: PairValue + Into<f64>>(
    device: &Device,
    (a, b): (&[K], &[K]),
    value: impl Fn(usize) -> V,
) {
    let len = a.len() + b.len();
    let values: Vec<V> = (1..=len).map(value).collect();
    let upload = |keys: &[K], values: &[V]| {
        (device.upload(keys).expect("upload"), device.upload(values).expect("upload"))
    };
    let (a_keys, a_values) = upload(a, &values[..a.len()]);
    let (b_keys, b_values) = upload(b, &values[a.len()..]);
    let (a_pairs, b_pairs) = (Pairs::new(&a_keys, &a_values), Pairs::new(&b_keys, &b_values));
    let what = format!("{} and {} {} with {} on {device}", a.len(), b.len(), K::NAME, type_name::<V>());
    let check_values = |values: &[V], least: f64, most: usize| {
        let is_own = |value: f64| value >= least && value <= most as f64 && value.fract() == 0.0;
        assert!(values.iter().all(|&value| is_own(value.into())), "values: {what}");
    };

    for (operation, combine) in [
        (SetOperation::Union, Combine::First),
        (SetOperation::Union, Combine::Sum),
        (SetOperation::Intersection, Combine::Sum),
        (SetOperation::Difference, Combine::First),
        (SetOperation::SymmetricDifference, Combine::First),
    ] {
        // The values have room for the largest result, the keys for more.
        let room = operation.largest_result(a.len(), b.len());
        let (mut keys, mut found) = upload(&vec![a[0]; room + 100], &vec![values[0]; room]);
        let result = sets::pairs_into(a_pairs, b_pairs, operation, combine, &mut keys, &mut found);
        let keys = keys.download().expect("no fault");
        assert!(keys[room..].iter().all(|&key| key == a[0]), "{operation} of {what}");
        match result {
            Ok(len) => check_values(&found.download().expect("no fault")[..len], 1.0, 2 * values.len()),
            Err(error) => {
                assert!(matches!(error, OpError::Unsorted { .. }), "{operation} of {what}: {error}");
            }
        }
    }
    let (keys, merged) = merge::pairs(a_pairs, b_pairs).expect("no fault");
    assert_eq!(keys.download().expect("no fault").len(), len, "merge of {what}");
    // A merge may pad with zeros.
    check_values(&merged.download().expect("no fault"), 0.0, len);
    assert!(a_keys.download().expect("no fault") == a && b_keys.download().expect("no fault") == b, "{what}");
    assert!(a_values.download().expect("no fault") == values[..a.len()], "{what}");
    assert!(b_values.download().expect("no fault") == values[a.len()..], "{what}");
}

/// Checks pairs of these types, with lengths around the edges of tiles.
fn check_edges<K: Key, V: PairValue + Into<f64>>(device: &Device, key: fn(u32) -> K, value: fn(usize) -> V) {
    for tile in [tile_len::<SetPairs<K, V::Bits>>(), tile_len::<MergePairs<K, V::Bits>>()] {
        for (a_len, b_len) in lengths(tile) {
            for (a, b) in inputs(a_len, b_len) {
                let keys = |keys: Vec<u32>| -> Vec<K> { keys.into_iter().map(key).collect() };
                check_pairs(device, (&keys(a), &keys(b)), value);
            }
        }
    }
}

#[test]
fn pairs_around_the_edges_of_tiles() {
    for under_test in devices() {
        let device = &under_test.device;
        check_edges(device, |key| key, |number| number as f32);
        check_edges(device, |key| key, |number| number as f64);
        check_edges(device, |key| u64::from(key) << 31, |number| number as f32);
        check_edges(device, |key| u64::from(key) << 31, |number| number as f64);
    }
}

/// Runs with one outlier, on which binary searches that miss it and the walk that hits it disagree.
#[test]
fn an_outlier_within_a_run() {
    let a = vec![5; 1001];
    for place in [0, 1, 700, 1303, 2500, 4998, 4999] {
        let b: Vec<u64> = run_with_outlier(5000, 9, place, 0).into_iter().map(u64::from).collect();
        for under_test in devices() {
            check_pairs(&under_test.device, (&a, &b), |number| number as f64);
        }
    }
}

/// A few small keys in runs, some longer than a tile.
fn keys_in_any_order() -> impl Strategy<Value = Vec<u32>> {
    let run = (0..9_u32, prop_oneof![8 => 1..20_usize, 2 => 20..700_usize, 1 => 1000..3000_usize]);
    prop::collection::vec(run, 1..30)
        .prop_map(|runs| runs.into_iter().flat_map(|(key, len)| std::iter::repeat_n(key, len)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pairs_of_any_keys(a in keys_in_any_order(), b in keys_in_any_order()) {
        let wide = |keys: &[u32]| -> Vec<u64> { keys.iter().map(|&key| u64::from(key) << 40).collect() };
        for under_test in devices() {
            check_pairs(&under_test.device, (&a, &b), |number| number as f32);
            check_pairs(&under_test.device, (&wide(&a), &wide(&b)), |number| number as f64);
        }
    }
}
