//! Sums of small matrices that are known to be canonical: a single launch with its own tile size.

use evenpath::error::{DeviceError, OpError};
use evenpath::spadd::Elementwise;
use evenpath::{Csr, DeviceCsr, vector};
use evenpath_kernels::spadd::OnePass;
use evenpath_tests::{kernel_devices, tile_len};

use crate::spadd::sums::{bits, check, check_all, matrix, upload};

/// Maximum number of entries of both operands for a single launch.
const MOST: usize = 1 << 18;

fn tile() -> usize {
    let tile = tile_len::<OnePass<f32, u32>>();
    assert_eq!(tile, tile_len::<OnePass<f32, u64>>());
    assert_eq!(tile, tile_len::<OnePass<f64, u32>>());
    assert_eq!(tile, tile_len::<OnePass<f64, u64>>());
    tile
}

#[test]
fn lengths_around_a_tiles_edge() {
    let tile = tile();
    for device in kernel_devices() {
        let device = device.device;
        for items in [1, 2, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1] {
            // One row: nonzeros of A and B, and the end.
            for of_a in [0, items / 2, items - 1] {
                let of_b = items - 1 - of_a;
                let cols = items + 5;
                check::<f64, u64>(
                    &device,
                    Elementwise::Sum,
                    &matrix(cols, &[of_a], 1),
                    &matrix(cols, &[of_b], 2),
                );
                check::<f32, u32>(
                    &device,
                    Elementwise::Product,
                    &matrix(cols, &[of_a], 1),
                    &matrix(cols, &[of_b], 2),
                );
            }
            // Rows without nonzeros, except for the last.
            let empty = vec![0; items];
            let mut last = empty.clone();
            last[items - 1] = 2;
            check_all::<f32, u32>(&device, &matrix(2, &empty, 1), &matrix(2, &last, 2));
        }
    }
}

/// Pairs on both sides of every cut, or of none.
#[test]
fn a_matrix_and_itself() {
    let tile = tile();
    for device in kernel_devices() {
        for before in [0, 1] {
            let lengths = [before, 3 * tile / 2, 0, 5, tile];
            check_all::<f64, u32>(
                &device.device,
                &matrix(2 * tile, &lengths, 7),
                &matrix(2 * tile, &lengths, 7),
            );
        }
    }
}

#[test]
fn rows_of_many_tiles() {
    let tile = tile();
    for device in kernel_devices() {
        let (a, b) = ([3, 9 * tile, 0, 1, 40 * tile], [0, 11 * tile, 7, 0, 5]);
        check_all::<f32, u64>(&device.device, &matrix(50 * tile, &a, 1), &matrix(50 * tile, &b, 2));
    }
}

/// More rows than a search finds in two rounds, in more tiles than the look-back has in a group.
#[test]
fn many_empty_rows() {
    let mut lengths = vec![0; 40 * tile()];
    let rows = lengths.len();
    for row in [3, rows / 2, rows - 1] {
        lengths[row] = 4;
    }
    for device in kernel_devices() {
        check::<f64, u32>(
            &device.device,
            Elementwise::Sum,
            &matrix(9, &lengths, 1),
            &matrix(9, &vec![0; rows], 2),
        );
    }
}

/// The size of a sum is known before the sum is complete, and late if other work comes before.
#[test]
fn sums_between_other_work() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let lengths = vec![9; 3 * tile() / 9];
        let a = upload(device, &matrix::<f64, u32>(300, &lengths, 1));
        let b = upload(device, &matrix::<f64, u32>(300, &lengths, 2));
        let expected = a.spadd(2.0, &b, -1.0).expect("a sum").download().expect("a copy");
        let len = if under_test.fast { 1 << 26 } else { 1 << 10 };
        let x = device.zeros::<f64>(len).expect("memory");
        let mut y = device.zeros::<f64>(len).expect("memory");
        for _ in 0..5 {
            for _ in 0..5 {
                vector::axpby(1.0, &x, 1.0, &mut y).expect("a sum of vectors");
            }
            let sum = a.spadd(2.0, &b, -1.0).expect("a sum");
            // The next sum may start before this one ends, and uses the state that this one leaves.
            let next = sum.spadd(1.0, &a, 0.0).expect("a sum");
            assert!(sum.download().expect("a copy") == expected, "{device}");
            assert_eq!(next.nnz(), sum.spadd(0.0, &a, 1.0).expect("a sum").nnz(), "{device}");
        }
    }
}

/// Up to the limit the result keeps memory for all entries of both operands, above it only for its own.
#[test]
fn the_limit() {
    for device in kernel_devices() {
        let device = device.device;
        for last in [16, 17] {
            let mut lengths = vec![16; MOST / 32];
            lengths[7] = last;
            let a = upload(&device, &matrix::<f32, u32>(300, &lengths, 1));
            let first = a.spadd(1.0, &a, 1.0).expect("a sum");
            let before = device.memory().expect("a device").in_use;
            let second = a.spadd(1.0, &a, 1.0).expect("a sum");
            let kept = device.memory().expect("a device").in_use - before;
            let room = if 2 * a.nnz() <= MOST { 2 * a.nnz() } else { a.nnz() };
            assert_eq!(kept, (4 * (a.nrows() + 1) + 8 * room) as u64, "{device}, {} entries", a.nnz());
            let bits = |matrix: &DeviceCsr<f32>| bits(&matrix.download().expect("download"));
            assert!(bits(&first) == bits(&second), "{device}");
        }
    }
}

#[test]
fn results_without_entries() {
    let lengths = vec![3; 2000];
    let a: Csr<f64> = matrix(40, &lengths, 1);
    for device in kernel_devices() {
        let (a, empty) = (upload(&device.device, &a), matrix::<f64, u32>(40, &vec![0; 2000], 1));
        let empty = upload(&device.device, &empty);
        for _ in 0..3 {
            for none in
                [a.mask_out(&a), a.mask(&empty), empty.multiply_elements(&a), empty.spadd(1.0, &empty, 1.0)]
            {
                let none = none.expect("a result").download().expect("download");
                assert_eq!((none.nnz(), none.row_offsets()), (0, &[0; 2001][..]), "{}", device.device);
            }
        }
    }
}

/// Every launch leaves a clean state for the next, whose path is longer or shorter.
#[test]
fn sums_of_different_sizes_take_turns() {
    let sizes = [1, 70, 3, 200, 0, 40];
    for device in kernel_devices() {
        for size in sizes.iter().chain(&sizes) {
            let lengths: Vec<usize> = (0..size * 100).map(|row| row * 7 % 23).collect();
            check::<f64, u32>(
                &device.device,
                Elementwise::Sum,
                &matrix(60, &lengths, 1),
                &matrix(60, &lengths, 2),
            );
        }
    }
}

#[test]
fn sums_on_several_streams_and_threads() {
    for device in kernel_devices() {
        let device = device.device;
        let lengths: Vec<usize> = (0..1500).map(|row| row * 5 % 13).collect();
        let (a, b) = (upload(&device, &matrix::<f64, u32>(90, &lengths, 1)), matrix(90, &lengths, 2));
        let b = upload(&device, &b);
        let sum = || bits(&a.spadd(0.5, &b, 2.0).expect("a sum").download().expect("download"));
        let expected = sum();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let stream = device.stream().expect("a stream");
                    for _ in 0..4 {
                        assert!(stream.scope(sum) == expected && sum() == expected, "{device}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_graph_has_no_sums() {
    for device in kernel_devices() {
        let device = device.device;
        let a = upload(&device, &matrix::<f64, u32>(9, &[4; 30], 1));
        for _ in 0..2 {
            let refused = device.capture((), |()| a.spadd(1.0, &a, 1.0).map(drop));
            assert!(matches!(refused, Err(OpError::Device(DeviceError::Capture { .. }))), "{device}");
            assert_eq!(a.spadd(1.0, &a, 1.0).expect("a sum").nnz(), a.nnz());
        }
    }
}
