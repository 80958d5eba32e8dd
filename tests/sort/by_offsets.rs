//! Sorts by segments and of rows on every device, compared with the stable sort of the standard library per segment.

use std::ops::Range;

use evenpath::error::{MatrixError, OpError};
use evenpath::key::{PairValue, Pairs};
use evenpath::sort::{self, SortOptions, SortOrder};
use evenpath::{Csr, Device, DeviceVec, Offset, Value};
use evenpath_kernels::sort::{SortSegmentKeys, SortSegmentPairs};
use evenpath_tests::{DeviceUnderTest, devices, kernel_devices, tile_len};
use proptest::prelude::*;

use crate::sort::radix_sort::{Oracle, assert_bits, expected, random, random_keys};

/// Segments of keys, and the options of their sort.
#[derive(Debug, Clone)]
struct Segments {
    lengths: Vec<usize>,
    order: SortOrder,
    bits: Range<u32>,
}

impl Segments {
    /// Segments sorted by all `bits` bits of a key.
    fn new(lengths: &[usize], width: u32) -> Self {
        Self { lengths: lengths.to_vec(), order: SortOrder::Ascending, bits: 0..width }
    }

    fn len(&self) -> usize {
        self.lengths.iter().sum()
    }

    fn offsets<O: Offset>(&self) -> Vec<O> {
        let ends = self.lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        std::iter::once(0).chain(ends).map(|offset| O::try_from_usize(offset).expect("small")).collect()
    }

    fn upload<O: Offset>(&self, device: &Device) -> DeviceVec<O> {
        device.upload(&self.offsets::<O>()).expect("upload")
    }

    fn options(&self) -> SortOptions {
        SortOptions::default().with_order(self.order).with_bits(self.bits.clone())
    }

    /// For each position, the original position of its key.
    fn permutation<K: Oracle>(&self, keys: &[K]) -> Vec<usize> {
        let mut places = Vec::with_capacity(keys.len());
        for &length in &self.lengths {
            let start = places.len();
            let own = expected(&keys[start..start + length], self.order, self.bits.clone());
            places.extend(own.into_iter().map(|place| start + place));
        }
        places
    }

    /// Description for failures, without all of millions of lengths.
    fn describe(&self, device: &Device, types: &str) -> String {
        let first = &self.lengths[..self.lengths.len().min(20)];
        let (order, bits, count) = (self.order, &self.bits, self.lengths.len());
        format!("{types} on {device}, {order}, bits {bits:?}, {count} segments of {first:?} …")
    }
}

/// Maximum number of keys for which sorts in place are checked too. They are sorts into new vectors that
/// replace the operands.
const FEW_KEYS: usize = 4000;

/// Checks a sort of keys, into a new vector and in place, and that the input is unchanged.
fn check_keys<K: Oracle, O: Offset>(device: &Device, segments: &Segments, keys: &[K]) {
    let what = segments.describe(device, std::any::type_name::<(K, O)>());
    let sorted = || segments.permutation(keys).into_iter().map(|place| keys[place]);
    let row_offsets = segments.upload::<O>(device);
    let mut vector = device.upload(keys).expect("upload");
    let result = sort::keys_by_offsets(&row_offsets, &vector, segments.options()).expect("sort");
    assert_bits(&result.download().expect("download"), sorted(), &what);
    assert_bits(&vector.download().expect("download"), keys.iter().copied(), &what);
    if keys.len() > FEW_KEYS {
        return;
    }
    sort::keys_by_offsets_in_place(&row_offsets, &mut vector, segments.options()).expect("sort");
    assert_bits(&vector.download().expect("download"), sorted(), &what);
}

/// Like [`check_keys`], with values that hold the original position of each key.
fn check_pairs<K: Oracle, V: PairValue, O: Offset>(
    device: &Device,
    segments: &Segments,
    keys: &[K],
    value: impl Fn(usize) -> V,
) {
    let what = segments.describe(device, std::any::type_name::<(K, V, O)>());
    let places = segments.permutation(keys);
    let sorted = || places.iter().map(|&place| keys[place]);
    let moved: Vec<V> = places.iter().map(|&place| value(place)).collect();
    let row_offsets = segments.upload::<O>(device);
    let mut vector = device.upload(keys).expect("upload");
    let mut values = device.upload(&(0..keys.len()).map(value).collect::<Vec<V>>()).expect("upload");
    let (sorted_keys, sorted_values) =
        sort::pairs_by_offsets(&row_offsets, Pairs::new(&vector, &values), segments.options()).expect("sort");
    assert_bits(&sorted_keys.download().expect("download"), sorted(), &what);
    assert!(sorted_values.download().expect("download") == moved, "values of {what}");
    if keys.len() > FEW_KEYS {
        return;
    }
    sort::pairs_by_offsets_in_place(&row_offsets, &mut vector, &mut values, segments.options())
        .expect("sort");
    assert_bits(&vector.download().expect("download"), sorted(), &what);
    assert!(values.download().expect("download") == moved, "values of {what}, in place");
}

/// Every kernel instance for keys of 32 bits, and both kinds of offsets.
fn check_narrow(device: &Device, lengths: &[usize]) {
    let segments = Segments::new(lengths, 32);
    let len = segments.len();
    check_keys::<u32, u32>(device, &segments, &random_keys(len));
    check_pairs::<i32, u32, u64>(device, &segments, &random_keys(len), |i| i as u32);
    check_pairs::<f32, f64, u32>(device, &segments, &random_keys(len), |i| i as f64);
}

/// [`check_narrow`] for keys of 64 bits.
fn check_wide(device: &Device, lengths: &[usize]) {
    let segments = Segments::new(lengths, 64);
    let len = segments.len();
    check_keys::<f64, u64>(device, &segments, &random_keys(len));
    check_pairs::<i64, f32, u32>(device, &segments, &random_keys(len), |i| i as f32);
    check_pairs::<u64, i64, u64>(device, &segments, &random_keys(len), |i| i as i64);
}

fn check_types(device: &Device, lengths: &[usize]) {
    check_narrow(device, lengths);
    check_wide(device, lengths);
}

#[test]
fn few_elements_and_none() {
    for DeviceUnderTest { device, .. } in devices() {
        for lengths in [&[][..], &[0], &[0, 0, 0], &[1], &[0, 1, 0], &[2], &[1, 1], &[0, 2, 0, 0, 3, 1, 0]] {
            check_types(&device, lengths);
        }
    }
}

/// A check of segments of these lengths.
type Check = fn(&Device, &[usize]);

/// Segments that just fit a tile or its window, alone or after others, and those that just do not.
#[test]
fn lengths_around_tile_edges() {
    for DeviceUnderTest { device, .. } in devices() {
        let kinds: [(usize, Check); 2] = [
            (tile_len::<SortSegmentKeys<u32>>(), check_narrow),
            (tile_len::<SortSegmentKeys<u64>>(), check_wide),
        ];
        for (tile, check) in kinds {
            let window = tile / 4 * 3;
            for lengths in [
                &[tile - 1, 1][..],
                &[tile, tile, 2],
                &[tile + 1, 1],
                &[window - 1, 1, tile],
                &[window - 1, tile - window + 1, 3],
                &[window - 1, tile - window + 2, 3],
                &[window, tile + 1, 0, tile, 1],
                &[1, tile + 1, tile + 1, window - 1, tile - 1],
            ] {
                check(&device, lengths);
            }
        }
    }
}

/// Pairs whose keys are mostly equal keep their order.
fn check_ties(device: &Device, lengths: &[usize]) {
    let (narrow, wide) = (Segments::new(lengths, 32), Segments::new(lengths, 64));
    let keys = (0..narrow.len()).map(|at| at * 7919 % 5);
    let keys: (Vec<u32>, Vec<u64>) = keys.map(|key| (key as u32, key as u64)).unzip();
    check_pairs::<u32, u32, u32>(device, &narrow, &keys.0, |i| i as u32);
    check_pairs::<u64, u32, u32>(device, &wide, &keys.1, |i| i as u32);
}

/// Segments that are just short enough to be sorted by counting, alone and beside those that are just too
/// long.
#[test]
fn lengths_around_the_limit_of_counting() {
    for DeviceUnderTest { device, .. } in devices() {
        let mut lengths: Vec<usize> = (0..300).map(|segment| 28 + segment % 5).collect();
        check_types(&device, &lengths);
        check_ties(&device, &lengths);
        lengths[200] = 33;
        check_types(&device, &lengths);
        check_types(&device, &[32]);
        check_types(&device, &[33]);
        check_types(&device, &[0, 31, 0, 33, 1, 32, 64, 65]);
    }
}

/// Several long segments among short ones, whose tiles are merged in several rounds or one; and a single
/// segment, which is sorted as a whole.
#[test]
fn long_segments() {
    for DeviceUnderTest { device, fast } in devices() {
        let tile = tile_len::<SortSegmentPairs<u32, u32>>();
        check_types(&device, &[2 * tile]);
        check_types(&device, &[0, 2 * tile + 5, 0]);
        check_ties(&device, &[3, 4 * tile + 5, 7]);
        check_types(&device, &[7, 2 * tile, 0, 0, 3, tile + 3, tile + 4, 100, 3 * tile, 0]);
        let most = if fast { 300 } else { 9 };
        let skewed: Vec<usize> = (1..most).map(|i| 2 * tile / i + i % 3).collect();
        check_types(&device, &skewed);
        if fast {
            check_types(&device, &[10, 300_000, 1, 0, 70_000, 5]);
        }
    }
}

/// The number of segments is at least the number of elements.
#[test]
fn many_short_segments() {
    for DeviceUnderTest { device, fast } in devices() {
        let count = if fast { 300_000 } else { 5000 };
        for most in [1, 2, 3, 70] {
            let count = count / most as usize;
            let lengths: Vec<usize> =
                random(3).take(count).map(|random| (random % (most + 1)) as usize).collect();
            check_types(&device, &lengths);
        }
        let mut lengths = vec![0; count];
        lengths[count / 2] = 1000;
        lengths[count - 1] = 3;
        check_types(&device, &lengths);
        check_types(&device, &vec![1; count]);
    }
}

#[test]
fn every_number_of_bits_both_ways() {
    for DeviceUnderTest { device, .. } in devices() {
        let lengths = [5, 300, 0, 4000, 3500, 1, 900];
        let keys: Vec<u32> = random_keys(lengths.iter().sum());
        let wide: Vec<f64> = random_keys(keys.len());
        for width in [0, 1, 7, 8, 9, 17, 32] {
            for order in [SortOrder::Ascending, SortOrder::Descending] {
                let low = Segments { lengths: lengths.to_vec(), order, bits: 0..width };
                check_pairs::<_, _, u32>(&device, &low, &keys, |i| i as u32);
                let high = Segments { bits: 64 - 2 * width..64, ..low };
                check_keys::<_, u32>(&device, &high, &wide);
            }
        }
    }
}

/// Few distinct keys, sorted ones and equal ones: positions of equal keys detect an unstable sort.
#[test]
fn shapes_of_keys() {
    for DeviceUnderTest { device, .. } in devices() {
        let segments = Segments::new(&[9, 4000, 40, 1000, 20_000, 2], 32);
        let shapes: [fn(usize, u64) -> u32; 5] = [
            |_, _| u32::MAX,
            |i, _| i as u32,
            |i, _| u32::MAX - i as u32,
            |_, random| (random % 2) as u32,
            |_, random| if random.is_multiple_of(100) { random as u32 } else { 77 },
        ];
        for shape in shapes {
            let keys: Vec<u32> =
                random(5).take(segments.len()).enumerate().map(|(i, random)| shape(i, random)).collect();
            check_pairs::<_, _, u64>(&device, &segments, &keys, |i| i as u64);
        }
    }
}

#[test]
fn floats_in_total_order() {
    let keys = [f64::NAN, 0.0, -0.0, -f64::NAN, -1.0, f64::INFINITY, 0.0, f64::NEG_INFINITY, -0.0, f64::NAN];
    for DeviceUnderTest { device, .. } in devices() {
        let row_offsets = device.upload(&[0_u32, 4, 4, 10]).expect("upload");
        let vector = device.upload(&keys).expect("upload");
        let sorted = sort::keys_by_offsets(&row_offsets, &vector, SortOptions::default()).expect("sort");
        let mut wanted = keys;
        wanted[..4].sort_by(f64::total_cmp);
        wanted[4..].sort_by(f64::total_cmp);
        assert_bits(&sorted.download().expect("download"), wanted.into_iter(), &device);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let mut keys = device.upload(&[3_u32, 1, 2]).expect("upload");
        let mut values = device.upload(&[7_u64, 8, 9]).expect("upload");
        let options = SortOptions::default();
        let mut refused = |offsets: &[u64]| {
            let row_offsets = device.upload(offsets).expect("upload");
            let error = sort::keys_by_offsets(&row_offsets, &keys, options).expect_err("bad offsets");
            let others = [
                sort::keys_by_offsets_in_place(&row_offsets, &mut keys, options),
                sort::pairs_by_offsets(&row_offsets, Pairs::new(&keys, &values), options).map(drop),
                sort::pairs_by_offsets_in_place(&row_offsets, &mut keys, &mut values, options),
            ];
            for other in others {
                assert_eq!(other.expect_err("bad offsets").to_string(), error.to_string());
            }
            error
        };
        assert!(matches!(refused(&[]), OpError::Matrix(MatrixError::RowOffsetsLength { rows: 0, found: 0 })));
        assert!(matches!(refused(&[1, 3]), OpError::Matrix(MatrixError::FirstRowOffset { found: 1 })));
        assert!(matches!(refused(&[0, 4]), OpError::Matrix(MatrixError::LastRowOffset { found: 4, nnz: 3 })));
        assert!(matches!(
            refused(&[0, 2, 1, 3]),
            OpError::Matrix(MatrixError::RowOffsetsDecrease { row: 1, start: 2, end: 1 })
        ));

        let row_offsets = device.upload(&[0_u64, 3]).expect("upload");
        let short = device.upload(&[1.0_f32]).expect("upload");
        let error = sort::pairs_by_offsets(&row_offsets, Pairs::new(&keys, &short), options)
            .expect_err("values missing");
        assert!(matches!(error, OpError::Length { operand: "values", len: 1, needed: 3 }), "{error}");
        let error =
            sort::keys_by_offsets(&row_offsets, &keys, options.with_bits(5..33)).expect_err("no such bits");
        assert!(matches!(error, OpError::BitRange { begin: 5, end: 33, width: 32 }), "{error}");
        assert!(sort::keys_by_offsets_temporary_bytes::<u32>(1, 3, options.with_bits(5..33)).is_err());

        let elsewhere = Device::simulated(evenpath::device::SimulatedOptions::default());
        let row_offsets = elsewhere.upload(&[0_u64, 3]).expect("upload");
        assert!(matches!(sort::keys_by_offsets(&row_offsets, &keys, options), Err(OpError::Device(_))));
        assert_eq!(keys.download().expect("download"), [3, 1, 2]);
        assert_eq!(values.download().expect("download"), [7, 8, 9]);
    }
}

/// A sort takes at most the documented memory, and exactly that if every segment is long; if it fails for
/// lack of memory, its operands are unchanged.
#[test]
fn temporary_memory_is_as_documented() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for (lengths, is_tight) in [(vec![10_000, 10_000], true), (vec![100; 200], false)] {
            let segments = Segments::new(&lengths, 32);
            let (len, options) = (segments.len(), SortOptions::default());
            let keys: Vec<u32> = random_keys(len);
            let mut vector = device.upload(&keys).expect("upload");
            let mut values = device.upload(&vec![1.0_f64; len]).expect("upload");
            let row_offsets = segments.upload::<u32>(&device);
            let in_use = device.memory().expect("memory").in_use;
            let bytes = sort::pairs_by_offsets_temporary_bytes::<u32, f64>(lengths.len(), len, options)
                .expect("bits");
            let limit = in_use + bytes + 12 * len as u64;
            if is_tight {
                device.set_memory_limit(Some(limit - limit / 20));
                sort::pairs_by_offsets_in_place(&row_offsets, &mut vector, &mut values, options)
                    .expect_err("too little memory");
                assert_eq!(vector.download().expect("download"), keys);
            }
            device.set_memory_limit(Some(limit));
            sort::pairs_by_offsets(&row_offsets, Pairs::new(&vector, &values), options)
                .expect("enough memory");
            let bytes =
                sort::keys_by_offsets_temporary_bytes::<u32>(lengths.len(), len, options).expect("bits");
            device.set_memory_limit(Some(in_use + bytes + 4 * len as u64));
            sort::keys_by_offsets(&row_offsets, &vector, options).expect("enough memory");
            device.set_memory_limit(None);
        }
    }
}

/// A matrix of these row lengths with unsorted columns, some duplicated.
fn unsorted<V: Value, O: Offset>(lengths: &[usize], cols: usize) -> Csr<V, O> {
    let segments = Segments::new(lengths, 32);
    let columns = random(11).take(segments.len()).map(|random| (random % cols as u64) as u32).collect();
    let values = (0..segments.len()).map(|i| V::from_u64(i as u64)).collect();
    Csr::try_new(lengths.len(), cols, segments.offsets(), columns, values).expect("a matrix")
}

fn check_rows<V: Value, O: Offset>(device: &Device, lengths: &[usize], cols: usize) {
    let matrix = unsorted::<V, O>(lengths, cols);
    let mut wanted = Vec::new();
    for row in 0..matrix.nrows() {
        let range = matrix.row_offsets()[row].to_usize()..matrix.row_offsets()[row + 1].to_usize();
        let mut entries: Vec<(u32, V)> =
            range.map(|index| (matrix.column_indices()[index], matrix.values()[index])).collect();
        entries.sort_by_key(|&(column, _)| column);
        wanted.extend(entries);
    }
    let (columns, values): (Vec<u32>, Vec<V>) = wanted.into_iter().unzip();
    let wanted =
        Csr::try_new(matrix.nrows(), cols, matrix.row_offsets().to_vec(), columns, values).expect("a matrix");
    let mut on_host = matrix.clone();
    on_host.sort_rows();
    assert_eq!(on_host, wanted);
    let uploaded = device.upload(&matrix).expect("upload");
    let sorted = uploaded.sort_rows().expect("sorted");
    assert_eq!(sorted.download().expect("download"), wanted, "{device}");
    assert_eq!(uploaded.download().expect("download"), matrix, "{device}");
}

#[test]
fn rows_by_column() {
    for DeviceUnderTest { device, fast } in devices() {
        check_rows::<f32, u32>(&device, &[], 0);
        check_rows::<f64, u64>(&device, &[0, 0], 5);
        check_rows::<f32, u64>(&device, &[3, 1, 0], 1);
        let rows = if fast { 100_000 } else { 300 };
        let lengths: Vec<usize> = random(8).take(rows).map(|random| (random % 40) as usize).collect();
        check_rows::<f32, u32>(&device, &lengths, 1000);
        check_rows::<f64, u32>(&device, &[5, 7000, 20, 4000, 0, 1], 1 << 20);
    }
}

/// Sorted rows without duplicates are canonical, as sums require, and have their own memory.
#[test]
fn sorted_rows_are_canonical_copies() {
    for DeviceUnderTest { device, .. } in devices() {
        let matrix: Csr<f64> =
            Csr::try_new(2, 4, vec![0, 3, 5], vec![3, 0, 2, 1, 0], vec![1.0, 2.0, 3.0, 4.0, 5.0])
                .expect("a matrix");
        let uploaded = device.upload(&matrix).expect("upload");
        assert!(matches!(
            uploaded.spadd(1.0, &uploaded, 1.0),
            Err(OpError::NotCanonical { operand: "A", row: 0, .. })
        ));
        let sorted = uploaded.sort_rows().expect("sorted");
        let again = {
            sorted.spadd(1.0, &sorted, 1.0).expect("canonical rows");
            // Now known to be canonical.
            sorted.sort_rows().expect("sorted")
        };
        sorted.set_values(&[0.0; 5]).expect("set");
        uploaded.set_values(&[9.0; 5]).expect("set");
        assert_eq!(again.download().expect("download").values(), [2.0, 3.0, 1.0, 5.0, 4.0], "{device}");
        assert_eq!(again.download().expect("download").column_indices(), [0, 2, 3, 0, 1], "{device}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_segments(
        lengths in prop::collection::vec(
            prop_oneof![3 => Just(0_usize), 6 => 0..4_usize, 6 => 0..100_usize, 2 => 0..2500_usize, 1 => 2000..6000_usize],
            0..60),
        few in 1_u64..50,
        descending: bool,
        bits in (0_u32..=64, 0_u32..=64),
    ) {
        let order = if descending { SortOrder::Descending } else { SortOrder::Ascending };
        let bits = bits.0.min(bits.1)..bits.0.max(bits.1);
        let wide = Segments { lengths, order, bits };
        let narrow = Segments { bits: wide.bits.start / 2..wide.bits.end / 2, ..wide.clone() };
        let keys: Vec<u64> = random_keys(wide.len());
        let repeated: Vec<f32> =
            keys.iter().map(|&key| f32::from_random((key % few).wrapping_mul(0x2468_ACE1))).collect();
        for DeviceUnderTest { device, .. } in devices() {
            check_pairs::<_, _, u32>(&device, &wide, &keys, |i| i as u32);
            check_pairs::<_, _, u64>(&device, &narrow, &repeated, |i| i as i64);
            check_keys::<_, u32>(&device, &narrow, &repeated);
        }
    }
}
