//! Conversion and sums of HiSparse matrices on every present device, compared bitwise with the host's.

use evenpath::device::SimulatedOptions;
use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, HiSparse, Offset, Value};
use evenpath_kernels::hisparse::{HiSparseFillLeaves, HiSparseWriteNodes, HiSparseWriteRuns};
use evenpath_lab::Diagnostics;
use evenpath_tests::{DeviceUnderTest, Entries, devices, kernel_devices, scattered_squares, tile_len};
use proptest::prelude::*;

fn csr<V: Value>(rows: usize, cols: usize, entries: &Entries) -> Csr<V> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(rows, cols, entries).expect("entries inside")
}

fn on_host<V: Value, const D: usize>(matrix: &Csr<V>, options: hisparse::Options) -> HiSparse<V, D> {
    matrix.to_hisparse(options).expect("a small matrix")
}

/// Checks that a matrix on a device is bitwise equal to that of the host.
fn check_same<V: Value, const D: usize>(found: &DeviceHiSparse<V, D>, expected: &HiSparse<V, D>) {
    let device = found.device();
    let found = found.download().expect("download");
    assert_eq!(found.shape(), expected.shape(), "{device}");
    assert_eq!(found.nnz(), expected.nnz(), "{device}");
    assert_eq!(found.is_transposed(), expected.is_transposed(), "{device}");
    assert_eq!(found.root_reference(), expected.root_reference(), "{device}, D = {D}, {expected:?}");
    assert_eq!(found.pool().len(), expected.pool().len(), "{device}, D = {D}, {expected:?}");
    let difference = found.pool().iter().zip(expected.pool()).position(|(a, b)| a != b);
    assert_eq!(difference, None, "{device}, D = {D}, {expected:?}");
}

fn check_conversion<V: Value, const D: usize>(device: &Device, matrix: &Csr<V>) {
    let expected = on_host::<V, D>(matrix, plain());
    let uploaded = device.upload(matrix).expect("upload");
    check_same(&uploaded.to_hisparse::<D>(plain()).expect("a tree"), &expected);
    // Now it is known to be canonical.
    check_same(&uploaded.to_hisparse::<D>(plain()).expect("a tree"), &expected);
    check_same(&uploaded.to_hisparse::<D>(share()).expect("a tree"), &on_host::<V, D>(matrix, share()));
    let wide = device.upload(&matrix.clone().try_into_offsets::<u64>().expect("wider")).expect("upload");
    check_same(&wide.to_hisparse::<D>(plain()).expect("a tree"), &expected);
    let coo = device.upload(&matrix.to_coo().expect("memory")).expect("upload");
    check_same(&coo.to_hisparse::<D>(plain()).expect("a tree"), &expected);
}

fn check_all_conversions(device: &Device, rows: usize, cols: usize, entries: &Entries) {
    let (single, double) = (csr::<f32>(rows, cols, entries), csr::<f64>(rows, cols, entries));
    check_conversion::<f32, 32>(device, &single);
    check_conversion::<f64, 32>(device, &double);
    check_conversion::<f32, 64>(device, &single);
    check_conversion::<f64, 64>(device, &double);
    check_conversion::<f32, 128>(device, &single);
    check_conversion::<f64, 128>(device, &double);
    check_conversion::<f32, 256>(device, &single);
    check_conversion::<f64, 256>(device, &double);
}

/// Converts back from the tree, and compares with the host's result.
fn check_back<V: Value, O: Offset, const D: usize>(device: &Device, matrix: &HiSparse<V, D>) {
    let uploaded = device.upload(matrix).expect("upload");
    let expected: Csr<V, O> = matrix.to_csr_with_offsets().expect("CSR");
    let found = uploaded.to_csr_with_offsets::<O>().expect("CSR");
    assert_eq!(found.download().expect("download"), expected, "{device}, D = {D}, {matrix:?}");
    let coo = uploaded.to_coo().expect("coordinates");
    assert_eq!(coo.to_csr_with_offsets::<O>().expect("CSR").download().expect("download"), expected);
    // It is known to be canonical.
    found.spadd(V::ONE, &found, V::ONE).expect("a canonical matrix");
}

/// The sum on a device, by the default method.
fn add<V: Value, const D: usize>(
    a: &DeviceHiSparse<V, D>,
    b: &DeviceHiSparse<V, D>,
) -> Result<DeviceHiSparse<V, D>, OpError> {
    a.spadd(b, hisparse::SpaddOptions::default())
}

/// Both A + B and B + A, as stored and transposed; A + B with either scaled.
fn check_sums<V: Value, const D: usize>(device: &Device, a: &HiSparse<V, D>, b: &HiSparse<V, D>) {
    let upload = |matrix: &HiSparse<V, D>| device.upload(matrix).expect("upload");
    let scaled = [(-2.0, 1.0), (1.0, 0.5)].map(|(factor, other)| {
        let [factor, other] = [factor, other].map(V::from_f64);
        (a.scaled(factor), b.scaled(other))
    });
    let as_given = [(a.clone(), b.clone()), (b.clone(), a.clone())];
    for (a, b) in as_given.into_iter().chain(scaled) {
        check_same(&add(&upload(&a), &upload(&b)).expect("a sum"), &a.spadd(&b).expect("a sum"));
    }
    let same = upload(a);
    check_same(&add(&same, &same).expect("a sum"), &a.spadd(a).expect("a sum"));
}

/// Sums of A and B, stored as given or transposed, and of A and its transpose if it is square.
fn check_all_sums<V: Value, const D: usize>(device: &Device, a: &Csr<V>, b: &Csr<V>) {
    let stored = |matrix: &Csr<V>, is_turned: bool, options: hisparse::Options| -> HiSparse<V, D> {
        if is_turned {
            on_host::<V, D>(&matrix.transpose().expect("memory"), options).transpose()
        } else {
            on_host(matrix, options)
        }
    };
    for (a_turned, b_turned) in [(false, false), (false, true), (true, false), (true, true)] {
        check_sums(device, &stored(a, a_turned, plain()), &stored(b, b_turned, share()));
    }
    if a.nrows() == a.ncols() {
        let a: HiSparse<V, D> = stored(a, false, plain());
        check_sums(device, &a, &a.transpose());
        let uploaded = device.upload(&a).expect("upload");
        let chain = |a: &DeviceHiSparse<V, D>| {
            let turned = a.transpose().scaled(V::from_f64(2.0));
            let sum = add(a, &turned).expect("a sum").transpose();
            add(&sum, &add(&turned, a).expect("a sum").transpose()).expect("a sum")
        };
        let turned = a.transpose().scaled(V::from_f64(2.0));
        let sum = a.spadd(&turned).expect("a sum").transpose();
        let expected = sum.spadd(&turned.spadd(&a).expect("a sum").transpose()).expect("a sum");
        check_same(&chain(&uploaded), &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn trees_are_converted_like_on_the_host((rows, cols, entries) in scattered_squares(1000..70_000, 36..48)) {
        for device in devices() {
            check_all_conversions(&device.device, rows, cols, &entries);
        }
    }

    #[test]
    fn trees_are_converted_back_like_on_the_host((rows, cols, entries) in scattered_squares(1000..70_000, 36..48), factor in prop_oneof![Just(1.0), Just(-2.5)]) {
        for device in devices() {
            let (single, double) = (csr::<f32>(rows, cols, &entries), csr::<f64>(rows, cols, &entries));
            let single_tree = on_host::<f32, 32>(&single, share()).scaled(factor as f32);
            check_back::<_, u32, 32>(&device.device, &single_tree);
            check_back::<_, u64, 32>(&device.device, &single_tree.transpose());
            check_back::<_, u32, 128>(&device.device, &on_host::<f64, 128>(&double, plain()).scaled(factor).transpose());
            check_back::<_, u64, 256>(&device.device, &on_host::<f64, 256>(&double, share()).scaled(factor));
        }
    }

    #[test]
    fn sums_equal_those_of_the_host(
        (rows, cols, a) in scattered_squares(1000..70_000, 36..48),
        pieces in prop::collection::vec((0.0..1.0, 0.0..1.0, 1..50_usize), 0..8),
        keep in 1..4_usize,
    ) {
        // Some entries of A, and some others.
        let mut b: Entries = a.iter().step_by(keep).map(|&(row, col, _)| (row, col, 2.0)).collect();
        for (row, col, side) in pieces {
            let (first_row, first_col) = ((row * rows as f64) as usize, (col * cols as f64) as usize);
            for row in first_row..rows.min(first_row + side) {
                b.extend((first_col..cols.min(first_col + side)).map(|col| (row, col, 5.0)));
            }
        }
        for device in devices() {
            let device = &device.device;
            check_all_sums::<f32, 32>(device, &csr(rows, cols, &a), &csr(rows, cols, &b));
            check_all_sums::<f64, 64>(device, &csr(rows, cols, &a), &csr(rows, cols, &b));
            check_all_sums::<f64, 128>(device, &csr(rows, cols, &b), &csr(rows, cols, &a));
            check_all_sums::<f32, 256>(device, &csr(rows, cols, &a), &csr(rows, cols, &b));
        }
    }
}

/// Square, so that there is a sum with the transpose; dense, sparse and missing nodes on each side, on every level.
#[test]
fn every_pair_of_nodes() {
    let side = 1100;
    let every = |step: usize, shift: usize| -> Entries {
        let place =
            |at: usize| ((at / 32 * 32 + shift) % side, (at % 32 * 32 + at % 7) % side, at as f64 - 9.0);
        (0..1024).step_by(step).map(place).collect()
    };
    let square = |first: usize, len: usize| -> Entries {
        (0..len * len).map(|at| (first + at / len, first / 2 + at % len, (at % 3) as f64 - 1.0)).collect()
    };
    let matrices = [every(1, 0), every(9, 0), square(64, 33), square(70, 11), square(60, 40)];
    for device in devices() {
        for (at, a) in matrices.iter().enumerate() {
            for b in &matrices[at..] {
                let (a, b) =
                    (on_host::<f64, 32>(&csr(side, side, a), plain()), on_host(&csr(side, side, b), share()));
                check_sums(&device.device, &a, &b);
                check_sums(&device.device, &a, &b.transpose());
            }
            check_back::<_, u32, 32>(&device.device, &on_host::<f32, 32>(&csr(side, side, a), plain()));
        }
    }
}

#[test]
fn single_entries_at_every_corner() {
    fn corners<const D: usize>(DeviceUnderTest { device, fast }: &DeviceUnderTest) {
        let spans = [1, D - 1, D, D * D, D * D + 1, (D * D * D - 1).min(1 << 20)];
        // Every row costs time. The largest trees have no more levels than the previous ones.
        for span in spans.into_iter().filter(|span| *fast || *span < 1 << 17) {
            for (row, col) in
                [(0, 0), (0, span - 1), (span - 1, 0), (span - 1, span - 1), (span / 2, span / 3)]
            {
                let matrix: Csr<f32> = csr(span, span, &vec![(row, col, 2.5)]);
                let expected = on_host::<f32, D>(&matrix, plain());
                let tree = device.upload(&matrix).expect("upload").to_hisparse::<D>(plain()).expect("a tree");
                check_same(&tree, &expected);
                let sum = expected.spadd(&expected.transpose()).expect("a sum");
                check_same(&add(&tree, &tree.transpose()).expect("a sum"), &sum);
                let back = tree.transpose().to_csr().expect("CSR").download().expect("download");
                assert_eq!(back.iter().collect::<Vec<_>>(), [(col, row, 2.5)]);
            }
        }
    }
    for device in devices() {
        corners::<32>(&device);
        corners::<64>(&device);
        corners::<128>(&device);
        corners::<256>(&device);
    }
}

/// Trees of seven levels, whose paths take 54 bits: few entries, far apart. Not on the CPU, which has too
/// little memory for the row offsets.
#[test]
fn the_deepest_trees() {
    let side = evenpath::csr::MAX_DIMENSION;
    for device in kernel_devices() {
        let entries: Entries = (0..300_usize)
            .map(|at| ((at * at * 47_000) % side, (at * 14_316_557) % side, at as f64))
            .collect();
        let coo = evenpath::Coo::from_triplets(side, side, entries.clone()).expect("entries inside");
        let uploaded = device.device.upload(&coo).expect("upload");
        let pool = uploaded.to_hisparse::<32>(plain()).expect("a tree").download().expect("download");
        let again = HiSparse::<f64, 32>::try_from_pool(side, side, pool.pool(), pool.root_reference())
            .expect("valid");
        let sorted = |matrix: &HiSparse<f64, 32>| {
            let mut entries: Vec<_> = matrix.iter().collect();
            entries.sort_unstable_by_key(|&(row, col, _)| (row, col));
            entries
        };
        assert_eq!(sorted(&again).len(), 300);
        let mut expected = entries;
        expected.sort_unstable_by_key(|&(row, col, _)| (row, col));
        assert_eq!(sorted(&again), expected);
        let tree = device.device.upload(&again).expect("upload");
        let sum = again.spadd(&again.transpose()).expect("a sum");
        check_same(&add(&tree, &tree.transpose()).expect("a sum"), &sum);
    }
}

#[test]
fn full_and_empty_matrices() {
    fn sides<const D: usize>(device: &Device) {
        for side in [D - 1, D, D + 1] {
            let entries: Entries =
                (0..side * side).map(|at| (at / side, at % side, (at % 5) as f64)).collect();
            let matrix: Csr<f64> = csr(side, side, &entries);
            let tree = device.upload(&matrix).expect("upload").to_hisparse::<D>(plain()).expect("a tree");
            let expected = on_host::<f64, D>(&matrix, plain());
            check_same(&tree, &expected);
            let sum = expected.spadd(&expected.transpose()).expect("a sum");
            check_same(&add(&tree, &tree.transpose()).expect("a sum"), &sum);
        }
    }
    for device in devices() {
        sides::<32>(&device.device);
        sides::<64>(&device.device);
        for (rows, cols) in [(0, 0), (0, 9), (300, 0), (5, 700)] {
            let empty = csr::<f32>(rows, cols, &Entries::new());
            check_conversion::<f32, 64>(&device.device, &empty);
            let tree = on_host::<f32, 64>(&empty, plain());
            check_back::<_, u32, 64>(&device.device, &tree);
            check_sums(&device.device, &tree, &tree);
        }
        let one = on_host::<f32, 64>(&csr(5, 700, &vec![(3, 650, 1.5)]), plain());
        check_sums(&device.device, &one, &on_host(&csr(5, 700, &Entries::new()), plain()));
    }
}

#[test]
fn unordered_rows_and_duplicates_are_accepted() {
    let matrix =
        Csr::try_new(2, 300, vec![0_u32, 4, 5], vec![2, 290, 2, 0, 7], vec![1.0, 2.0, 3.0, 4.0, 5.0])
            .expect("a matrix");
    for device in devices() {
        let expected = on_host::<f64, 128>(&matrix, plain());
        let uploaded = device.device.upload(&matrix).expect("upload");
        check_same(&uploaded.to_hisparse::<128>(plain()).expect("a tree"), &expected);
        let coo = device.device.upload(&matrix.to_coo().expect("memory")).expect("upload");
        check_same(&coo.to_hisparse::<128>(plain()).expect("a tree"), &expected);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for device in devices() {
        let device = &device.device;
        let a = device.upload(&on_host::<f64, 128>(&csr(3, 2, &vec![(0, 1, 1.0)]), plain())).expect("upload");
        let refused = add(&a, &a.transpose()).expect_err("shapes differ");
        assert!(
            matches!(
                refused,
                OpError::Shape { operand: "B", rows: 2, cols: 3, needed_rows: 3, needed_cols: 2 }
            ),
            "{refused}"
        );
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.upload(&a.download().expect("download")).expect("upload");
        assert!(matches!(add(&a, &elsewhere), Err(OpError::Device(_))));
    }
}

/// Numbers of entries and runs at the edges of tiles: runs of one entry, and of all columns of a leaf.
#[test]
fn tiles_have_edges() {
    for device in devices() {
        for len in [
            tile_len::<HiSparseWriteRuns<u32>>(),
            tile_len::<HiSparseWriteNodes<u32>>(),
            tile_len::<HiSparseFillLeaves<f32>>(),
        ] {
            for len in [len - 1, len, len + 1, 2 * len + 1] {
                let scattered = (0..len).map(|i| (i % 83, i * 37, (i % 5) as f64 - 1.0)).collect();
                check_conversion::<f64, 128>(&device.device, &csr(90, 37 * len, &scattered));
                let rows = (0..len).map(|i| (i / 100, i % 100, (i % 5) as f64)).collect();
                check_conversion::<f32, 32>(&device.device, &csr(len, 100, &rows));
            }
        }
    }
}

fn plain() -> hisparse::Options {
    hisparse::Options::default().with_share(false)
}

fn share() -> hisparse::Options {
    hisparse::Options::default().with_share(true)
}

/// The host waits for the number of runs and for the size of the pool, for any number of levels.
#[test]
fn conversion_waits_twice() {
    let device = Device::simulated(SimulatedOptions::default());
    let matrix: Csr<f64> =
        Csr::from_triplets(40_000, 40_000, [(3, 5, 1.0), (39_999, 1, 2.0)]).expect("a matrix");
    let matrix = device.upload(&matrix).expect("upload");
    let before = device.waits();
    let tree: DeviceHiSparse<f64, 32> = matrix.to_hisparse(hisparse::Options::default()).expect("a tree");
    assert_eq!((tree.nnz(), device.waits() - before), (2, 2));
    assert_eq!(tree.download().expect("a download").get(39_999, 1), Some(2.0));
}
