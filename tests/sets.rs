//! Set operations on sorted sequences, on every device.

use std::any::type_name;
use std::collections::BTreeMap;

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath::key::{Key, PairValue, Pairs};
use evenpath::sets::{self, Combine, SetOperation};
use evenpath_kernels::sets::{SetKeys, SetPairs};
use evenpath_simt::host::BlockOrder;
use evenpath_tests::{devices, kernel_devices, tile_lens};
use proptest::prelude::*;

/// The result by the definition of `std::set_union` and its family, for m copies of a key in A and n in B.
fn oracle<K: Key, V: PairValue>(
    operation: SetOperation,
    a: &[(K, V)],
    b: &[(K, V)],
    combine: Combine,
) -> Vec<(K, V)> {
    let mut copies: BTreeMap<K, (Vec<V>, Vec<V>)> = BTreeMap::new();
    for &(key, value) in a {
        copies.entry(key).or_default().0.push(value);
    }
    for &(key, value) in b {
        copies.entry(key).or_default().1.push(value);
    }
    let mut result = Vec::new();
    for (key, (of_a, of_b)) in copies {
        let matches = of_a.len().min(of_b.len());
        let both = of_a.iter().zip(&of_b).map(|(&a, &b)| if combine == Combine::Sum { a.add(b) } else { a });
        let values: Vec<V> = match operation {
            SetOperation::Union => {
                both.chain(of_a[matches..].iter().copied()).chain(of_b[matches..].iter().copied()).collect()
            }
            SetOperation::Intersection => both.collect(),
            SetOperation::Difference => of_a[matches..].to_vec(),
            SetOperation::SymmetricDifference => [&of_a[matches..], &of_b[matches..]].concat(),
        };
        result.extend(values.into_iter().map(|value| (key, value)));
    }
    result
}

fn check_keys<K: Key>(device: &Device, a: &[K], b: &[K]) {
    let unit = |keys: &[K]| keys.iter().map(|&key| (key, 0_u32)).collect::<Vec<_>>();
    let device_a = device.upload(a).expect("upload");
    let device_b = device.upload(b).expect("upload");
    for operation in SetOperation::ALL {
        let expected: Vec<K> =
            oracle(operation, &unit(a), &unit(b), Combine::First).into_iter().map(|pair| pair.0).collect();
        let what = format!("{operation} of {} and {} {} on {device}", a.len(), b.len(), K::NAME);
        let count = sets::count(&device_a, &device_b, operation).expect("count");
        assert_eq!(count, expected.len(), "count of {what}");
        let result = sets::keys(&device_a, &device_b, operation).expect("keys");
        assert!(result.download().expect("download") == expected, "{what}");
    }
}

/// All operations on keys with values that identify each element.
fn check_pairs<K: Key, V: PairValue>(device: &Device, a: &[K], b: &[K], value: impl Fn(usize) -> V) {
    let number = |keys: &[K], first: usize| -> Vec<(K, V)> {
        keys.iter().enumerate().map(|(i, &key)| (key, value(first + i))).collect()
    };
    let (a, b) = (number(a, 0), number(b, a.len()));
    let upload = |pairs: &[(K, V)]| {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
        (device.upload(&keys).expect("upload"), device.upload(&values).expect("upload"))
    };
    let ((a_keys, a_values), (b_keys, b_values)) = (upload(&a), upload(&b));
    let (device_a, device_b) = (Pairs::new(&a_keys, &a_values), Pairs::new(&b_keys, &b_values));
    for operation in SetOperation::ALL {
        for combine in [Combine::First, Combine::Sum] {
            let (keys, values): (Vec<K>, Vec<V>) = oracle(operation, &a, &b, combine).into_iter().unzip();
            let result = sets::pairs(device_a, device_b, operation, combine).expect("pairs");
            let what = format!(
                "{operation} ({combine:?}) of {} and {} {} with {} on {device}",
                a.len(),
                b.len(),
                K::NAME,
                type_name::<V>()
            );
            assert!(result.0.download().expect("download") == keys, "keys: {what}");
            assert!(result.1.download().expect("download") == values, "values: {what}");
        }
    }
}

fn wide(keys: &[u32]) -> Vec<u64> {
    keys.iter().map(|&key| u64::from(key) << 31 | 5).collect()
}

fn check_all(device: &Device, a: &[u32], b: &[u32]) {
    check_keys(device, a, b);
    check_pairs(device, a, b, |i| i as f32);
    check_pairs(device, a, b, |i| -(i as i64));
    check_keys(device, &wide(a), &wide(b));
    check_pairs(device, &wide(a), &wide(b), |i| i as u32);
    check_pairs(device, &wide(a), &wide(b), |i| i as f64);
}

/// Sorted keys below `below`, determined by the arguments.
fn sorted(len: usize, below: u32, seed: usize) -> Vec<u32> {
    let mut keys: Vec<u32> =
        (0..len).map(|i| ((i + seed) as u32).wrapping_mul(2_654_435_761) % below).collect();
    keys.sort_unstable();
    keys
}

/// Sorted keys without duplicates, with gaps of 1 or 2.
fn unique(len: usize, seed: usize) -> Vec<u32> {
    let gap = |i: usize| 1 + (((i + seed) as u32).wrapping_mul(2_654_435_761) >> 17 & 1);
    (0..len)
        .scan(0, |key, i| {
            *key += gap(i);
            Some(*key)
        })
        .collect()
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
        check_all(device, &[1, 2, 3], &[4, 5]);
        check_all(device, &[4, 5], &[1, 2, 3]);
        check_all(device, &sorted(5000, 10, 0), &[]);
        check_all(device, &[], &sorted(5000, 10, 0));
        check_all(device, &[7], &sorted(5000, 1000, 0));
        check_all(device, &unique(3000, 1), &unique(3000, 1));
    }
}

#[test]
fn disjoint_inputs() {
    for under_test in devices() {
        let (low, high) = (unique(5000, 1), unique(3000, 2));
        let high: Vec<u32> = high.into_iter().map(|key| key + 20_000).collect();
        check_keys(&under_test.device, &low, &high);
        check_keys(&under_test.device, &high, &low);
        let (even, odd): (Vec<u32>, Vec<u32>) = (0..8000).partition(|key| key % 2 == 0);
        check_keys(&under_test.device, &even, &odd);
    }
}

#[test]
fn sizes_around_tile_edges() {
    for under_test in devices() {
        for tile in tile_lens::<SetKeys<u32>>().union(&tile_lens::<SetPairs<u32, u32>>()).copied() {
            for len in [tile - 1, tile, tile + 1, 2 * tile + 1] {
                for a_len in [1, len / 2, len - 1] {
                    check_keys(&under_test.device, &unique(a_len, 3), &unique(len - a_len, 4));
                    check_keys(
                        &under_test.device,
                        &wide(&sorted(a_len, 900, 3)),
                        &wide(&sorted(len - a_len, 900, 4)),
                    );
                }
            }
            // Matches throughout: the first and last diagonal of each tile are starred for one parity.
            for shift in [0, 1] {
                let a: Vec<u32> = (0..tile as u32 + shift).collect();
                let b: Vec<u32> = (shift..tile as u32 + 2).collect();
                check_keys(&under_test.device, &a, &b);
                check_pairs(&under_test.device, &wide(&a), &wide(&b), |i| i as f64);
            }
        }
    }
}

/// Runs of one key over many tiles, in one input or both, ending alternately in A and B.
#[test]
fn long_runs_of_duplicates() {
    for under_test in devices() {
        let device = &under_test.device;
        for (a_run, b_run) in [(0, 12_000), (12_000, 0), (9000, 9000), (9001, 4000), (3, 15_000), (15_000, 3)]
        {
            let a = [&unique(100, 1)[..], &vec![500; a_run], &[501, 501, 900]].concat();
            let b = [&unique(90, 2)[..], &vec![500; b_run], &[501, 700]].concat();
            check_keys(device, &a, &b);
            check_pairs(device, &wide(&a), &wide(&b), |i| i as f32);
        }
        check_keys(device, &vec![5_u32; 9000], &vec![5; 8999]);
        check_keys(device, &vec![5_u32; 8000], &vec![6; 8000]);
        check_keys(device, &vec![6_u32; 8000], &vec![5; 8000]);
    }
}

/// Each block handles many tiles, whose results depend on each other; blocks start in any order.
#[test]
fn few_blocks_do_many_tiles() {
    for (threads, block_order) in [(1, BlockOrder::Ascending), (3, BlockOrder::Seeded(7))] {
        let options = SimulatedOptions::default().with_threads(threads).with_block_order(block_order);
        let device = Device::simulated(options);
        check_all(&device, &unique(30_000, 1), &unique(40_000, 2));
        check_keys(&device, &sorted(60_000, 7000, 3), &sorted(50_000, 9000, 4));
    }
}

#[test]
fn large_inputs() {
    for under_test in devices().iter().filter(|under_test| under_test.fast) {
        let device = &under_test.device;
        check_all(device, &unique(100_000, 5), &unique(123_456, 6));
        check_keys(device, &sorted(400_000, 50_000, 5), &sorted(300_000, 40_000, 6));
        check_keys(device, &[&vec![1_u32; 300_000][..], &[2; 5]].concat(), &vec![1; 500_000]);
    }
}

#[test]
fn results_are_repeatable() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let keys = device.upload(&sorted(30_000, 9000, 1)).expect("upload");
        let values = device.upload(&(0..30_000).map(|i| i as f32 / 7.0).collect::<Vec<_>>()).expect("upload");
        let pairs = Pairs::new(&keys, &values);
        let run = || {
            let (keys, values) = sets::pairs(pairs, pairs, SetOperation::Union, Combine::Sum).expect("union");
            let bits = values.download().expect("download").into_iter().map(f32::to_bits);
            (keys.download().expect("download"), bits.collect::<Vec<_>>())
        };
        let first = run();
        assert!((0..4).all(|_| run() == first), "{device}");
    }
}

#[test]
fn results_are_written_if_there_is_room() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (unique(5000, 1), unique(4000, 2));
        let (a, b) = (device.upload(&a).expect("upload"), device.upload(&b).expect("upload"));
        for operation in SetOperation::ALL {
            let expected = sets::keys(&a, &b, operation).expect("keys").download().expect("download");
            let needed = expected.len();
            // Just enough, then one too few, then more than enough.
            let mut exact = device.upload(&vec![7; needed]).expect("upload");
            assert_eq!(sets::keys_into(&a, &b, operation, &mut exact).expect("room"), needed);
            assert!(exact.download().expect("download") == expected);
            let mut short = device.upload(&vec![7; needed - 1]).expect("upload");
            let error = sets::keys_into(&a, &b, operation, &mut short).expect_err("no room");
            assert!(matches!(error, OpError::Length { operand: "result", .. }), "{error}");
            assert!(short.download().expect("download").iter().all(|&key| key == 7));
            let mut ample = device.upload(&vec![7; 9003]).expect("upload");
            assert_eq!(sets::keys_into(&a, &b, operation, &mut ample).expect("room"), needed);
            let ample = ample.download().expect("download");
            assert!(ample[..needed] == expected && ample[needed..].iter().all(|&key| key == 7));
        }
    }
}

#[test]
fn a_result_can_be_shrunk() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) =
            (device.upload(&[1_u32, 2, 3]).expect("upload"), device.upload(&[2_u32, 3]).expect("upload"));
        let mut result = sets::keys(&a, &b, SetOperation::Union).expect("union");
        result.shrink_to_fit().expect("memory");
        assert_eq!(result.download().expect("download"), [1, 2, 3]);
        assert_eq!(device.memory().expect("memory").in_use, 8 * 4);
        let mut nothing = sets::keys(&b, &a, SetOperation::Difference).expect("difference");
        assert!(nothing.is_empty());
        nothing.shrink_to_fit().expect("memory");
        assert_eq!(nothing.download().expect("download"), [0_u32; 0]);
    }
}

#[test]
fn unsorted_input_is_detected_and_causes_no_fault() {
    for under_test in devices() {
        let device = &under_test.device;
        let scrambled =
            |len: usize| (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761) >> 20).collect::<Vec<_>>();
        let mut descending = sorted(20_000, 1000, 7);
        descending.reverse();
        let inputs = [scrambled(10), scrambled(9000), descending, sorted(15_000, 1000, 3), vec![5; 9000]];
        for a in &inputs {
            let device_a = device.upload(a).expect("upload");
            let descent = (1..a.len()).find(|&i| a[i] < a[i - 1]);
            match (sets::check_sorted(&device_a), descent) {
                (Ok(()), None) => {}
                (Err(OpError::Unsorted { input: "keys", index }), Some(expected)) => {
                    assert_eq!(index, expected);
                }
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            }
            for b in &inputs {
                let device_b = device.upload(b).expect("upload");
                for operation in SetOperation::ALL {
                    let result = sets::keys(&device_a, &device_b, operation);
                    assert!(matches!(result, Ok(_) | Err(OpError::Unsorted { .. })), "{result:?}");
                    sets::count(&device_a, &device_b, operation).expect("no fault");
                }
            }
        }
        device.synchronize().expect("no fault");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&[1_u32, 2]).expect("upload");
        let values = device.upload(&[1.0]).expect("upload");
        let pairs = Pairs::new(&a, &values);
        let error = sets::pairs(pairs, pairs, SetOperation::Union, Combine::Sum).expect_err("one value");
        assert!(matches!(error, OpError::Length { len: 1, needed: 2, .. }), "{error}");
        let elsewhere = Device::simulated(SimulatedOptions::default()).upload(&[1]).expect("upload");
        let error = sets::keys(&a, &elsewhere, SetOperation::Union).expect_err("elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        let error = sets::count(&a, &elsewhere, SetOperation::Union).expect_err("elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
    }
}

#[test]
fn temporary_memory_is_as_documented() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let a = device.upload(&unique(20_000, 1)).expect("upload");
        let mut result = device.zeros(40_000).expect("zeros");
        let before = device.memory().expect("memory").in_use;
        let bytes = sets::keys_temporary_bytes::<u32>(20_000, 20_000);
        device.set_memory_limit(Some(before + bytes - 1));
        let error = sets::keys_into(&a, &a, SetOperation::Union, &mut result).expect_err("one byte short");
        assert!(matches!(error, OpError::Device(DeviceError::MemoryLimit { .. })), "{error}");
        device.set_memory_limit(Some(before + bytes));
        sets::keys_into(&a, &a, SetOperation::Union, &mut result).expect("enough");
        assert_eq!(device.memory().expect("memory").in_use, before);
    }
}

/// Sorted keys with runs of duplicates, some longer than a tile.
fn runs() -> impl Strategy<Value = Vec<u32>> {
    let run = (0..60_u32, prop_oneof![8 => 1..3_usize, 2 => 3..200_usize, 1 => 1000..6000_usize]);
    prop::collection::vec(run, 0..40).prop_map(|mut runs| {
        runs.sort_unstable();
        runs.into_iter().flat_map(|(key, len)| std::iter::repeat_n(key, len)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_runs(a in runs(), b in runs()) {
        for under_test in devices() {
            check_keys(&under_test.device, &a, &b);
            check_pairs(&under_test.device, &wide(&a), &wide(&b), |i| i as f64);
        }
    }

    #[test]
    fn any_sets(a in prop::collection::btree_set(0..9000_u32, 0..6000), b in prop::collection::btree_set(0..9000_u32, 0..6000)) {
        let (a, b): (Vec<u32>, Vec<u32>) = (a.into_iter().collect(), b.into_iter().collect());
        for under_test in devices() {
            check_keys(&under_test.device, &wide(&a), &wide(&b));
            check_pairs(&under_test.device, &a, &b, |i| i as f32);
        }
    }
}
