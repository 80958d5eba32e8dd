//! Conversion to HiSparse by queues, compared with the host's tree.

use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Coo, Csr, Device, HiSparse, Value};
use evenpath_kernels::hisparse::binning::TILE;
use evenpath_lab::Diagnostics;
use evenpath_tests::{Entries, devices, kernel_devices, scattered_squares};
use proptest::prelude::*;

fn queues(options: hisparse::QueuedOptions) -> hisparse::ConversionOptions {
    hisparse::ConversionOptions::default()
        .with_method(hisparse::ConversionMethod::Queues)
        .with_queues(options)
}

fn csr<V: Value>((rows, cols): (usize, usize), entries: &Entries) -> Csr<V> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(rows, cols, entries).expect("entries inside")
}

/// Checks that a tree has the nodes and the entries of the host's, in a valid pool of the same size.
fn check_same<V: Value, const D: usize>(found: &DeviceHiSparse<V, D>, expected: &HiSparse<V, D>, of: &str) {
    let device = found.device();
    let found = found.download().expect("a download");
    let of = format!("{device}, D = {D}, {of}, {expected:?}");
    assert_eq!((found.shape(), found.nnz()), (expected.shape(), expected.nnz()), "{of}");
    let bits = |matrix: &HiSparse<V, D>| -> Vec<_> {
        matrix.iter().map(|(row, col, value)| (row, col, value.to_bits())).collect()
    };
    // The order of iteration is that of the tree.
    assert_eq!(bits(&found), bits(expected), "{of}");
    assert_eq!(found.statistics().levels, expected.statistics().levels, "{of}");
    assert_eq!(found.pool().len(), expected.pool().len(), "{of}");
    let (rows, cols) = found.shape();
    let valid = HiSparse::<V, D>::try_from_pool(rows, cols, found.pool(), found.root_reference());
    assert_eq!(valid.expect("a valid pool").nnz(), expected.nnz(), "{of}");
}

fn check<V: Value, const D: usize>(
    device: &Device,
    shape: (usize, usize),
    entries: &Entries,
    options: hisparse::QueuedOptions,
) {
    let matrix = csr::<V>(shape, entries);
    let expected: HiSparse<V, D> = matrix.to_hisparse(hisparse::Options::default()).expect("a tree");
    let of = format!("{options:?}");
    let uploaded = device.upload(&matrix).expect("upload");
    check_same(&uploaded.to_hisparse::<D>(queues(options)).expect("a tree"), &expected, &of);
    let coo = device.upload(&matrix.to_coo().expect("memory")).expect("upload");
    check_same(&coo.to_hisparse::<D>(queues(options)).expect("a tree"), &expected, &of);
}

/// Nodes of every number of entries on every level: single entries, few, and more than a tile, in clusters that share an inner
/// node or are far apart.
fn clusters(side: usize) -> Entries {
    let mut entries = Entries::new();
    for (at, count) in
        [1, 1, 2, 3, 8, 9, 31, 32, 33, 100, 500, 1023, 1024, 1025, 2600].into_iter().enumerate()
    {
        let (row, col) = (at * 7919 % side, at * 104_729 % side);
        for entry in 0..count {
            // Neighbors, or as far apart as leaves are.
            let step = [1, 13, 67][at % 3];
            let place = ((row + entry / 40 * step) % side, (col + entry % 40 * step) % side);
            entries.push((place.0, place.1, (entry % 9) as f64 - 4.0));
        }
    }
    entries.sort_unstable_by_key(|&(row, col, _)| (row, col));
    entries.dedup_by_key(|&mut (row, col, _)| (row, col));
    entries
}

#[test]
fn nodes_of_every_size() {
    let options = hisparse::QueuedOptions::default();
    for device in devices() {
        let device = &device.device;
        let entries = clusters(33_000);
        check::<f32, 32>(device, (33_000, 33_000), &entries, options);
        check::<f64, 32>(device, (33_000, 33_000), &entries, options);
        check::<f64, 64>(device, (33_000, 40_000), &entries, options);
        check::<f32, 128>(device, (34_000, 33_000), &entries, options);
        check::<f32, 256>(device, (70_000, 33_000), &entries, options);
        check::<f64, 256>(device, (33_000, 33_000), &entries, options);
    }
}

/// Inner nodes with entry counts at the edges of tiles, and of pieces of four tiles.
#[test]
fn tiles_have_edges() {
    let tile = TILE as usize;
    for device in kernel_devices() {
        for len in [tile - 1, tile, tile + 1, 2 * tile + 1, 4 * tile, 4 * tile + 1, 13 * tile + 5] {
            let scattered = (0..len).map(|at| (at % 83, at * 37, (at % 5) as f64 - 1.0)).collect();
            check::<f64, 128>(&device.device, (90, 37 * len), &scattered, hisparse::QueuedOptions::default());
            let rows = (0..len).map(|at| (at / 100, at % 100, (at % 5) as f64)).collect();
            check::<f32, 32>(&device.device, (len, 100), &rows, hisparse::QueuedOptions::default());
        }
    }
}

/// All digits of rows and columns in one node, which is dense.
#[test]
fn dense_inner_nodes() {
    for device in kernel_devices() {
        let every = |side: usize, d: usize| -> Entries {
            (0..side * side).map(|at| (at / side * d + at % d, at % side * d + at % 3, at as f64)).collect()
        };
        check::<f32, 32>(&device.device, (1024, 1024), &every(32, 32), hisparse::QueuedOptions::default());
        check::<f64, 64>(&device.device, (4096, 4096), &every(64, 64), hisparse::QueuedOptions::default());
    }
}

/// Matrices of one level, and leaves that are dense or nearly.
#[test]
fn full_and_empty_matrices() {
    fn sides<const D: usize>(device: &Device) {
        for side in [1, D - 1, D, D + 1] {
            let full = (0..side * side).map(|at| (at / side, at % side, (at % 5) as f64)).collect();
            check::<f64, D>(device, (side, side), &full, hisparse::QueuedOptions::default());
        }
    }
    for device in devices() {
        let device = &device.device;
        let options = hisparse::QueuedOptions::default();
        sides::<32>(device);
        sides::<64>(device);
        for shape in [(0, 0), (0, 9), (300, 0), (1, 1), (5, 700), (700, 5)] {
            check::<f32, 64>(device, shape, &Entries::new(), options);
            if shape.0 > 0 && shape.1 > 0 {
                check::<f32, 32>(device, shape, &vec![(shape.0 - 1, shape.1 - 1, 1.5)], options);
                check::<f64, 256>(device, shape, &vec![(0, 0, -0.0)], options);
            }
        }
    }
    for device in kernel_devices() {
        let full: Entries = (0..1 << 16).map(|at| (at >> 8, at & 255, at as f64)).collect();
        check::<f32, 256>(&device.device, (256, 256), &full, hisparse::QueuedOptions::default());
    }
}

/// Checks the conversion of entries of a square matrix, with all queues and with queues of one node.
fn check_deep<const D: usize>(device: &Device, side: usize, entries: &Entries) {
    let coo = Coo::from_triplets(side, side, entries.iter().copied()).expect("entries inside");
    let uploaded = device.upload(&coo).expect("upload");
    let expected = uploaded.to_hisparse::<D>(hisparse::Options::default()).expect("a tree");
    let expected = expected.download().expect("a download");
    for capacity in [None, Some(1)] {
        let options = queues(hisparse::QueuedOptions::default().with_capacity(capacity));
        check_same(&uploaded.to_hisparse::<D>(options).expect("a tree"), &expected, "deep");
    }
}

/// Trees of up to seven levels: few entries, far apart or close together. Not on the CPU, which has too little memory for the row
/// offsets.
#[test]
fn the_deepest_trees() {
    let side = evenpath::csr::MAX_DIMENSION;
    let spread = (0..300_usize).map(|at| ((at * at * 47_000) % side, (at * 14_316_557) % side));
    let close = (0..40).map(|at| (side - 1 - at / 8, side - 20 + at % 8));
    let entries: Entries = spread.chain(close).map(|(row, col)| (row, col, (row % 97) as f64)).collect();
    for device in kernel_devices() {
        check_deep::<32>(&device.device, side, &entries);
        check_deep::<64>(&device.device, side, &entries);
        check_deep::<128>(&device.device, side, &entries);
        check_deep::<256>(&device.device, side, &entries);
    }
}

#[test]
fn unordered_rows_and_duplicates_are_accepted() {
    let matrix =
        Csr::try_new(2, 300, vec![0_u32, 4, 5], vec![2, 290, 2, 0, 7], vec![1.0, 2.0, 3.0, 4.0, 5.0])
            .expect("a matrix");
    for device in devices() {
        let options = queues(hisparse::QueuedOptions::default());
        let expected: HiSparse<f64, 128> = matrix.to_hisparse(hisparse::Options::default()).expect("a tree");
        let uploaded = device.device.upload(&matrix).expect("upload");
        check_same(&uploaded.to_hisparse(options).expect("a tree"), &expected, "CSR");
        let coo = device.device.upload(&matrix.to_coo().expect("memory")).expect("upload");
        check_same(&coo.to_hisparse(options).expect("a tree"), &expected, "COO");
    }
}

/// The host shares equal subtrees, whatever the method.
#[test]
fn sharing_goes_through_the_host() {
    let matrix = csr::<f32>((256, 256), &vec![(0, 0, 1.0), (128, 128, 1.0)]);
    for device in devices() {
        let options = queues(hisparse::QueuedOptions::default()).with_share(true);
        let tree =
            device.device.upload(&matrix).expect("upload").to_hisparse::<128>(options).expect("a tree");
        let expected = matrix.to_hisparse::<128>(hisparse::Options::default().with_share(true));
        assert_eq!(tree.download().expect("a download").pool(), expected.expect("a tree").pool());
    }
}

/// A block keeps work that does not fit in a queue, so the capacity does not matter. Nor does the number of blocks.
#[test]
fn queues_may_overflow() {
    let entries = clusters(33_000);
    for device in kernel_devices() {
        for capacity in [0, 1, 2, 7, 40] {
            let options = hisparse::QueuedOptions::default().with_capacity(capacity);
            check::<f64, 32>(&device.device, (33_000, 33_000), &entries, options.with_blocks(1 + capacity));
            check::<f32, 128>(&device.device, (33_000, 33_000), &entries, options);
        }
    }
}

/// Any order of blocks and stores, with few blocks running at once.
#[test]
fn any_schedule_works() {
    let entries = clusters(2000);
    for seed in 0..6 {
        let options = SimulatedOptions::default()
            .with_block_order(BlockOrder::Seeded(seed))
            .with_memory_order(MemoryOrder::Weak(seed))
            .with_threads(1 + seed as usize % 2)
            .with_resident_blocks(1 + seed as usize % 3);
        let device = Device::simulated(options);
        let queued = hisparse::QueuedOptions::default().with_blocks(1 + 5 * seed as u32);
        check::<f64, 32>(&device, (2000, 2000), &entries, queued);
        check::<f64, 64>(&device, (2000, 2000), &entries, queued.with_capacity(9));
    }
}

/// Too little memory is an error, and the next conversion is right.
#[test]
fn a_pool_larger_than_memory_is_refused() {
    let entries = clusters(33_000);
    let matrix = csr::<f64>((33_000, 33_000), &entries);
    for device in kernel_devices() {
        let device = device.device;
        let uploaded = device.upload(&matrix).expect("upload");
        let options = queues(hisparse::QueuedOptions::default());
        let in_use = device.memory().expect("memory").in_use;
        device.set_memory_limit(Some(in_use + (100 << 10)));
        let refused = uploaded.to_hisparse::<32>(options).expect_err("the skeleton is larger");
        assert!(matches!(refused, OpError::Device(_)), "{refused}");
        device.set_memory_limit(None);
        assert_eq!(device.memory().expect("memory").in_use, in_use);
        uploaded.to_hisparse::<32>(options).expect("a tree");
    }
}

/// The host waits for the size of the pool and for the reference to the root, for any number of levels.
#[test]
fn conversion_waits_twice() {
    let device = Device::simulated(SimulatedOptions::default());
    let matrix = csr::<f64>((40_000, 40_000), &vec![(3, 5, 1.0), (39_999, 1, 2.0)]);
    let matrix = device.upload(&matrix).expect("upload");
    let before = device.waits();
    let tree = matrix.to_hisparse::<32>(queues(hisparse::QueuedOptions::default())).expect("a tree");
    assert_eq!((tree.nnz(), device.waits() - before), (2, 2));
    assert_eq!(tree.download().expect("a download").get(39_999, 1), Some(2.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn trees_are_those_of_the_host(
        (rows, cols, entries) in scattered_squares(1000..70_000, 36..48),
        capacity in prop_oneof![Just(None), (0..60_u32).prop_map(Some)],
        blocks in prop_oneof![Just(None), (1..12_u32).prop_map(Some)],
    ) {
        let options = hisparse::QueuedOptions::default().with_capacity(capacity).with_blocks(blocks);
        for device in kernel_devices() {
            check::<f64, 32>(&device.device, (rows, cols), &entries, options);
            check::<f32, 64>(&device.device, (rows, cols), &entries, options);
            check::<f64, 128>(&device.device, (rows, cols), &entries, options);
            check::<f32, 256>(&device.device, (rows, cols), &entries, options);
        }
    }
}
