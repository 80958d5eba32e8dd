//! The Frobenius norm, the diagonal and blocks of HiSparse matrices.

#![allow(clippy::float_cmp)] // results are exact

use approx::assert_relative_eq;
use evenpath::device::{BlockOrder, SimulatedOptions};
use evenpath::error::{MatrixError, OpError};
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, HiSparse, Value};
use evenpath_tests::{Entries, devices, kernel_devices, scattered_squares};
use proptest::prelude::*;

fn tree<V: Value, const D: usize>(
    (rows, cols): (usize, usize),
    entries: &Entries,
    is_shared: bool,
) -> HiSparse<V, D> {
    let options = hisparse::Options::default().with_share(is_shared);
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::<V>::from_triplets(rows, cols, entries)
        .expect("entries inside")
        .to_hisparse(options)
        .expect("a tree")
}

fn check<V: Value, const D: usize>(
    device: &Device,
    shape: (usize, usize),
    entries: &Entries,
    options: hisparse::QueuedOptions,
) {
    // Duplicates are summed.
    let stored: Vec<(usize, usize, V)> = tree::<V, D>(shape, entries, false).iter().collect();
    let squares: f64 = stored.iter().map(|&(_, _, value)| value.to_f64() * value.to_f64()).sum();
    for is_shared in [false, true] {
        let a = device.upload(&tree::<V, D>(shape, entries, is_shared)).expect("upload");
        for (a, scale) in [(a.clone(), 1.0), (a.scaled(V::from_f64(-2.5)).transpose(), -2.5)] {
            let norm = a.frobenius_norm(options).expect("a norm");
            let bound = (stored.len() + 4) as f64 * f64::EPSILON;
            assert_relative_eq!(norm, scale.abs() * squares.sqrt(), max_relative = bound);
            let mut expected = vec![V::ZERO; shape.0.min(shape.1)];
            for &(row, col, value) in stored.iter().filter(|(row, col, _)| row == col) {
                expected[row.min(col)] = V::from_f64(scale) * value;
            }
            let found = a.diagonal(options).expect("a diagonal").download().expect("a download");
            assert_eq!(found, expected, "{a:?}, {options:?}");
            check_blocks(&a, &stored, V::from_f64(scale), options);
        }
    }
}

/// Blocks of a matrix whose content has these entries; the matrix is `scale` times the content, or the
/// transpose.
fn check_blocks<V: Value, const D: usize>(
    a: &DeviceHiSparse<V, D>,
    stored: &[(usize, usize, V)],
    scale: V,
    options: hisparse::QueuedOptions,
) {
    let (rows, cols) = a.shape();
    let blocks = [
        (0..rows, 0..cols),
        (rows / 3..rows / 3, 0..cols),
        (rows / 2..rows, cols..cols),
        (rows / 3..rows - rows / 4, cols / 5..cols - cols / 7),
        (rows / 2..(rows / 2 + 1).min(rows), 0..cols),
        (rows.saturating_sub(1)..rows, cols.saturating_sub(1)..cols),
        (D.min(rows)..(2 * D).min(rows), 0..D.min(cols)),
    ];
    for (rows, cols) in blocks {
        let entries = stored.iter().filter_map(|&(row, col, value)| {
            let (row, col) = if a.is_transposed() { (col, row) } else { (row, col) };
            let is_inside = rows.contains(&row) && cols.contains(&col);
            is_inside.then(|| (row - rows.start, col - cols.start, scale * value))
        });
        let wanted = Csr::<V>::from_triplets(rows.len(), cols.len(), entries).expect("entries inside");
        let block = a.block(rows.clone(), cols.clone(), options).expect("a block");
        assert_eq!(
            block.download().expect("a download"),
            wanted,
            "{rows:?} and {cols:?} of {a:?}, {options:?}"
        );
        block.spadd(V::ONE, &block, V::ONE).expect("a canonical matrix");
    }
}

fn check_all_sizes(
    device: &Device,
    shape: (usize, usize),
    entries: &Entries,
    options: hisparse::QueuedOptions,
) {
    check::<f32, 32>(device, shape, entries, options);
    check::<f64, 64>(device, shape, entries, options);
    check::<f32, 128>(device, shape, entries, options);
    check::<f64, 256>(device, shape, entries, options);
}

/// Dense, large and small leaves on and beside the diagonal.
fn mixed() -> Entries {
    let leaves = [1, 2, 3, 5, 9, 33, 129, 300, 700, 1024].into_iter().enumerate();
    let mut entries: Entries = leaves
        .flat_map(|(at, count)| {
            let (row, col) = (96 * at, 96 * at + 32 * (at % 2));
            (0..count).map(move |entry| (row + entry * 7 % 32, col + entry / 32, entry as f64 / 3.0 - 40.0))
        })
        .collect();
    entries.extend((0..1000).map(|at| (at, at, at as f64 / 7.0)));
    entries
}

#[test]
fn every_mix_of_nodes() {
    for device in devices() {
        for shape in [(1100, 1400), (1400, 1100), (40_000, 40_000)] {
            check_all_sizes(&device.device, shape, &mixed(), hisparse::QueuedOptions::default());
        }
    }
}

#[test]
fn queues_may_overflow() {
    for device in kernel_devices() {
        for capacity in [0, 1, 5] {
            let options = hisparse::QueuedOptions::default().with_capacity(capacity);
            check::<f64, 32>(&device.device, (1100, 1400), &mixed(), options);
            check::<f32, 64>(&device.device, (40_000, 40_000), &mixed(), options.with_blocks(3));
        }
    }
}

#[test]
fn any_schedule_works() {
    for seed in 0..4 {
        let options = SimulatedOptions::default()
            .with_block_order(BlockOrder::Seeded(seed))
            .with_threads(1)
            .with_resident_blocks(1 + seed as usize % 2);
        let queued = hisparse::QueuedOptions::default().with_blocks(1 + 6 * seed as u32);
        check::<f32, 32>(&Device::simulated(options), (1100, 1400), &mixed(), queued);
    }
}

#[test]
fn small_and_empty_matrices() {
    for device in devices() {
        let options = hisparse::QueuedOptions::default();
        for shape in [(0, 0), (0, 5), (300, 0), (1, 1), (40, 700)] {
            check_all_sizes(&device.device, shape, &vec![], options);
        }
        check_all_sizes(&device.device, (1, 1), &vec![(0, 0, -3.0)], options);
    }
}

#[test]
fn blocks_outside_are_refused() {
    for device in devices() {
        let a = device.device.upload(&tree::<f32, 32>((40, 700), &vec![(3, 5, 1.0)], false)).expect("upload");
        let options = hisparse::QueuedOptions::default();
        let refused = |a: &DeviceHiSparse<f32, 32>, rows, columns| {
            let error = a.block(rows, columns, options).expect_err("outside");
            let OpError::Matrix(error) = error else { panic!("{error}") };
            error
        };
        let range = |what, begin, end, len| MatrixError::BlockRange { what, begin, end, len };
        assert_eq!(refused(&a, 0..41, 0..700), range("rows", 0, 41, 40));
        assert_eq!(refused(&a, 0..40, 701..701), range("columns", 701, 701, 700));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = refused(&a, 5..3, 0..1);
        assert_eq!(reversed, range("rows", 5, 3, 40));
        assert_eq!(refused(&a.transpose(), 0..700, 0..700), range("columns", 0, 700, 40));
        assert_eq!(refused(&a, 0..usize::MAX, 0..1), range("rows", 0, usize::MAX, 40));
    }
}

#[test]
fn squares_neither_overflow_nor_underflow_in_norms() {
    for device in devices() {
        for value in [1e30, 1e-30] {
            let a = tree::<f32, 32>((40, 40), &vec![(0, 0, 3.0 * value), (39, 39, 4.0 * value)], false);
            let norm = device.device.upload(&a).expect("upload");
            let norm = norm.frobenius_norm(hisparse::QueuedOptions::default()).expect("a norm");
            assert_relative_eq!(norm, 5.0 * value, max_relative = 1e-6);
        }
        for value in [1e300, 1e-300, 1e-320, 1e160, 1e-160] {
            let a = tree::<f64, 32>(
                (40, 40),
                &vec![(0, 0, 3.0 * value), (3, 3, 0.0), (39, 39, 4.0 * value)],
                false,
            );
            let a = device.device.upload(&a).expect("upload");
            for scale in [1.0, 1e-5, -2.0, 1e-290, 1e290] {
                let norm =
                    a.scaled(scale).frobenius_norm(hisparse::QueuedOptions::default()).expect("a norm");
                let (expected, smallest) = (5.0 * value * scale.abs(), 2.0 * f64::from_bits(1));
                let error = (norm - expected).abs();
                // The values themselves are rounded where they are subnormal.
                let bound = expected * if value < 1e-308 { 1e-3 } else { 1e-14 };
                assert!(norm == expected || error <= bound + smallest, "{value} times {scale}: {norm}");
            }
            let norm = a.scaled(0.0).frobenius_norm(hisparse::QueuedOptions::default()).expect("a norm");
            assert_eq!(norm.to_bits(), 0);
        }
        let infinite = tree::<f64, 32>((40, 40), &vec![(0, 7, f64::INFINITY), (9, 9, 1.0)], false);
        let infinite = device.device.upload(&infinite).expect("upload");
        let norm = infinite.frobenius_norm(hisparse::QueuedOptions::default()).expect("a norm");
        assert_eq!(norm.to_bits(), f64::INFINITY.to_bits());
        let a = tree::<f64, 32>((40, 40), &vec![(0, 7, f64::NAN)], false);
        let a = device.device.upload(&a).expect("upload");
        assert!(a.frobenius_norm(hisparse::QueuedOptions::default()).expect("a norm").is_nan());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn results_equal_those_of_the_entries(
        (rows, cols, entries) in scattered_squares(1000..70_000, 36..48),
        capacity in prop_oneof![Just(None), (0..60_u32).prop_map(Some)],
        blocks in prop_oneof![Just(None), (1..12_u32).prop_map(Some)],
    ) {
        let options = hisparse::QueuedOptions::default().with_capacity(capacity).with_blocks(blocks);
        for device in devices() {
            check_all_sizes(&device.device, (rows, cols), &entries, options);
        }
    }
}
