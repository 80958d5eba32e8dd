//! Merge of sorted sequences, on every device.

use std::any::type_name;

use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath::key::{Key, PairValue, Pairs, coordinate};
use evenpath::{Device, merge};
use evenpath_kernels::merge::{MergeKeys, MergePairs};
use evenpath_tests::{devices, tile_lens};
use proptest::prelude::*;

/// Merges by a stable sort of both, A first.
fn oracle<K: Key, V: PairValue>(a: &[(K, V)], b: &[(K, V)]) -> Vec<(K, V)> {
    let mut all = [a, b].concat();
    all.sort_by_key(|pair| pair.0);
    all
}

fn check_keys<K: Key>(device: &Device, a: &[K], b: &[K]) {
    let mut expected = [a, b].concat();
    expected.sort_unstable();
    let (a, b) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let merged = merge::keys(&a, &b).expect("merge").download().expect("download");
    assert!(merged == expected, "{device}, {} and {} {} keys", a.len(), b.len(), K::NAME);
}

/// Merges keys with values that identify each element.
fn check_pairs<K: Key, V: PairValue>(device: &Device, a: &[K], b: &[K], value: impl Fn(usize) -> V) {
    let number = |keys: &[K], first: usize| -> Vec<(K, V)> {
        keys.iter().enumerate().map(|(i, &key)| (key, value(first + i))).collect()
    };
    let (a, b) = (number(a, 0), number(b, a.len()));
    let (keys, values): (Vec<K>, Vec<V>) = oracle(&a, &b).into_iter().unzip();
    let upload = |pairs: &[(K, V)]| {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
        (device.upload(&keys).expect("upload"), device.upload(&values).expect("upload"))
    };
    let ((a_keys, a_values), (b_keys, b_values)) = (upload(&a), upload(&b));
    let merged = merge::pairs(Pairs::new(&a_keys, &a_values), Pairs::new(&b_keys, &b_values));
    let (merged_keys, merged_values) = merged.expect("merge");
    let what = format!("{device}, {} and {} pairs of {} and {}", a.len(), b.len(), K::NAME, type_name::<V>());
    assert!(merged_keys.download().expect("download") == keys, "keys: {what}");
    assert!(merged_values.download().expect("download") == values, "values: {what}");
}

fn check_all(device: &Device, a: &[u32], b: &[u32]) {
    check_keys(device, a, b);
    check_pairs(device, a, b, |i| i as u32);
    check_pairs(device, a, b, |i| i as f64);
    let wide = |keys: &[u32]| -> Vec<u64> { keys.iter().map(|&key| u64::from(key) << 31 | 5).collect() };
    check_keys(device, &wide(a), &wide(b));
    check_pairs(device, &wide(a), &wide(b), |i| i as f32);
    check_pairs(device, &wide(a), &wide(b), |i| -(i as i64));
}

/// Sorted keys below `below`, determined by the arguments.
fn sorted(len: usize, below: u32, seed: usize) -> Vec<u32> {
    let mut keys: Vec<u32> =
        (0..len).map(|i| ((i + seed) as u32).wrapping_mul(2_654_435_761) % below).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn odd_inputs() {
    for under_test in devices() {
        let device = &under_test.device;
        check_all(device, &[], &[]);
        check_all(device, &[1], &[]);
        check_all(device, &[], &[0, u32::MAX]);
        check_all(device, &[u32::MAX; 3], &[u32::MAX; 2]);
        check_all(device, &[0], &[0]);
        check_all(device, &sorted(9000, 10, 0), &[]);
        check_all(device, &[], &sorted(9000, 10, 0));
        check_all(device, &[7], &sorted(9000, 1000, 0));
        // Disjoint, in both orders; identical; a single key.
        let (low, high) = (sorted(5000, 1000, 1), sorted(4000, 1000, 2));
        let high: Vec<u32> = high.into_iter().map(|key| key + 1000).collect();
        check_all(device, &low, &high);
        check_all(device, &high, &low);
        check_all(device, &low, &low);
        check_all(device, &vec![3; 9000], &vec![3; 5000]);
    }
}

#[test]
fn sizes_around_tile_edges() {
    for under_test in devices() {
        for tile in tile_lens::<MergeKeys<u32>>().union(&tile_lens::<MergePairs<u32, u32>>()).copied() {
            for len in [tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1] {
                for a_len in [0, 1, len / 2, len - 1, len] {
                    let (a, b) = (sorted(a_len, 5000, 3), sorted(len - a_len, 5000, 4));
                    check_pairs(&under_test.device, &a, &b, |i| i as u32);
                }
            }
        }
    }
}

#[test]
fn large_inputs() {
    for under_test in devices().iter().filter(|under_test| under_test.fast) {
        check_all(&under_test.device, &sorted(1_000_000, u32::MAX, 5), &sorted(400_003, 1 << 20, 6));
    }
}

#[test]
fn coordinates_are_merged_by_row_and_column() {
    for under_test in devices() {
        let a = [coordinate(0, 9), coordinate(1, 0), coordinate(u32::MAX, 1)];
        let b = [coordinate(0, 10), coordinate(1, 0), coordinate(u32::MAX, 0)];
        check_pairs(&under_test.device, &a, &b, |i| i as f32);
    }
}

/// Unsorted input gives an unspecified result, but no fault.
#[test]
fn unsorted_input_causes_no_fault() {
    for under_test in devices() {
        let device = &under_test.device;
        for len in [10_usize, 3000, 20_000] {
            let mut a: Vec<u32> = sorted(len, 1000, 7);
            a.reverse();
            let b: Vec<u32> = (0..len / 2).map(|i| (i as u32).wrapping_mul(2_654_435_761)).collect();
            let (a, b) = (device.upload(&a).expect("upload"), device.upload(&b).expect("upload"));
            let merged = merge::keys(&a, &b).expect("no fault").download().expect("no fault");
            assert_eq!(merged.len(), len + len / 2);
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (device.upload(&[1_u32, 2]).expect("upload"), device.upload(&[3]).expect("upload"));
        let mut short = device.upload(&[9_u32; 2]).expect("upload");
        let error = merge::keys_into(&a, &b, &mut short).expect_err("too short");
        assert!(matches!(error, OpError::Length { operand: "merged", len: 2, needed: 3 }), "{error}");
        assert_eq!(short.download().expect("download"), [9; 2]);
        let values = device.upload(&[1.0]).expect("upload");
        let error = merge::pairs(Pairs::new(&a, &values), Pairs::new(&b, &values)).expect_err("one value");
        assert!(matches!(error, OpError::Length { len: 1, needed: 2, .. }), "{error}");
        let elsewhere = Device::simulated(SimulatedOptions::default()).upload(&[1]).expect("upload");
        let error = merge::keys(&a, &elsewhere).expect_err("elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
    }
}

#[test]
fn temporary_memory_is_as_documented() {
    for under_test in evenpath_tests::kernel_devices() {
        let device = &under_test.device;
        let (a, b) =
            (device.upload(&sorted(20_000, 99, 0)).expect("upload"), device.upload(&[7]).expect("upload"));
        let mut merged = device.zeros(20_001).expect("zeros");
        let before = device.memory().expect("memory").in_use;
        let bytes = merge::keys_temporary_bytes::<u32>(20_000, 1);
        device.set_memory_limit(Some(before + bytes - 1));
        let error = merge::keys_into(&a, &b, &mut merged).expect_err("one byte short");
        assert!(matches!(error, OpError::Device(DeviceError::MemoryLimit { .. })), "{error}");
        device.set_memory_limit(Some(before + bytes));
        merge::keys_into(&a, &b, &mut merged).expect("enough");
        assert_eq!(device.memory().expect("memory").in_use, before);
    }
}

/// Sorted keys with runs of duplicates, some longer than a tile.
fn runs() -> impl Strategy<Value = Vec<u32>> {
    let run = (0..40_u32, prop_oneof![6 => 1..4_usize, 2 => 4..300_usize, 1 => 1000..6000_usize]);
    prop::collection::vec(run, 0..30).prop_map(|mut runs| {
        runs.sort_unstable();
        runs.into_iter().flat_map(|(key, len)| std::iter::repeat_n(key, len)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_runs(a in runs(), b in runs()) {
        for under_test in devices() {
            check_pairs(&under_test.device, &a, &b, |i| i as u32);
            let wide = |keys: &[u32]| -> Vec<u64> { keys.iter().map(|&key| u64::from(key) << 40).collect() };
            check_pairs(&under_test.device, &wide(&a), &wide(&b), |i| i as f64);
        }
    }
}
