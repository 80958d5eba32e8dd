//! Scans, on every device.

use evenpath::error::OpError;
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::{Device, DeviceVec};
use evenpath_kernels::scan::{Scan as ScanKernel, SegmentedScan};
use evenpath_tests::{devices, tile_len};
use proptest::prelude::*;

const OPERATORS: [Operator; 3] = [Operator::Sum, Operator::Min, Operator::Max];

/// Checks both scans of integers against a plain loop.
macro_rules! check_integers {
    ($device:expr, $values:expr, $type:ident) => {{
        let (device, values): (&Device, &[$type]) = ($device, $values);
        let input = device.upload(values).expect("upload");
        for operator in OPERATORS {
            let (identity, combine): ($type, fn($type, $type) -> $type) = match operator {
                Operator::Sum => (0, |a, b| a.wrapping_add(b)),
                Operator::Min => ($type::MAX, |a, b| a.min(b)),
                Operator::Max => ($type::MIN, |a, b| a.max(b)),
            };
            let mut running = identity;
            let (exclusive, inclusive): (Vec<_>, Vec<_>) = values
                .iter()
                .map(|&value| {
                    let before = running;
                    running = combine(running, value);
                    (before, running)
                })
                .unzip();
            let result = scan::values(&input, ScanOptions::inclusive(operator))
                .expect("scan")
                .download()
                .expect("download");
            assert!(result == inclusive, "{device}, inclusive {operator:?} of {} elements", values.len());
            let result = scan::values(&input, ScanOptions::exclusive(operator))
                .expect("scan")
                .download()
                .expect("download");
            assert!(result == exclusive, "{device}, exclusive {operator:?} of {} elements", values.len());
        }
    }};
}

/// Checks the sum of floats against f64 sums: each element within n·ε·Σ|x|.
macro_rules! check_floats {
    ($device:expr, $values:expr, $type:ident) => {{
        let (device, values): (&Device, &[$type]) = ($device, $values);
        let input = device.upload(values).expect("upload");
        let inclusive = scan::values(&input, ScanOptions::inclusive(Operator::Sum))
            .expect("scan")
            .download()
            .expect("download");
        let exclusive = scan::values(&input, ScanOptions::exclusive(Operator::Sum))
            .expect("scan")
            .download()
            .expect("download");
        let (mut sum, mut magnitude) = (0.0_f64, 0.0_f64);
        for (i, &value) in values.iter().enumerate() {
            let bound = |magnitude: f64| 2.0 * (i + 2) as f64 * f64::from($type::EPSILON) * magnitude;
            let before = (f64::from(exclusive[i]) - sum).abs();
            assert!(before <= bound(magnitude), "{device}: exclusive {i} of {}", values.len());
            sum += f64::from(value);
            magnitude += f64::from(value).abs();
            let with = (f64::from(inclusive[i]) - sum).abs();
            assert!(with <= bound(magnitude), "{device}: inclusive {i} of {}", values.len());
        }
        let again = scan::values(&input, ScanOptions::inclusive(Operator::Sum))
            .expect("scan")
            .download()
            .expect("download");
        assert!(
            inclusive.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{device}: repeatable"
        );
    }};
}

fn numbers(len: usize) -> impl Iterator<Item = u64> {
    (0..len as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ i)
}

#[test]
fn lengths_around_the_edges_of_tiles_and_warps() {
    let tiles = [tile_len::<ScanKernel<u32>>(), tile_len::<ScanKernel<f64>>()];
    for under_test in devices() {
        let device = &under_test.device;
        let fixed = [0, 1, 3, 31, 64, 127, 128, 129, 511, 512, 2047, 2048, 2049, 8191, 8192, 8193, 24_581];
        let edges = tiles.into_iter().flat_map(|tile| [tile - 1, tile, tile + 1, 3 * tile + 5]);
        for len in fixed.into_iter().chain(edges) {
            check_integers!(device, &numbers(len).map(|x| x as u32).collect::<Vec<_>>(), u32);
            check_integers!(device, &numbers(len).map(|x| x as i32).collect::<Vec<_>>(), i32);
            check_integers!(device, &numbers(len).collect::<Vec<_>>(), u64);
            check_floats!(device, &numbers(len).map(|x| x as i32 as f32 / 1e9).collect::<Vec<_>>(), f32);
            check_floats!(device, &numbers(len).map(|x| x as i64 as f64 / 1e18).collect::<Vec<_>>(), f64);
        }
    }
}

/// Enough tiles for groups (32 tiles) and divisions (1024 tiles) of the look-back.
#[test]
fn many_tiles() {
    let check = |device: &Device, tiles: usize| {
        check_integers!(device, &numbers(tile_len::<ScanKernel<u64>>() * tiles + 1).collect::<Vec<_>>(), u64);
        check_floats!(
            device,
            &numbers(tile_len::<ScanKernel<f64>>() * tiles - 1)
                .map(|x| x as i64 as f64 / 1e18)
                .collect::<Vec<_>>(),
            f64
        );
    };
    for under_test in devices() {
        for tiles in [31, 32, 33, 70] {
            check(&under_test.device, tiles);
        }
    }
    for under_test in evenpath_tests::kernel_devices().into_iter().filter(|device| device.fast) {
        for tiles in [65, 1023, 1024, 1025, 2100] {
            check(&under_test.device, tiles);
        }
    }
    // Divisions on the simulated GPU: small numbers and a single scan.
    for under_test in evenpath_tests::kernel_devices() {
        let device = &under_test.device;
        let values: Vec<u64> = numbers(tile_len::<ScanKernel<u64>>() * 1060 + 7).collect();
        let input = device.upload(&values).expect("upload");
        let result = scan::values(&input, ScanOptions::inclusive(Operator::Sum))
            .expect("scan")
            .download()
            .expect("download");
        let mut sum = 0_u64;
        for (value, result) in values.iter().zip(result) {
            sum = sum.wrapping_add(*value);
            assert_eq!(result, sum, "{device}");
        }
    }
}

#[test]
fn minimum_and_maximum_ignore_nan() {
    for under_test in devices() {
        let device = &under_test.device;
        let input = device.upload(&[2.0, f64::NAN, -1.0, 5.0]).expect("upload");
        let least = scan::values(&input, ScanOptions::inclusive(Operator::Min))
            .expect("scan")
            .download()
            .expect("download");
        assert_eq!(least, [2.0, 2.0, -1.0, -1.0], "{device}");
        let greatest = scan::values(&input, ScanOptions::exclusive(Operator::Max))
            .expect("scan")
            .download()
            .expect("download");
        assert_eq!(greatest, [f64::NEG_INFINITY, 2.0, 2.0, 2.0], "{device}");
    }
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let input = device.upload(&[1_u32, 2, 3]).expect("upload");
        let mut short = device.upload(&[7_u32, 7]).expect("upload");
        let error = scan::values_into(&input, ScanOptions::inclusive(Operator::Sum), &mut short)
            .expect_err("too short");
        assert!(matches!(error, OpError::Length { operand: "result", len: 2, needed: 3 }), "{error}");
        assert_eq!(short.download().expect("download"), [7, 7]);
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let mut elsewhere = other.zeros::<u32>(3).expect("zeros");
        assert!(scan::values_into(&input, ScanOptions::exclusive(Operator::Sum), &mut elsewhere).is_err());
        let mut right = device.zeros::<u32>(3).expect("zeros");
        scan::values_into(&input, ScanOptions::exclusive(Operator::Sum), &mut right).expect("scan");
        assert_eq!(right.download().expect("download"), [0, 1, 3]);
    }
    let sums = ScanOptions::<f32>::inclusive(Operator::Sum);
    assert!(scan::values_temporary_bytes(1 << 28, sums) < 1 << 22);
}

/// Compares segmented scans of integers, and exact sums of small integers as floats, with a plain loop.
/// `begins` marks starts of segments, given by flags and by keys of both widths.
fn check_segments(device: &Device, values: &[u32], begins: &[bool]) {
    let keys: Vec<u32> = {
        let mut key = 0;
        begins
            .iter()
            .map(|&begins| {
                key += u32::from(begins);
                key
            })
            .collect()
    };
    let wide: Vec<u64> = keys.iter().map(|&key| u64::from(key) << 33).collect();
    let flags: Vec<u8> = begins.iter().map(|&begins| u8::from(begins) * 3).collect();
    let (flags, keys, wide) = (
        device.upload(&flags).expect("upload"),
        device.upload(&keys).expect("upload"),
        device.upload(&wide).expect("upload"),
    );
    let input = device.upload(values).expect("upload");
    for operator in OPERATORS {
        let (identity, combine): (u32, fn(u32, u32) -> u32) = match operator {
            Operator::Sum => (0, |a, b| a.wrapping_add(b)),
            Operator::Min => (u32::MAX, |a, b| a.min(b)),
            Operator::Max => (0, |a, b| a.max(b)),
        };
        let mut running = identity;
        let (exclusive, inclusive): (Vec<u32>, Vec<u32>) = values
            .iter()
            .zip(begins)
            .map(|(&value, &begins)| {
                let before = if begins { identity } else { running };
                running = combine(before, value);
                (before, running)
            })
            .unzip();
        let got = [
            scan::by_flags(&flags, &input, ScanOptions::inclusive(operator))
                .expect("scan")
                .download()
                .expect("download"),
            scan::by_keys(&keys, &input, ScanOptions::inclusive(operator))
                .expect("scan")
                .download()
                .expect("download"),
            scan::by_keys(&wide, &input, ScanOptions::inclusive(operator))
                .expect("scan")
                .download()
                .expect("download"),
        ];
        assert!(
            got.iter().all(|got| *got == inclusive),
            "{device}, inclusive {operator:?} of {}",
            values.len()
        );
        let got = scan::by_keys(&keys, &input, ScanOptions::exclusive(operator))
            .expect("scan")
            .download()
            .expect("download");
        assert!(got == exclusive, "{device}, exclusive {operator:?} of {}", values.len());
    }
    check_float_segments(device, values, begins, (&flags, &wide));
}

/// Sums of floating-point numbers, over segments given by flags and by keys.
fn check_float_segments(
    device: &Device,
    values: &[u32],
    begins: &[bool],
    (flags, keys): (&DeviceVec<u8>, &DeviceVec<u64>),
) {
    let floats: Vec<f32> = values.iter().map(|&value| (value % 8) as f32).collect();
    let doubles: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
    let sums = |values: &[f64]| -> Vec<f64> {
        let mut running = 0.0;
        values
            .iter()
            .zip(begins)
            .map(|(&value, &begins)| {
                running = if begins { value } else { running + value };
                running
            })
            .collect()
    };
    let got =
        scan::by_keys(keys, &device.upload(&doubles).expect("upload"), ScanOptions::inclusive(Operator::Sum))
            .expect("scan")
            .download()
            .expect("download");
    assert!(got == sums(&doubles), "{device}, f64 of {}", values.len());
    let got = scan::by_flags(
        flags,
        &device.upload(&floats).expect("upload"),
        ScanOptions::inclusive(Operator::Sum),
    )
    .expect("scan")
    .download()
    .expect("download");
    let expected = sums(&floats.iter().map(|&value| f64::from(value)).collect::<Vec<_>>());
    assert!(got.iter().map(|&got| f64::from(got)).eq(expected), "{device}, f32 of {}", values.len());
}

#[test]
fn segments_of_every_length() {
    for under_test in devices() {
        let edges = [tile_len::<SegmentedScan<f32, u8>>(), tile_len::<SegmentedScan<u32, u32>>()]
            .into_iter()
            .chain([tile_len::<SegmentedScan<u32, u64>>(), tile_len::<SegmentedScan<f64, u64>>()])
            .flat_map(|tile| [tile - 1, tile, tile + 1]);
        for len in [0, 1, 5, 128, 129, 2048, 4095, 4096, 4097, 9000].into_iter().chain(edges) {
            for segment in [1, 2, 7, 64, 1000, 5000] {
                let values: Vec<u32> = numbers(len).map(|x| x as u32 % 1000).collect();
                let begins: Vec<bool> = (0..len).map(|i| i % segment == 0).collect();
                check_segments(&under_test.device, &values, &begins);
            }
        }
    }
}

#[test]
fn segment_marks_that_do_not_fit_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let values = device.upload(&[1.0, 2.0]).expect("upload");
        let marks = device.upload(&[1_u8]).expect("upload");
        let error = scan::by_flags(&marks, &values, ScanOptions::inclusive(Operator::Sum))
            .expect_err("one mark short");
        assert!(matches!(error, OpError::Length { len: 1, needed: 2, .. }), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_values(values in prop::collection::vec(any::<i32>(), 0..20_000)) {
        for under_test in devices() {
            check_integers!(&under_test.device, &values, i32);
        }
    }

    #[test]
    fn any_segments(marked in prop::collection::vec((0..1000_u32, prop::bool::weighted(0.1)), 0..12_000)) {
        let (values, mut begins): (Vec<u32>, Vec<bool>) = marked.into_iter().unzip();
        if let Some(first) = begins.first_mut() {
            *first = true;
        }
        for under_test in devices() {
            check_segments(&under_test.device, &values, &begins);
        }
    }
}

/// For exact sums, an exclusive scan with an initial value equals the plain scan combined with that value.
#[test]
fn scans_start_with_an_initial_value() {
    for under_test in devices() {
        let device = &under_test.device;
        for len in [0, 1, 2, 300, 5000] {
            let values: Vec<u32> = numbers(len).map(|x| x as u32).collect();
            let input = device.upload(&values).expect("upload");
            let plain = scan::values(&input, ScanOptions::exclusive(Operator::Sum))
                .expect("scan")
                .download()
                .expect("download");
            let expected: Vec<u32> = plain.iter().map(|sum| sum.wrapping_add(77)).collect();
            let from = ScanOptions::exclusive(Operator::Sum).with_initial(77);
            let found = scan::values(&input, from).expect("scan").download().expect("download");
            assert_eq!(found, expected, "{device}, {len}");

            let greatest = ScanOptions::exclusive(Operator::Max).with_initial(1 << 20);
            let mut most = 1 << 20;
            let expected = values.iter().map(|&value| {
                let before = most;
                most = most.max(value);
                before
            });
            let found = scan::values(&input, greatest).expect("scan").download().expect("download");
            assert!(found.into_iter().eq(expected), "{device}, {len}");
        }
    }
}

#[test]
fn unsupported_initial_values_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let (values, flags) =
            (device.upload(&[1_u32, 2]).expect("upload"), device.upload(&[1_u8, 0]).expect("upload"));
        let mut result = device.upload(&[7_u32, 7]).expect("upload");
        let inclusive = ScanOptions::inclusive(Operator::Sum).with_initial(1);
        let error = scan::values_into(&values, inclusive, &mut result).expect_err("inclusive");
        assert!(matches!(error, OpError::InitialValue { is_segmented: false }), "{error}");
        assert!(error.to_string().ends_with("this one is inclusive"), "{error}");
        let exclusive = ScanOptions::exclusive(Operator::Sum).with_initial(1);
        let error = scan::by_flags_into(&flags, &values, exclusive, &mut result).expect_err("of segments");
        assert!(matches!(error, OpError::InitialValue { is_segmented: true }), "{error}");
        assert_eq!(result.download().expect("download"), [7, 7]);
        let long = device.zeros::<u32>(3).expect("zeros");
        let error = scan::values_into(&long, exclusive, &mut result).expect_err("too short");
        assert!(matches!(error, OpError::Length { operand: "result", len: 2, needed: 3 }), "{error}");
    }
}
