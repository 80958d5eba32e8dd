use evenpath::bsr::{Bsr, DeviceBsr};
use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::generate;
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{
    DeviceUnderTest, device_of_each_kind, devices, odd_row_lengths, spmv as oracle, unlike_devices, vector,
    with_row_lengths,
};
use proptest::prelude::*;

use super::support::{SIZES, csr, with_blocks};

/// Runs y = αAx + βy, with y filled with NaN if β is zero, and compares with the oracle.
fn check<V: Value, O: Offset>(device: &Device, a: &Bsr<V, O>, alpha: f64, beta: f64) {
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let x: Vec<V> = vector(a.ncols());
    let mut y: Vec<V> = vector(a.nrows());
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let expected = oracle(&csr(a), alpha, &x, beta, &y);
    let (on_device, x) = (device.upload(a).expect("upload"), device.upload(&x).expect("upload"));
    let mut y = device.upload(&y).expect("upload");
    on_device.spmv(alpha, &x, beta, &mut y).expect("product");
    if let Err(difference) = expected.check(&y.download().expect("download")) {
        panic!("{on_device:?}, alpha {alpha}, beta {beta}: {difference}");
    }
}

fn check_types(device: &Device, size: usize, block_cols: usize, lengths: &[usize], missing: usize) {
    check(device, &with_blocks::<f64, u32>(size, block_cols, lengths, missing), -0.5, 0.25);
    check(device, &with_blocks::<f32, u64>(size, block_cols, lengths, missing), 1.0, 0.0);
    check(device, &with_blocks::<f32, u32>(size, block_cols, lengths, missing), 2.0, 1.0);
    check(device, &with_blocks::<f64, u64>(size, block_cols, lengths, missing), 1.5, 0.0);
}

#[test]
fn every_block_size() {
    for DeviceUnderTest { device, .. } in devices() {
        for size in SIZES {
            for missing in [0, size - 1, size / 2] {
                check_types(&device, size, 5, &[2, 0, 5, 1, 9, 3], missing);
            }
            check_types(&device, size, 3, &[0; 5], 0);
        }
    }
}

#[test]
fn all_sizes_up_to_the_limit() {
    for device in device_of_each_kind() {
        for size in 1..=32 {
            check(&device, &with_blocks::<f64, u32>(size, 4, &[1, 4, 0, 2], size / 3), 1.0, 0.0);
        }
    }
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            for size in [2, 3, 7] {
                let a: Csr<f64> = with_row_lengths(cols, &lengths);
                check(&device, &a.to_bsr(size).expect("memory"), 1.0, 0.5);
            }
        }
    }
}

/// Block rows around the number of blocks that a warp, and each of its lanes, loads at once.
#[test]
fn block_rows_around_edges() {
    for DeviceUnderTest { device, .. } in devices() {
        for size in [2, 3, 4, 8] {
            for len in [3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 65] {
                check_types(&device, size, 70, &[len, len - 1, 1, len], 1);
            }
        }
    }
}

/// Block rows that are cut into pieces, at their edges: two pieces are not cut, one block more is.
#[test]
fn long_block_rows() {
    for DeviceUnderTest { device, .. } in devices() {
        for size in [2, 3, 4, 5, 6, 7, 8] {
            for len in [127, 128, 129, 192, 193] {
                let a = with_blocks::<f64, u32>(size, 150, &[1, len, 0, 3], 1);
                check(&device, &a, -1.0, 0.5);
            }
            check(&device, &with_blocks::<f32, u64>(size, 50, &[300, 2, 140, 0, 200], size - 1), 1.0, 0.0);
        }
        check(&device, &with_blocks::<f32, u32>(16, 20, &[130, 1], 3), 1.0, 0.0);
        check(&device, &with_blocks::<f64, u32>(16, 20, &[130, 1], 3), 1.0, 0.0);
    }
}

#[test]
fn generated_matrices() {
    for DeviceUnderTest { device, fast } in devices() {
        let kinds = if fast {
            ["fem:3000", "power-law:5000", "stencil5:100"]
        } else {
            ["fem:100", "power-law:300", "stencil5:15"]
        };
        for kind in kinds {
            let a: Csr<f64> = generate(kind.parse().expect("a kind"), 1).expect("a matrix");
            for size in [2, 3, 8] {
                check(&device, &a.to_bsr(size).expect("memory"), 1.0, 0.0);
                check(&device, &a.clone().into_values::<f32>().to_bsr(size).expect("memory"), -1.5, 2.0);
            }
        }
    }
}

/// Long block rows in several tiles of the CPU, which end where block rows do, and elsewhere. α is infinite: a tile that has only the end
/// of a block row must not multiply by it.
#[test]
fn infinite_factors() {
    for device in device_of_each_kind() {
        for size in [2, 4, 7] {
            let tile = (1 << 14) / (size * size);
            for lengths in [[tile, 1], [tile - 1, 3], [2 * tile, 2], [2 * tile - 1, tile]] {
                let (offsets, blocks) = (
                    vec![0_u32, lengths[0] as u32, (lengths[0] + lengths[1]) as u32],
                    lengths[0] + lengths[1],
                );
                let values = vec![1.0; blocks * size * size];
                let a = Bsr::try_new(2 * size, size, size, offsets, vec![0; blocks], values).expect("valid");
                let (a, x) =
                    (device.upload(&a).expect("upload"), device.upload(&vec![1.0; size]).expect("upload"));
                let mut y = device.upload(&vec![f64::NAN; 2 * size]).expect("upload");
                a.spmv(f64::INFINITY, &x, 0.0, &mut y).expect("product");
                assert!(
                    y.download().expect("download").iter().all(|&y| y == f64::INFINITY),
                    "{a:?}, {lengths:?}"
                );
                a.spmv(1.0, &x, f64::INFINITY, &mut y).expect("product");
                assert!(
                    y.download().expect("download").iter().all(|&y| y == f64::INFINITY),
                    "{a:?}, {lengths:?}"
                );
            }
        }
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    for size in [2, 3, 7, 16] {
        let a = with_blocks::<f32, u32>(size, 40, &[150, 4, 0, 17, 33], 1);
        let bits_on = |device: &Device| {
            let (a, x) = (
                device.upload(&a).expect("upload"),
                device.upload(&vector::<f32>(a.ncols())).expect("upload"),
            );
            let mut runs = (0..3).map(|_| {
                let mut y = device.zeros(a.nrows()).expect("zeros");
                a.spmv(1.25, &x, 0.0, &mut y).expect("product");
                y.download().expect("download").into_iter().map(f32::to_bits).collect::<Vec<_>>()
            });
            let first = runs.next().expect("a run");
            assert!(runs.all(|run| run == first), "{device}");
            first
        };
        let all: Vec<_> = unlike_devices().iter().map(|under_test| bits_on(&under_test.device)).collect();
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "blocks of {size}");
        bits_on(&Device::cpu());
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&with_blocks::<f64, u32>(2, 3, &[1, 2], 1)).expect("upload");
        assert_eq!(a.shape(), (3, 5));
        let (x, short) =
            (device.upload(&[1.0; 5]).expect("upload"), device.upload(&[1.0; 6]).expect("upload"));
        let elsewhere = Device::simulated(SimulatedOptions::default()).upload(&[1.0; 5]).expect("upload");
        let mut y = device.upload(&[7.0; 3]).expect("upload");
        let error = a.spmv(1.0, &short, 0.0, &mut y).expect_err("x is long");
        assert!(matches!(error, OpError::Length { operand: "x", len: 6, needed: 5 }), "{error}");
        let error = a.spmv(1.0, &elsewhere, 0.0, &mut y).expect_err("x is elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(y.download().expect("download"), [7.0; 3]);
        let mut long = device.upload(&[7.0; 4]).expect("upload");
        let error = a.spmv(1.0, &x, 0.0, &mut long).expect_err("y is long");
        assert!(matches!(error, OpError::Length { operand: "y", len: 4, needed: 3 }), "{error}");
        assert_eq!(long.download().expect("download"), [7.0; 4]);
    }
}

#[test]
fn blocks_of_the_diagonal() {
    fn check<V: Value, O: Offset>(device: &Device, a: &Bsr<V, O>) {
        let size = a.block_size();
        let mut expected = vec![V::ZERO; a.block_rows().min(a.block_cols()) * size * size];
        for block_row in 0..a.block_rows().min(a.block_cols()) {
            for block in a.row_offsets()[block_row].to_usize()..a.row_offsets()[block_row + 1].to_usize() {
                for at in (0..size * size).filter(|_| a.column_indices()[block] as usize == block_row) {
                    expected[block_row * size * size + at] += a.values()[block * size * size + at];
                }
            }
        }
        let on_device: DeviceBsr<V, O> = device.upload(a).expect("upload");
        assert_eq!(
            on_device.diagonal_blocks().expect("memory").download().expect("download"),
            expected,
            "{on_device:?}"
        );
        assert_eq!(a.diagonal_blocks().expect("memory"), expected);
        assert_eq!(on_device.download().expect("download"), *a);
    }
    for DeviceUnderTest { device, .. } in devices() {
        for size in [1, 2, 3, 7, 16] {
            check(&device, &with_blocks::<f64, u32>(size, 5, &[2, 0, 7, 1, 12, 3, 1], size - 1));
            check(&device, &with_blocks::<f32, u64>(size, 40, &[90, 1, 40], 0));
        }
        check(&device, &with_blocks::<f64, u32>(3, 2, &[], 0));
        check(&device, &Bsr::<f32, u64>::try_new(5, 0, 2, vec![0; 4], vec![], vec![]).expect("valid"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_blocks(
        lengths in evenpath_tests::row_lengths(260, 12),
        size in 1..9_usize,
        alpha in -2.0..2.0_f64,
        beta in prop_oneof![Just(0.0), -2.0..2.0_f64],
    ) {
        let missing = if lengths.is_empty() { 0 } else { size - 1 };
        for DeviceUnderTest { device, .. } in devices() {
            check(&device, &with_blocks::<f64, u32>(size, 60, &lengths, missing), alpha, beta);
            check(&device, &with_blocks::<f32, u64>(size, 60, &lengths, 0), alpha, beta);
        }
    }
}
