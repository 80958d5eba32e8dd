//! Segmented reductions, and scans by row offsets, on every device.

use evenpath::error::{MatrixError, OpError};
use evenpath::operator::{Element, Operator};
use evenpath::scan::{self, ScanOptions};
use evenpath::{Device, Offset, reduce};
use evenpath_kernels::reduce::{ReduceByFlag, ReduceByKey, ReduceRows};
use evenpath_kernels::scan::SegmentedScanByBits;
use evenpath_tests::{devices, tile_len};
use proptest::prelude::*;

const OPERATORS: [Operator; 3] = [Operator::Sum, Operator::Min, Operator::Max];

/// A type with small integers, whose sums are exact.
trait Small: Element {
    fn small(number: u64) -> Self;
    fn sum(self, other: Self) -> Self;
}

macro_rules! small {
    ($($type:ident)*) => {$(
        impl Small for $type {
            fn small(number: u64) -> Self {
                (number % 61) as $type
            }
            fn sum(self, other: Self) -> Self {
                self + other
            }
        }
    )*};
}
small!(u32 i32 u64 f32 f64);

fn combine<T: Small>(operator: Operator, a: T, b: T) -> T {
    match operator {
        Operator::Sum => a.sum(b),
        Operator::Min => {
            if b < a {
                b
            } else {
                a
            }
        }
        Operator::Max => {
            if b > a {
                b
            } else {
                a
            }
        }
    }
}

/// Row offsets of rows with these lengths.
fn offsets<O: Offset>(lengths: &[usize]) -> Vec<O> {
    let mut end = 0;
    let mut offsets = vec![O::default()];
    for length in lengths {
        end += length;
        offsets.push(O::try_from_usize(end).expect("small"));
    }
    offsets
}

fn numbers<T: Small>(len: usize) -> Vec<T> {
    (0..len as u64).map(|i| T::small(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33)).collect()
}

/// Reductions and scans of rows with these lengths, by a plain loop.
struct Expected<T> {
    /// One per row.
    sums: Vec<T>,
    /// One per nonempty row.
    filled: Vec<T>,
    inclusive: Vec<T>,
    exclusive: Vec<T>,
}

fn expected<T: Small>(lengths: &[usize], values: &[T], operator: Operator) -> Expected<T> {
    let mut expected =
        Expected { sums: Vec::new(), filled: Vec::new(), inclusive: Vec::new(), exclusive: Vec::new() };
    let mut values = values.iter();
    for &length in lengths {
        let mut running = operator.identity::<T>();
        for &value in values.by_ref().take(length) {
            expected.exclusive.push(running);
            running = combine(operator, running, value);
            expected.inclusive.push(running);
        }
        expected.sums.push(running);
        if length > 0 {
            expected.filled.push(running);
        }
    }
    expected
}

/// Checks segments of these lengths, possibly empty, given in every supported way.
fn check<T: Small>(device: &Device, lengths: &[usize]) {
    let values: Vec<T> = numbers(lengths.iter().sum());
    let input = device.upload(&values).expect("upload");
    let filled: Vec<usize> = lengths.iter().copied().filter(|&length| length > 0).collect();
    // Keys repeat, but adjacent segments have different keys.
    let segments = || filled.iter().enumerate().flat_map(|(i, &length)| std::iter::repeat_n(i, length));
    let keys: Vec<u32> = segments().map(|i| (i % 3) as u32 * 5).collect();
    let wide: Vec<u64> = segments().map(|i| (i as u64 + 1) << 33).collect();
    let flags: Vec<u8> =
        filled.iter().flat_map(|&length| (0..length).map(|i| if i == 0 { 4 } else { 0 })).collect();
    let keys_input = device.upload(&keys).expect("upload");
    let wide_input = device.upload(&wide).expect("upload");
    let flags_input = device.upload(&flags).expect("upload");
    let narrow_offsets = device.upload(&offsets::<u32>(lengths)).expect("upload");
    let wide_offsets = device.upload(&offsets::<u64>(lengths)).expect("upload");
    for operator in OPERATORS {
        let expected = expected(lengths, &values, operator);
        let what = format!("{device}, {operator:?} of {} in {}, {}", values.len(), lengths.len(), T::TYPE);
        let (segment_keys, sums) = reduce::by_keys(&keys_input, &input, operator).expect("reduced");
        let own_keys: Vec<u32> = (0..filled.len()).map(|i| (i % 3) as u32 * 5).collect();
        assert!(segment_keys.download().expect("download") == own_keys, "keys: {what}");
        assert!(sums.download().expect("download") == expected.filled, "by key: {what}");
        let (segment_keys, sums) = reduce::by_keys(&wide_input, &input, operator).expect("reduced");
        let own_keys: Vec<u64> = (0..filled.len() as u64).map(|i| (i + 1) << 33).collect();
        assert!(segment_keys.download().expect("download") == own_keys, "wide keys: {what}");
        assert!(sums.download().expect("download") == expected.filled, "by wide key: {what}");
        let sums = reduce::by_flags(&flags_input, &input, operator).expect("reduced");
        assert!(sums.download().expect("download") == expected.filled, "by flag: {what}");
        let sums = reduce::by_offsets(&narrow_offsets, &input, operator).expect("reduced");
        assert!(sums.download().expect("download") == expected.sums, "by offsets: {what}");
        let sums = reduce::by_offsets(&wide_offsets, &input, operator).expect("reduced");
        assert!(sums.download().expect("download") == expected.sums, "by wide offsets: {what}");
        let scanned =
            scan::by_offsets(&narrow_offsets, &input, ScanOptions::inclusive(operator)).expect("scanned");
        assert!(scanned.download().expect("download") == expected.inclusive, "inclusive: {what}");
        let scanned =
            scan::by_offsets(&wide_offsets, &input, ScanOptions::exclusive(operator)).expect("scanned");
        assert!(scanned.download().expect("download") == expected.exclusive, "exclusive: {what}");
    }
}

fn check_types(device: &Device, lengths: &[usize]) {
    check::<u32>(device, lengths);
    check::<i32>(device, lengths);
    check::<u64>(device, lengths);
    check::<f32>(device, lengths);
    check::<f64>(device, lengths);
}

#[test]
fn segments_of_every_length() {
    for under_test in devices() {
        let device = &under_test.device;
        check_types(device, &[]);
        check_types(device, &[0, 0, 0]);
        check_types(device, &[1]);
        check_types(device, &[0, 2, 0, 0, 1, 0]);
        for length in [1, 3, 33, 700, 9000] {
            check_types(device, &vec![length; 9500 / length]);
        }
        // A head at the last position of a tile, and empty rows there.
        for tile in [
            tile_len::<ReduceByKey<f32, u32>>(),
            tile_len::<ReduceByKey<f32, u64>>(),
            tile_len::<ReduceByKey<f64, u32>>(),
            tile_len::<ReduceByKey<f64, u64>>(),
            tile_len::<ReduceByFlag<f32>>(),
            tile_len::<ReduceByFlag<f64>>(),
            tile_len::<ReduceRows<f32>>(),
            tile_len::<ReduceRows<f64>>(),
            tile_len::<SegmentedScanByBits<f32>>(),
            tile_len::<SegmentedScanByBits<f64>>(),
        ] {
            check::<f32>(device, &[tile - 1, 0, 0, 2, tile]);
            check::<f64>(device, &[tile, 1, 0, tile - 1]);
        }
    }
}

/// Enough tiles for groups (32 tiles) and divisions (1024 tiles) of the look-back.
#[test]
fn many_tiles() {
    for under_test in devices() {
        let device = &under_test.device;
        let len = if under_test.fast { 256 * 30 * 1100 } else { 256 * 20 * 70 };
        check::<f64>(device, &vec![100; len / 100]);
        check::<u32>(device, &[len / 3, 5, len / 2]);
        check::<f32>(device, &vec![usize::from(under_test.fast); len]);
    }
}

/// The order of additions is the same in every run, and so is every bit.
#[test]
fn floating_point_sums_are_reproducible() {
    for under_test in devices() {
        let device = &under_test.device;
        let len = if under_test.fast { 3_000_000 } else { 100_000 };
        let values: Vec<f32> = (0..len).map(|i| ((i * 37 % 1000) as f32 - 450.0).exp2()).collect();
        let keys: Vec<u32> = (0..len).map(|i| i / 3000).collect();
        let (keys, values) = (device.upload(&keys).expect("upload"), device.upload(&values).expect("upload"));
        let run = || -> Vec<u32> {
            let (_, sums) = reduce::by_keys(&keys, &values, Operator::Sum).expect("reduced");
            sums.download().expect("download").into_iter().map(f32::to_bits).collect()
        };
        let first = run();
        for _ in 0..if under_test.fast { 20 } else { 2 } {
            assert!(run() == first, "{device}");
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let values = device.upload(&[1.0, 2.0, 3.0]).expect("upload");
        let short = device.upload(&[1_u32, 2]).expect("upload");
        let error = reduce::by_keys(&short, &values, Operator::Sum).expect_err("a key short");
        assert!(matches!(error, OpError::Length { len: 2, needed: 3, .. }), "{error}");

        let keys = device.upload(&[1_u32, 1, 2]).expect("upload");
        let mut segment_keys = device.upload(&[9_u32, 9, 9]).expect("upload");
        let mut sums = device.upload(&[8.0, 8.0]).expect("upload");
        let mut segments = device.upload(&[7_u64]).expect("upload");
        let error =
            reduce::by_keys_into(&keys, &values, Operator::Sum, &mut segment_keys, &mut sums, &mut segments)
                .expect_err("too short");
        assert!(matches!(error, OpError::Length { operand: "sums", len: 2, needed: 3 }), "{error}");
        assert_eq!(segment_keys.download().expect("download"), [9, 9, 9]);
        assert_eq!(
            (sums.download().expect("download"), segments.get(0).expect("download")),
            (vec![8.0; 2], 7)
        );

        let refused = |offsets: &[u32]| {
            let offsets = device.upload(offsets).expect("upload");
            let error = reduce::by_offsets(&offsets, &values, Operator::Sum).expect_err("bad offsets");
            let other = scan::by_offsets(&offsets, &values, ScanOptions::inclusive(Operator::Sum))
                .expect_err("bad offsets");
            assert_eq!(error.to_string(), other.to_string());
            error
        };
        assert!(matches!(refused(&[]), OpError::Matrix(MatrixError::RowOffsetsLength { rows: 0, found: 0 })));
        assert!(matches!(refused(&[0]), OpError::Matrix(MatrixError::LastRowOffset { found: 0, nnz: 3 })));
        assert!(matches!(refused(&[1, 3]), OpError::Matrix(MatrixError::FirstRowOffset { found: 1 })));
        assert!(matches!(refused(&[0, 2]), OpError::Matrix(MatrixError::LastRowOffset { found: 2, nnz: 3 })));
        assert!(matches!(
            refused(&[0, 2, 1, 3]),
            OpError::Matrix(MatrixError::RowOffsetsDecrease { row: 1, start: 2, end: 1 })
        ));
    }
}

#[test]
fn the_first_value_starts_a_segment_whatever_its_flag() {
    for under_test in devices() {
        let device = &under_test.device;
        let flags = device.upload(&[0_u8, 0, 255, 0, 128]).expect("upload");
        let values = device.upload(&[1_u32, 2, 4, 8, 16]).expect("upload");
        let sums = reduce::by_flags(&flags, &values, Operator::Sum).expect("reduced");
        assert_eq!(sums.download().expect("download"), [3, 12, 16], "{device}");
        let scanned =
            scan::by_flags(&flags, &values, ScanOptions::inclusive(Operator::Sum)).expect("scanned");
        assert_eq!(scanned.download().expect("download"), [1, 3, 4, 12, 16], "{device}");
    }
}

/// Output vectors that are larger than needed: elements after the results are unchanged.
#[test]
fn results_leave_the_rest_unchanged() {
    for under_test in devices() {
        let device = &under_test.device;
        let keys = device.upload(&[4_u64, 4, 6]).expect("upload");
        let values = device.upload(&[1_i32, 2, 4]).expect("upload");
        let mut segment_keys = device.upload(&[9_u64; 5]).expect("upload");
        let mut sums = device.upload(&[8_i32; 5]).expect("upload");
        let mut segments = device.upload(&[7_u64, 7]).expect("upload");
        reduce::by_keys_into(&keys, &values, Operator::Max, &mut segment_keys, &mut sums, &mut segments)
            .expect("reduced");
        assert_eq!(segments.get(0).expect("download"), 2, "{device}");
        assert_eq!(segment_keys.download().expect("download"), [4, 6, 9, 9, 9], "{device}");
        assert_eq!(sums.download().expect("download"), [2, 4, 8, 8, 8], "{device}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn any_rows(lengths in prop::collection::vec(
        prop_oneof![Just(0_usize), 0..4_usize, 0..60_usize, 0..3000_usize], 0..40)) {
        for under_test in devices() {
            check::<f32>(&under_test.device, &lengths);
            check::<u64>(&under_test.device, &lengths);
        }
    }
}
