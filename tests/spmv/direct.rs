//! Sparse matrix times dense vector without a plan, on every device.

use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::coo::CarryFixup;
use evenpath_kernels::spmv::MergeSearchTile;
use evenpath_simt::kernel::Kernel;
use evenpath_tests::{
    DeviceUnderTest, check_spmv_direct, devices, tile_len, unlike_devices, vector, with_row_lengths,
};
use proptest::prelude::*;

fn tile() -> usize {
    tile_len::<MergeSearchTile<f64, f64, u32>>()
}

fn check_types(device: &Device, cols: usize, lengths: &[usize]) {
    for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (2.0, -0.25), (0.0, 3.0)] {
        check_spmv_direct(device, &with_row_lengths::<f32, u32>(cols, lengths), alpha, beta);
        check_spmv_direct(device, &with_row_lengths::<f64, u32>(cols, lengths), alpha, beta);
    }
    check_spmv_direct(device, &with_row_lengths::<f32, u64>(cols, lengths), 1.0, 0.5);
    check_spmv_direct(device, &with_row_lengths::<f64, u64>(cols, lengths), 1.0, 0.5);
}

#[test]
fn tiles_of_real_types_have_one_length() {
    assert_eq!(tile_len::<MergeSearchTile<f32, f32, u32>>(), tile());
    assert_eq!(tile_len::<MergeSearchTile<f32, f32, u64>>(), tile());
    assert_eq!(tile_len::<MergeSearchTile<f64, f64, u64>>(), tile());
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        check_types(&device, 0, &[]);
        check_types(&device, 5, &[]);
        check_types(&device, 0, &[0; 7]);
        check_types(&device, 5, &vec![0; 2500]);
        check_types(&device, 1, &[1]);
        check_types(&device, 4, &[0, 3, 0, 0, 4, 1, 0]);
        check_types(&device, 3000, &[3000]);
        check_types(&device, 1, &vec![1; 3000]);
        check_types(&device, 20_000, &[1, 20_000, 0, 2, 20_000]);
    }
}

/// Numbers of row ends plus nonzeros around those at which one more tile, or one more thread, starts.
#[test]
fn sizes_around_tile_edges() {
    let tile = tile();
    for DeviceUnderTest { device, .. } in devices() {
        for items in [8, 9, 10, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1] {
            check_spmv_direct(&device, &with_row_lengths::<f64, u32>(items, &[items - 1]), 1.0, 0.0);
            check_spmv_direct(&device, &with_row_lengths::<f64, u32>(9, &vec![0; items]), 1.0, 2.0);
            let half = items / 2;
            let two = with_row_lengths::<f64, u64>(items, &[half, items - half - 2]);
            check_spmv_direct(&device, &two, 1.0, 2.0);
            check_spmv_direct(&device, &with_row_lengths::<f32, u32>(items, &vec![1; half]), 1.0, 2.0);
        }
    }
}

/// Empty rows before, at and after the edge of a tile, and row ends in the tile after their nonzeros.
#[test]
fn empty_rows_at_tile_edges() {
    let tile = tile();
    for DeviceUnderTest { device, .. } in devices() {
        for before in [tile - 3, tile - 2, tile - 1, tile] {
            for lengths in [vec![before, 0, 0, 0, 5], vec![0, before - 1, 0, tile, 0, 0, 7]] {
                check_spmv_direct(&device, &with_row_lengths::<f64, u32>(40, &lengths), 1.5, 0.0);
                check_spmv_direct(&device, &with_row_lengths::<f32, u32>(40, &lengths), 1.5, -2.0);
            }
        }
    }
}

/// Rows whose carries are added by one thread, and by a block.
#[test]
fn rows_over_many_tiles() {
    let tile = tile();
    for DeviceUnderTest { device, fast } in devices() {
        for tiles in [2, 15, 16, 17, 18, 40] {
            let long = tiles * tile;
            check_spmv_direct(&device, &with_row_lengths::<f64, u32>(long, &[3, long, 2]), 1.0, 0.5);
            check_spmv_direct(&device, &with_row_lengths::<f32, u32>(long, &[long, 0, long, 0]), 1.0, 0.0);
            // A row that ends exactly at the end of a tile, and one that starts there.
            let exact = with_row_lengths::<f64, u32>(long, &[long - 1, tile - 1, long]);
            check_spmv_direct(&device, &exact, 1.0, 0.5);
        }
        // Carries for more than one block of the fix-up.
        let block = CarryFixup::<f64>::first().expect("an instance").block_size as usize;
        let carries: &[usize] = if fast { &[block - 1, block, 5000] } else { &[block + 2] };
        for &tiles in carries {
            let long = tiles * tile - 5;
            let a = with_row_lengths::<f64, u32>(long, &[9, 1300, 0, long, 1300, 0]);
            check_spmv_direct(&device, &a, 1.5, -0.5);
        }
    }
}

#[test]
fn generated_matrices() {
    for DeviceUnderTest { device, fast } in devices() {
        let kinds = if fast {
            ["stencil5:300", "power-law:50000", "uniform:20000", "empty-rows:100000", "rmat:15"]
        } else {
            ["stencil5:40", "power-law:3000", "uniform:2000", "empty-rows:8000", "rmat:9"]
        };
        for kind in kinds {
            let kind: Kind = kind.parse().expect("a kind");
            check_spmv_direct::<f64, u32>(&device, &generate(kind, 1).expect("a matrix"), 1.0, 0.0);
            check_spmv_direct::<f32, u64>(&device, &generate(kind, 2).expect("a matrix"), -1.5, 0.75);
        }
    }
}

/// More rows than the first round of the search has probes for each.
#[test]
fn rows_that_the_search_reaches_in_three_rounds() {
    for DeviceUnderTest { device, fast } in devices() {
        let rows = if fast { 1_000_000 } else { 20_000 };
        let lengths: Vec<usize> = (0..rows).map(|row| usize::from(row % 97 == 0)).collect();
        check_spmv_direct(&device, &with_row_lengths::<f64, u32>(30, &lengths), 1.0, 0.0);
    }
}

/// Results are the same in every run, and on all devices that run kernels.
#[test]
fn results_are_bitwise_repeatable() {
    let a: Csr<f32> = generate("power-law:3000".parse().expect("a kind"), 3).expect("a matrix");
    let bits_on = |device: &Device| -> Vec<u32> {
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vector::<f32>(a.ncols())).expect("upload");
        let mut runs = (0..3).map(|_| {
            let mut y = device.zeros(a.nrows()).expect("zeros");
            matrix.spmv(1.25, &x, 0.0, &mut y).expect("run");
            y.download().expect("download").into_iter().map(f32::to_bits).collect()
        });
        let first: Vec<u32> = runs.next().expect("a run");
        assert!(runs.all(|run| run == first), "{device}");
        first
    };
    bits_on(&Device::cpu());
    let all: Vec<_> = unlike_devices().into_iter().map(|one| (bits_on(&one.device), one.device)).collect();
    for (bits, device) in &all {
        assert!(*bits == all[0].0, "{device} differs from {}", all[0].1);
    }
}

/// A part without nonzeros is not multiplied by an infinite factor, which would give NaN. The end of the first row is in the
/// tile after its nonzeros, and the second row begins with a tile.
#[test]
fn infinite_factors() {
    let tile = tile();
    for DeviceUnderTest { device, .. } in devices() {
        for lengths in [[tile, 2, tile - 5, 3], [tile - 1, tile - 1, tile, 1]] {
            let mut a: Csr<f64> = with_row_lengths(tile, &lengths);
            a.values_mut().iter_mut().for_each(|value| *value = value.abs() + 1.0);
            let matrix = device.upload(&a).expect("upload");
            let x = device.upload(&vec![1.0; tile]).expect("upload");
            let mut y = device.upload(&[f64::NAN; 4]).expect("upload");
            matrix.spmv(f64::INFINITY, &x, 0.0, &mut y).expect("run");
            assert_eq!(y.download().expect("download"), [f64::INFINITY; 4], "{device}");
        }
    }
}

/// The product is computed with any alpha; y is read only if beta is not zero.
#[test]
fn nan_propagates() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> =
            Csr::from_triplets(4, 2, [(0, 0, 1.0), (1, 1, 1.0), (2, 0, f64::NAN)]).expect("a matrix");
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&[2.0, f64::INFINITY]).expect("upload");
        let run = |alpha, beta, y: [f64; 4]| {
            let mut y = device.upload(&y).expect("upload");
            matrix.spmv(alpha, &x, beta, &mut y).expect("run");
            y.download().expect("download")
        };
        let y = run(1.0, 0.0, [f64::NAN; 4]);
        assert_eq!((y[0], y[1], y[2].is_nan(), y[3]), (2.0, f64::INFINITY, true, 0.0), "{device}");
        let y = run(0.0, 3.0, [2.0; 4]);
        assert_eq!((y[0], y[1].is_nan(), y[2].is_nan(), y[3]), (6.0, true, true, 6.0), "{device}");
    }
}

#[test]
fn factors_on_the_device() {
    let tile = tile();
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> = with_row_lengths(50, &[3, 2 * tile, 0, 7]);
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vector::<f64>(50)).expect("upload");
        let factors = device.upload(&[2.0, 0.5]).expect("upload");
        let (alpha, beta) = (factors.slice(..1).expect("inside"), factors.slice(1..).expect("inside"));
        let old = [1.0, 2.0, 3.0, 4.0];
        let expected = evenpath_tests::spmv(&a, 2.0, &vector::<f64>(50), 0.5, &old);
        let mut y = device.upload(&old).expect("upload");
        matrix.spmv(&alpha, &x, &beta, &mut y).expect("run");
        assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}");
    }
}

#[test]
fn new_values_are_multiplied() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> = with_row_lengths(50, &[3, 0, 50, 7]);
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&[1.0; 50]).expect("upload");
        let mut y = device.zeros(4).expect("zeros");
        for value in [2.0, 1.0] {
            matrix.set_values(&[value; 60]).expect("as many values as nonzeros");
            matrix.spmv(1.0, &x, 0.0, &mut y).expect("run");
            assert_eq!(y.download().expect("download"), [3.0 * value, 0.0, 50.0 * value, 7.0 * value]);
        }
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&[1.0; 5]).expect("upload");
        let short = device.upload(&[1.0; 4]).expect("upload");
        let mut y = device.upload(&[7.0; 3]).expect("upload");
        let error = matrix.spmv(1.0, &short, 0.0, &mut y).expect_err("x is short");
        assert!(matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }), "{error}");
        let mut long = device.upload(&[7.0; 4]).expect("upload");
        let error = matrix.spmv(1.0, &x, 0.0, &mut long).expect_err("y is long");
        assert!(matches!(error, OpError::Length { operand: "y", len: 4, needed: 3 }), "{error}");
        let error = matrix.spmv(&short, &x, 0.0, &mut y).expect_err("alpha is long");
        assert!(matches!(error, OpError::Length { operand: "alpha", len: 4, needed: 1 }), "{error}");
        let other = Device::simulated(SimulatedOptions::default());
        let elsewhere = other.upload(&[1.0; 5]).expect("upload");
        let error = matrix.spmv(1.0, &elsewhere, 0.0, &mut y).expect_err("x is elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(y.download().expect("download"), [7.0; 3]);
        assert_eq!(long.download().expect("download"), [7.0; 4]);
    }
}

fn check_any<V: Value, O: Offset>(lengths: &[usize], alpha: f64, beta: f64) {
    for DeviceUnderTest { device, .. } in devices() {
        check_spmv_direct(&device, &with_row_lengths::<V, O>(2000, lengths), alpha, beta);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_rows(lengths in evenpath_tests::row_lengths(2000, 150), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        check_any::<f64, u32>(&lengths, alpha, beta);
        check_any::<f32, u64>(&lengths, alpha, beta);
    }
}
