//! Sums of HiSparse matrices by queues, compared with a sum of the entries, with the host's sum and with the sum by levels.

use std::collections::BTreeMap;

use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, HiSparse, Value};
use evenpath_lab::Diagnostics;
use evenpath_tests::{Entries, devices, kernel_devices, scattered_squares};
use proptest::prelude::*;

fn plain() -> hisparse::Options {
    hisparse::Options::default().with_share(false)
}

fn share() -> hisparse::Options {
    hisparse::Options::default().with_share(true)
}

fn tree<V: Value, const D: usize>(
    (rows, cols): (usize, usize),
    entries: &Entries,
    options: hisparse::Options,
) -> HiSparse<V, D> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::<V>::from_triplets(rows, cols, entries)
        .expect("entries inside")
        .to_hisparse(options)
        .expect("a tree")
}

fn queues(options: hisparse::QueuedOptions) -> hisparse::SpaddOptions {
    hisparse::SpaddOptions::default().with_method(hisparse::SpaddMethod::Queues).with_queues(options)
}

/// Every entry of A and B, and the sums of common entries.
fn expected<V: Value, const D: usize>(a: &HiSparse<V, D>, b: &HiSparse<V, D>) -> BTreeMap<(usize, usize), V> {
    let mut sum: BTreeMap<_, _> = a.iter().map(|(row, col, value)| ((row, col), value)).collect();
    for (row, col, value) in b {
        sum.entry((row, col)).and_modify(|sum| *sum += value).or_insert(value);
    }
    sum
}

/// Checks that A + B is right, and its pool valid.
fn check<V: Value, const D: usize>(
    device: &Device,
    a: &HiSparse<V, D>,
    b: &HiSparse<V, D>,
    options: hisparse::QueuedOptions,
) {
    let upload = |matrix: &HiSparse<V, D>| device.upload(matrix).expect("upload");
    let (left, right) = (upload(a), upload(b));
    let found = left.spadd(&right, queues(options)).expect("a sum").download().expect("a download");
    let of = format!("{device}, D = {D}, {options:?}, {a:?}, {b:?}");
    assert_eq!(found.shape(), a.shape(), "{of}");
    let entries = expected(a, b);
    assert_eq!(found.nnz(), entries.len(), "{of}");
    let mut count = 0;
    for (row, col, value) in &found {
        let expected = entries[&(row, col)];
        assert!(value == expected || value.to_bits() == expected.to_bits(), "({row}, {col}), {of}");
        count += 1;
    }
    assert_eq!(count, entries.len(), "{of}");
    // All bits, including signs of zeros, equal those of the other methods.
    let bits = |matrix: &HiSparse<V, D>| -> Vec<_> {
        matrix.iter().map(|(row, col, value)| (row, col, value.to_bits())).collect()
    };
    assert_eq!(bits(&found), bits(&a.spadd(b).expect("a sum")), "{of}");
    assert_eq!(
        bits(&found),
        bits(
            &left
                .spadd(&right, hisparse::SpaddOptions::default())
                .expect("a sum")
                .download()
                .expect("a download")
        ),
        "{of}"
    );
    let (rows, cols) = if found.is_transposed() { (a.ncols(), a.nrows()) } else { a.shape() };
    let valid = HiSparse::<V, D>::try_from_pool(rows, cols, found.pool(), found.root_reference());
    assert_eq!(valid.expect("a valid pool").nnz(), entries.len(), "{of}");
}

/// All states of transposition and scale.
fn check_all_states<V: Value, const D: usize>(
    device: &Device,
    a: &HiSparse<V, D>,
    b: &HiSparse<V, D>,
    options: hisparse::QueuedOptions,
) {
    let turned = |matrix: &HiSparse<V, D>| {
        let entries = matrix.iter().map(|(row, col, value)| (col, row, value.to_f64())).collect();
        tree::<V, D>((matrix.ncols(), matrix.nrows()), &entries, share()).transpose()
    };
    let (a_turned, b_turned) = (turned(a), turned(b));
    for (a, b) in [(a, b), (a, &b_turned), (&a_turned, b), (&a_turned, &b_turned)] {
        check(device, a, b, options);
        check(device, &a.scaled(V::from_f64(-0.3)), &b.scaled(V::from_f64(2.5)), options);
    }
}

/// Nodes of every kind and size: dense, large and small leaves of 32 × 32, and inner nodes with as many children.
fn kinds() -> Vec<Entries> {
    let side = 1100;
    let every = |step: usize, shift: usize| -> Entries {
        let place = |at: usize| {
            ((at / 32 * 32 + shift) % side, (at % 32 * 32 + at % 7) % side, at as f64 / 3.0 - 9.0)
        };
        (0..1024).step_by(step).map(place).collect()
    };
    let square = |first: usize, len: usize| -> Entries {
        (0..len * len).map(|at| (first + at / len, first / 2 + at % len, (at % 3) as f64 - 1.0)).collect()
    };
    vec![
        every(1, 0),
        every(2, 3),
        every(9, 0),
        square(64, 33),
        square(70, 11),
        square(60, 40),
        vec![(3, 5, 1.5)],
        vec![],
    ]
}

#[test]
fn every_pair_of_nodes() {
    let (shape, matrices) = ((1100, 1100), kinds());
    for device in devices() {
        for (at, a) in matrices.iter().enumerate() {
            for b in &matrices[at..] {
                let (a, b) = (tree::<f64, 32>(shape, a, plain()), tree(shape, b, share()));
                check(&device.device, &a, &b, hisparse::QueuedOptions::default());
                check(&device.device, &b, &a.transpose().scaled(0.1), hisparse::QueuedOptions::default());
            }
        }
        let (a, b) = (&matrices[1], &matrices[3]);
        let options = hisparse::QueuedOptions::default();
        check_all_states::<f32, 32>(
            &device.device,
            &tree(shape, a, plain()),
            &tree(shape, b, plain()),
            options,
        );
        check_all_states::<f64, 64>(
            &device.device,
            &tree(shape, a, plain()),
            &tree(shape, b, share()),
            options,
        );
        check_all_states::<f32, 128>(
            &device.device,
            &tree(shape, a, share()),
            &tree(shape, b, plain()),
            options,
        );
        check_all_states::<f64, 256>(
            &device.device,
            &tree(shape, a, plain()),
            &tree(shape, b, plain()),
            options,
        );
    }
}

/// Leaves with 3 to 600 entries of 64 × 64, alone and beside others, so that each class of pairs occurs on
/// every side.
#[test]
fn leaves_of_every_size() {
    let shape = (64 * 40, 64 * 3);
    let leaves = |shift: usize| -> Entries {
        [1, 2, 3, 4, 5, 8, 9, 31, 33, 128, 129, 511, 512, 513, 600, 2900]
            .into_iter()
            .enumerate()
            .flat_map(|(at, count)| {
                let (row, col) = (64 * ((at * 2 + shift) % 40), 64 * (at % 3));
                (0..count).map(move |entry| {
                    (row + entry * 37 % 64, col + (entry / 64 + entry * 11) % 64, (entry % 9) as f64 / 7.0)
                })
            })
            .collect()
    };
    for device in devices() {
        let (a, b) = (leaves(0), leaves(2));
        let options = hisparse::QueuedOptions::default();
        check_all_states::<f32, 64>(
            &device.device,
            &tree(shape, &a, plain()),
            &tree(shape, &b, plain()),
            options,
        );
        check_all_states::<f64, 64>(
            &device.device,
            &tree(shape, &a, plain()),
            &tree(shape, &vec![], plain()),
            options,
        );
    }
}

/// A block keeps elements that do not fit in a queue, so the capacity does not matter. Nor does the number of
/// blocks.
#[test]
fn queues_may_overflow() {
    let (shape, matrices) = ((1100, 1100), kinds());
    for device in kernel_devices() {
        for capacity in [0, 1, 2, 7, 40] {
            let options = hisparse::QueuedOptions::default().with_capacity(capacity);
            for (a, b) in [(0, 3), (1, 5), (2, 0)] {
                let (a, b) =
                    (tree::<f64, 32>(shape, &matrices[a], plain()), tree(shape, &matrices[b], plain()));
                check(&device.device, &a, &b.transpose(), options.with_blocks(1 + capacity));
                check(&device.device, &a.transpose(), &b, options);
            }
            let a = tree::<f32, 256>(shape, &matrices[0], plain());
            check(&device.device, &a, &tree(shape, &matrices[4], plain()), options);
        }
    }
}

/// Any order of blocks and stores, with few blocks running at once.
#[test]
fn any_schedule_works() {
    let (shape, matrices) = ((1100, 1100), kinds());
    let (a, b) = (tree::<f64, 32>(shape, &matrices[1], plain()), tree(shape, &matrices[4], plain()));
    for seed in 0..6 {
        let options = SimulatedOptions::default()
            .with_block_order(BlockOrder::Seeded(seed))
            .with_memory_order(MemoryOrder::Weak(seed))
            .with_threads(1 + seed as usize % 2)
            .with_resident_blocks(1 + seed as usize % 3);
        let device = Device::simulated(options);
        let queued = hisparse::QueuedOptions::default().with_blocks(1 + 5 * seed as u32);
        check(&device, &a, &b.transpose(), queued);
        check(&device, &a, &b.transpose(), queued.with_capacity(9));
    }
}

/// Equal leaves are stored once, and their sums with different ones are not: the first pool is too small.
#[test]
fn a_small_pool_is_replaced() {
    let shape = (2048, 2048);
    let full: Entries = (0..1024 * 64)
        .map(|at| (at / 1024 * 32 + at % 1024 / 32, at % 32 + 32 * (at / 1024), (at % 1024) as f64 - 512.0))
        .collect();
    let single: Entries = (0..64).map(|at| (at * 32 + at % 31, at * 32 + at * 7 % 32, at as f64)).collect();
    let (a, b) = (tree::<f32, 32>(shape, &full, share()), tree::<f32, 32>(shape, &single, plain()));
    for device in devices() {
        check(&device.device, &a, &b, hisparse::QueuedOptions::default());
        check(&device.device, &b.transpose(), &a, hisparse::QueuedOptions::default().with_capacity(3));
        let uploaded = device.device.upload(&a).expect("upload");
        let sum = uploaded
            .spadd(&device.device.upload(&b).expect("upload"), queues(hisparse::QueuedOptions::default()))
            .expect("a sum");
        // The pool was enlarged more than once.
        assert!(sum.pool_bytes() > 2 * (a.pool().len() + b.pool().len()) as u64);
    }
}

/// Too little memory is an error, and the next sum is right.
#[test]
fn a_pool_larger_than_memory_is_refused() {
    let shape = (2048, 2048);
    let leaf: Entries =
        (0..1024 * 64).map(|at| (at / 1024 * 32 + at % 1024 / 32, at % 32 + 32 * (at / 1024), 1.0)).collect();
    let single: Entries = (0..64).map(|at| (at * 32 + at % 31, at * 32 + at * 7 % 32, at as f64)).collect();
    let (a, b) = (tree::<f64, 32>(shape, &leaf, share()), tree::<f64, 32>(shape, &single, plain()));
    for device in kernel_devices() {
        let device = device.device;
        let (left, right) = (device.upload(&a).expect("upload"), device.upload(&b).expect("upload"));
        let options = queues(hisparse::QueuedOptions::default());
        let in_use = device.memory().expect("memory").in_use;
        device.set_memory_limit(Some(in_use + (400 << 10)));
        let refused = left.spadd(&right, options).expect_err("64 dense leaves take 512 KB");
        assert!(matches!(refused, OpError::Device(_)), "{refused}");
        device.set_memory_limit(None);
        assert_eq!(device.memory().expect("memory").in_use, in_use);
        check(&device, &a, &b, hisparse::QueuedOptions::default());
    }
}

#[test]
fn small_and_empty_matrices() {
    for device in devices() {
        let device = &device.device;
        let options = hisparse::QueuedOptions::default();
        for shape in [(0, 0), (0, 9), (300, 0), (1, 1), (5, 700), (33, 2)] {
            let empty = tree::<f32, 64>(shape, &vec![], plain());
            check(device, &empty, &empty, options);
            if shape.0 > 0 && shape.1 > 0 {
                let last = vec![(shape.0 - 1, shape.1 - 1, 1.5)];
                check_all_states::<f32, 64>(device, &tree(shape, &last, plain()), &empty, options);
                check_all_states::<f64, 256>(
                    device,
                    &tree(shape, &last, plain()),
                    &tree(shape, &vec![(0, 0, -1.5)], plain()),
                    options,
                );
            }
        }
    }
}

/// Full nodes on all levels.
#[test]
fn dense_nodes() {
    let full = |side: usize, step: usize| -> Entries {
        (0..side * side).step_by(step).map(|at| (at / side, at % side, (at % 5) as f64 - 2.0)).collect()
    };
    for device in devices() {
        let options = hisparse::QueuedOptions::default();
        for side in [31, 32, 33, 70] {
            let dense = tree::<f64, 32>((side, side), &full(side, 1), plain());
            check(&device.device, &dense, &dense.transpose(), options);
            check(&device.device, &dense, &tree((side, side), &full(side, 7), plain()).transpose(), options);
        }
        let dense = tree::<f32, 256>((256, 256), &full(256, 1), plain());
        check(&device.device, &dense, &dense.transpose().scaled(-1.0), options);
    }
}

/// Trees of seven levels. Not on the CPU, where row offsets would take gigabytes.
#[test]
fn deep_trees() {
    let side = 2_000_000;
    let spread = |step: usize| -> Entries {
        (0..200).map(|at| ((at * at * step) % side, (at * 14_316_557) % side, at as f64)).collect()
    };
    let coo = |entries: Entries| evenpath::Coo::<f64>::from_triplets(side, side, entries).expect("inside");
    for device in kernel_devices() {
        let upload = |entries: Entries| -> HiSparse<f64, 32> {
            let coo = device.device.upload(&coo(entries)).expect("upload");
            coo.to_hisparse::<32>(plain()).expect("a tree").download().expect("a download")
        };
        let (a, b) = (upload(spread(47_001)), upload(spread(31_007)));
        for options in
            [hisparse::QueuedOptions::default(), hisparse::QueuedOptions::default().with_capacity(1)]
        {
            check(&device.device, &a, &b, options);
            check(&device.device, &a, &a.transpose(), options);
        }
    }
}

/// Infinities and NaN propagate like in the host's sums.
#[test]
fn infinities_and_nan() {
    let shape = (40, 40);
    let values = [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MIN_POSITIVE / 4.0];
    let a: Entries = (0..25).map(|at| (at, at, values[at / 5])).collect();
    let b: Entries = (0..25).map(|at| (at, at, values[at % 5])).collect();
    let (a, b) = (tree::<f64, 32>(shape, &a, plain()), tree::<f64, 32>(shape, &b, plain()));
    let sum = a.spadd(&b).expect("a sum");
    for device in kernel_devices() {
        let (a, b) = (device.device.upload(&a).expect("upload"), device.device.upload(&b).expect("upload"));
        let found = a.spadd(&b, queues(hisparse::QueuedOptions::default())).expect("a sum");
        for ((row, col, found), expected) in found.download().expect("a download").iter().zip(sum.iter()) {
            assert_eq!((row, col), (expected.0, expected.1));
            let is_same = found.to_bits() == expected.2.to_bits() || found.is_nan() && expected.2.is_nan();
            assert!(is_same, "{found} {}", expected.2);
        }
    }
}

/// The host waits for the result alone, for any number of levels.
#[test]
fn sums_do_not_wait_for_levels() {
    let a = tree::<f64, 32>((40_000, 40_000), &vec![(3, 5, 1.0), (39_999, 1, 2.0)], plain());
    let device = Device::simulated(SimulatedOptions::default());
    let a = device.upload(&a).expect("upload");
    let waits = |method: hisparse::SpaddMethod| {
        let before = device.waits();
        let sum: DeviceHiSparse<f64, 32> =
            a.spadd(&a.transpose(), hisparse::SpaddOptions::default().with_method(method)).expect("a sum");
        assert_eq!(sum.nnz(), 4);
        device.waits() - before
    };
    assert_eq!(waits(hisparse::SpaddMethod::Queues), 1);
    // The first sum by levels also waits for the number of nodes per level.
    assert!(waits(hisparse::SpaddMethod::Levels) > 1);
    assert_eq!(waits(hisparse::SpaddMethod::Levels), 1);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for device in devices() {
        let device = &device.device;
        let a = device.upload(&tree::<f32, 128>((3, 2), &vec![(0, 1, 1.0)], plain())).expect("upload");
        let options = queues(hisparse::QueuedOptions::default());
        let refused = a.spadd(&a.transpose(), options).expect_err("shapes differ");
        assert!(matches!(refused, OpError::Shape { operand: "B", .. }), "{refused}");
        let other = Device::simulated(SimulatedOptions::default());
        let elsewhere = other.upload(&a.download().expect("a download")).expect("upload");
        assert!(matches!(a.spadd(&elsewhere, options), Err(OpError::Device(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn sums_equal_those_of_the_entries(
        (rows, cols, a) in scattered_squares(1000..70_000, 30..42),
        pieces in prop::collection::vec((0.0..1.0, 0.0..1.0, 1..40_usize), 0..6),
        keep in 1..4_usize,
        capacity in prop_oneof![Just(None), (0..60_u32).prop_map(Some)],
        blocks in prop_oneof![Just(None), (1..12_u32).prop_map(Some)],
    ) {
        // Some entries of A, and some others.
        let mut b: Entries = a.iter().step_by(keep).map(|&(row, col, _)| (row, col, 2.0)).collect();
        for (row, col, side) in pieces {
            let (first_row, first_col) = ((row * rows as f64) as usize, (col * cols as f64) as usize);
            for row in first_row..rows.min(first_row + side) {
                b.extend((first_col..cols.min(first_col + side)).map(|col| (row, col, 5.0)));
            }
        }
        let (shape, options) = ((rows, cols), hisparse::QueuedOptions::default());
        let options = options.with_capacity(capacity).with_blocks(blocks);
        for device in devices() {
            let device = &device.device;
            check_all_states::<f32, 32>(device, &tree(shape, &a, plain()), &tree(shape, &b, share()), options);
            check(device, &tree::<f64, 64>(shape, &b, share()), &tree(shape, &a, plain()), options);
            check(device, &tree::<f64, 128>(shape, &a, plain()), &tree(shape, &b, plain()), options);
            check(device, &tree::<f32, 256>(shape, &a, plain()), &tree(shape, &b, plain()), options);
        }
    }
}
