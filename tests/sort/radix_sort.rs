//! Radix sort on every device, compared with the stable sort of the standard library.

use std::fmt::Debug;
use std::ops::Range;

use evenpath::Device;
use evenpath::error::OpError;
use evenpath::key::{PairValue, Pairs, SortKey};
use evenpath::sort::{self, SortOptions, SortOrder};
use evenpath_kernels::sort::{OnesweepKeys, OnesweepPairs};
use evenpath_tests::{DeviceUnderTest, devices, tile_len};
use proptest::prelude::*;

/// The order of keys in the test: an integer that sorts like the key, defined independently.
pub(crate) trait Oracle: SortKey {
    fn from_random(random: u64) -> Self;
    fn rank(self) -> u64;
    fn bits(self) -> u64;
}

macro_rules! oracle {
    ($($type:ident: |$random:ident| $make:expr, |$key:ident| $rank:expr;)*) => {$(
        impl Oracle for $type {
            fn from_random($random: u64) -> Self {
                $make
            }
            fn rank(self) -> u64 {
                let $key = self;
                $rank
            }
            fn bits(self) -> u64 {
                evenpath_simt::Element::to_bits(self)
            }
        }
    )*};
}
oracle! {
    u32: |random| random as u32, |key| u64::from(key);
    u64: |random| random, |key| key;
    i32: |random| random as i32, |key| (i64::from(key) - i64::from(i32::MIN)) as u64;
    i64: |random| random as i64, |key| (i128::from(key) - i128::from(i64::MIN)) as u64;
    f32: |random| f32::from_bits(random as u32), |key| {
        let bits = key.to_bits();
        u64::from(if key.is_sign_negative() { !bits } else { bits + (1 << 31) })
    };
    f64: |random| f64::from_bits(random), |key| {
        let bits = key.to_bits();
        if key.is_sign_negative() { !bits } else { bits + (1 << 63) }
    };
}

/// Splitmix64, determined by the seed.
pub(crate) fn random(seed: u64) -> impl Iterator<Item = u64> {
    (1..).map(move |i: u64| {
        let mut z = seed.wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    })
}

pub(crate) fn random_keys<K: Oracle>(len: usize) -> Vec<K> {
    random(len as u64).take(len).map(K::from_random).collect()
}

/// The expected permutation.
pub(crate) fn expected<K: Oracle>(keys: &[K], order: SortOrder, bits: Range<u32>) -> Vec<usize> {
    let mask = u64::MAX.checked_shr(64 - (bits.end - bits.start)).unwrap_or(0);
    let rank = |&i: &usize| keys[i].rank().checked_shr(bits.start).unwrap_or(0) & mask;
    let mut places: Vec<usize> = (0..keys.len()).collect();
    match order {
        SortOrder::Ascending => places.sort_by_key(rank),
        SortOrder::Descending => places.sort_by_key(|i| std::cmp::Reverse(rank(i))),
    }
    places
}

pub(crate) fn assert_bits<K: Oracle>(actual: &[K], wanted: impl Iterator<Item = K>, what: &dyn Debug) {
    let wanted: Vec<u64> = wanted.map(K::bits).collect();
    let actual: Vec<u64> = actual.iter().map(|key| key.bits()).collect();
    assert_eq!(actual.len(), wanted.len(), "{what:?}");
    let first = actual.iter().zip(&wanted).position(|(actual, wanted)| actual != wanted);
    assert_eq!(first, None, "first difference of {} keys, {what:?}", actual.len());
}

/// Sorts keys by both functions, and checks that the input is unchanged.
fn check_keys<K: Oracle>(device: &Device, keys: &[K], order: SortOrder, bits: Range<u32>) {
    let what = (device, std::any::type_name::<K>(), keys.len(), order, bits.clone());
    let places = expected(keys, order, bits.clone());
    let options = SortOptions::default().with_order(order).with_bits(bits);
    let mut vector = device.upload(keys).expect("upload");
    let sorted = sort::keys(&vector, options).expect("sort").download().expect("download");
    assert_bits(&sorted, places.iter().map(|&place| keys[place]), &what);
    assert_bits(&vector.download().expect("download"), keys.iter().copied(), &what);
    sort::keys_in_place(&mut vector, options).expect("sort");
    assert_bits(&vector.download().expect("download"), places.iter().map(|&place| keys[place]), &what);
}

/// Like [`check_keys`], with values that hold the original position of each key.
fn check_pairs<K: Oracle, V: PairValue>(
    device: &Device,
    keys: &[K],
    order: SortOrder,
    bits: Range<u32>,
    value: impl Fn(usize) -> V,
) {
    let what = (device, std::any::type_name::<(K, V)>(), keys.len(), order, bits.clone());
    let places = expected(keys, order, bits.clone());
    let values: Vec<V> = places.iter().map(|&place| value(place)).collect();
    let options = SortOptions::default().with_order(order).with_bits(bits);
    let mut vector = device.upload(keys).expect("upload");
    let mut payload = device.upload(&(0..keys.len()).map(value).collect::<Vec<V>>()).expect("upload");
    let (sorted, moved) = sort::pairs(Pairs::new(&vector, &payload), options).expect("sort");
    assert_bits(&sorted.download().expect("download"), places.iter().map(|&place| keys[place]), &what);
    assert!(moved.download().expect("download") == values, "values, {what:?}");
    sort::pairs_in_place(&mut vector, &mut payload, options).expect("sort");
    assert_bits(&vector.download().expect("download"), places.iter().map(|&place| keys[place]), &what);
    assert!(payload.download().expect("download") == values, "values in place, {what:?}");
}

fn for_every_type(device: &Device, len: usize, order: SortOrder) {
    check_keys(device, &random_keys::<u32>(len), order, 0..32);
    check_keys(device, &random_keys::<u64>(len), order, 0..64);
    check_keys(device, &random_keys::<i32>(len), order, 0..32);
    check_keys(device, &random_keys::<i64>(len), order, 0..64);
    check_keys(device, &random_keys::<f32>(len), order, 0..32);
    check_keys(device, &random_keys::<f64>(len), order, 0..64);
    check_pairs(device, &random_keys::<u32>(len), order, 0..32, |i| i as u32);
    check_pairs(device, &random_keys::<f32>(len), order, 0..32, |i| i as f64);
    check_pairs(device, &random_keys::<i64>(len), order, 0..64, |i| i as f32);
    check_pairs(device, &random_keys::<f64>(len), order, 0..64, |i| i as u64);
}

#[test]
fn every_type_both_ways() {
    for DeviceUnderTest { device, fast } in devices() {
        for len in [0, 1, 2, 33, if fast { 1_000_003 } else { 5000 }] {
            for_every_type(&device, len, SortOrder::Ascending);
            for_every_type(&device, len.min(3000), SortOrder::Descending);
        }
    }
}

/// Lengths around those at which one more block starts.
#[test]
fn lengths_around_tile_edges() {
    let around = |tile: usize| [tile - 1, tile, tile + 1, 3 * tile - 1, 3 * tile, 3 * tile + 1];
    for DeviceUnderTest { device, .. } in devices() {
        for len in around(tile_len::<OnesweepKeys<u32>>()) {
            check_keys(&device, &random_keys::<u32>(len), SortOrder::Ascending, 3..13);
        }
        for len in around(tile_len::<OnesweepKeys<u64>>()) {
            check_keys(&device, &random_keys::<u64>(len), SortOrder::Ascending, 30..37);
        }
        for len in around(tile_len::<OnesweepPairs<u64, u32>>()) {
            check_pairs(&device, &random_keys::<u64>(len), SortOrder::Ascending, 1..5, |i| i as u32);
        }
        for len in around(tile_len::<OnesweepPairs<u32, u32>>()) {
            check_pairs(&device, &random_keys::<u32>(len), SortOrder::Descending, 24..32, |i| i as u32);
        }
        for len in around(tile_len::<OnesweepPairs<u32, u64>>()) {
            check_pairs(&device, &random_keys::<u32>(len), SortOrder::Descending, 0..7, |i| i as u64);
        }
        for len in around(tile_len::<OnesweepPairs<u64, u64>>()) {
            check_pairs(&device, &random_keys::<u64>(len), SortOrder::Ascending, 56..64, |i| i as u64);
        }
    }
}

#[test]
fn every_number_of_bits() {
    for DeviceUnderTest { device, .. } in devices() {
        let keys = random_keys::<u32>(3000);
        let wide = random_keys::<f64>(3000);
        for width in [0, 1, 4, 7, 8, 9, 15, 16, 17, 20, 25, 31, 32] {
            check_pairs(&device, &keys, SortOrder::Ascending, 0..width, |i| i as u32);
            check_pairs(&device, &keys, SortOrder::Descending, 32 - width..32, |i| i as u32);
            check_keys(&device, &wide, SortOrder::Ascending, 64 - 2 * width..64);
        }
        check_keys(&device, &keys, SortOrder::Ascending, 32..32);
        check_keys(&device, &wide, SortOrder::Descending, 64..64);
    }
}

/// Keys that stress counters, runs and look-back: few distinct ones, sorted ones, all equal.
#[test]
fn shapes_of_keys() {
    for DeviceUnderTest { device, fast } in devices() {
        let len = if fast { 3_000_001 } else { 10_001 };
        let shapes: [fn(u64, u64) -> u64; 7] = [
            |_, _| 0x8123_4567_89AB_CDEF,
            |_, _| u64::MAX,
            |i, _| i,
            |i, _| u64::MAX - i,
            |_, random| random % 2,
            |_, random| if random % 100 == 0 { random } else { 77 },
            |i, _| i / 1000 * 0x0101_0101,
        ];
        for shape in shapes {
            let keys: Vec<u64> = random(5).take(len).zip(0..).map(|(random, i)| shape(i, random)).collect();
            let narrow: Vec<i32> = keys.iter().map(|&key| key as i32).collect();
            check_pairs(&device, &keys, SortOrder::Ascending, 0..64, |i| i as u32);
            check_keys(&device, &narrow, SortOrder::Descending, 0..32);
        }
    }
}

#[test]
fn floats_in_total_order() {
    let mut keys = vec![
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        -0.0,
        f32::MIN_POSITIVE / 2.0,
        -f32::MIN_POSITIVE,
        1.5,
        -1.5,
        f32::MAX,
        f32::MIN,
    ];
    for DeviceUnderTest { device, .. } in devices() {
        let vector = device.upload(&keys).expect("upload");
        let sorted = sort::keys(&vector, SortOptions::default()).expect("sort").download().expect("download");
        keys.sort_by(f32::total_cmp);
        assert_bits(&sorted, keys.iter().copied(), &device);
        let options = SortOptions::default().with_order(SortOrder::Descending);
        let sorted = sort::keys(&vector, options).expect("sort").download().expect("download");
        assert_bits(&sorted, keys.iter().rev().copied(), &device);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let mut keys = device.upload(&[3_u32, 1, 2]).expect("upload");
        let mut values = device.upload(&[0_u64, 1]).expect("upload");
        let options = SortOptions::default();
        let error = sort::pairs(Pairs::new(&keys, &values), options).expect_err("one value too few");
        assert!(matches!(error, OpError::Length { operand: "values", len: 2, needed: 3 }), "{error}");
        let error = sort::pairs_in_place(&mut keys, &mut values, options).expect_err("one value too few");
        assert!(matches!(error, OpError::Length { .. }), "{error}");
        for (begin, end) in [(5, 4), (0, 33), (40, 41)] {
            let options = SortOptions::default().with_bits(begin..end);
            let error = sort::keys(&keys, options).expect_err("no such bits");
            assert!(matches!(error, OpError::BitRange { width: 32, .. }), "{error}");
            assert!(sort::keys_in_place(&mut keys, options).is_err());
            assert!(sort::keys_temporary_bytes::<u32>(3, options).is_err());
        }
        assert_eq!(keys.download().expect("download"), [3, 1, 2]);
        let elsewhere = Device::simulated(evenpath::device::SimulatedOptions::default());
        let values = elsewhere.upload(&[1_u32, 2, 3]).expect("upload");
        assert!(matches!(sort::pairs(Pairs::new(&keys, &values), options), Err(OpError::Device(_))));
    }
}

/// A sort takes the documented memory: with that much it succeeds, with less it fails.
#[test]
fn temporary_memory_is_as_documented() {
    for DeviceUnderTest { device, .. } in evenpath_tests::kernel_devices() {
        let len = 20_000;
        let keys = device.upload(&random_keys::<u32>(len)).expect("upload");
        let values = device.upload(&vec![1.0_f64; len]).expect("upload");
        let in_use = device.memory().expect("memory").in_use;
        for options in [SortOptions::default(), SortOptions::default().with_bits(4..10)] {
            let pairs = sort::pairs_temporary_bytes::<u32, f64>(len, options).expect("bits");
            device.set_memory_limit(Some(in_use + pairs + 12 * len as u64));
            sort::pairs(Pairs::new(&keys, &values), options).expect("enough memory");
            device.set_memory_limit(Some(in_use + pairs + 12 * len as u64 - 1));
            assert!(sort::pairs(Pairs::new(&keys, &values), options).is_err());
            let alone = sort::keys_temporary_bytes::<u32>(len, options).expect("bits");
            device.set_memory_limit(Some(in_use + alone + 4 * len as u64));
            sort::keys(&keys, options).expect("enough memory");
            device.set_memory_limit(None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_keys(keys in proptest::collection::vec(any::<u64>(), 0..9000), few in 1_u64..40, descending: bool, bits in (0_u32..=64, 0_u32..=64)) {
        let order = if descending { SortOrder::Descending } else { SortOrder::Ascending };
        let bits = bits.0.min(bits.1)..bits.0.max(bits.1);
        let narrow = bits.start / 2..bits.end / 2;
        for DeviceUnderTest { device, .. } in devices() {
            let repeated: Vec<f32> = keys.iter().map(|&key| f32::from_random((key % few).wrapping_mul(0x2468_ACE1))).collect();
            check_pairs(&device, &keys, order, bits.clone(), |i| i as u32);
            check_pairs(&device, &repeated, order, narrow.clone(), |i| i as i64);
        }
    }
}
