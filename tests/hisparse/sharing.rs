//! HiSparse matrices that share subtrees.

use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, HiSparse, Value};
use evenpath_tests::{DeviceUnderTest, Entries, devices, scattered_squares};
use proptest::prelude::*;

type Triplets<V> = Vec<(usize, usize, V)>;

fn tree<V: Value, const D: usize>(
    (rows, cols): (usize, usize),
    entries: &Entries,
    is_shared: bool,
) -> HiSparse<V, D> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    let matrix = Csr::<V>::from_triplets(rows, cols, entries).expect("entries inside");
    matrix.to_hisparse(hisparse::Options::default().with_share(is_shared)).expect("a tree")
}

fn sorted<V: Value, const D: usize>(matrix: &HiSparse<V, D>) -> Triplets<V> {
    let mut entries: Triplets<V> = matrix.iter().collect();
    entries.sort_by_key(|&(row, col, _)| (row, col));
    entries
}

/// Matrices with common subtrees: some entries, these with one more or at other positions, their transpose,
/// and others.
fn family<V: Value, const D: usize>(shape: (usize, usize), entries: &Entries) -> Vec<HiSparse<V, D>> {
    let (rows, cols) = shape;
    let mut more = entries.clone();
    if rows > 0 && cols > 0 {
        more.push((rows - 1, cols / 2, 5.0));
    }
    let moved = entries.iter().map(|&(row, col, value)| (row + D * D, col + D, value)).collect();
    let a = tree::<V, D>(shape, entries, false);
    vec![
        a.clone(),
        tree(shape, &more, true),
        tree((rows + D * D, cols + D), &moved, false),
        a.transpose().scaled(V::from_f64(-2.0)),
        tree((cols, rows), &vec![], false),
        tree((rows.max(1), 40), &vec![(0, 39, 1.0)], false),
    ]
}

/// Checks that the matrices are unchanged and valid, and in one pool of minimum size.
fn check_pool<V: Value, const D: usize>(before: &[HiSparse<V, D>], after: &[HiSparse<V, D>]) {
    assert_eq!(before.len(), after.len());
    let bytes: usize = before.iter().map(|matrix| matrix.pool().len() - 16).sum();
    for (before, shared) in before.iter().zip(after) {
        let (after, pool) = (shared, after[0].pool());
        assert!(after.pool() == pool, "one pool");
        assert_eq!(
            (before.nrows(), before.ncols(), before.nnz()),
            (after.nrows(), after.ncols(), after.nnz())
        );
        assert_eq!(
            (before.is_transposed(), before.scale()),
            (after.is_transposed(), after.scale()),
            "state is kept"
        );
        assert_eq!(sorted(before), sorted(after));
        assert!(after.pool().len() <= 16 + bytes);
        let (rows, cols) = if after.is_transposed() { (after.ncols(), after.nrows()) } else { after.shape() };
        HiSparse::<V, D>::try_from_pool(rows, cols, after.pool(), after.root_reference()).expect("valid");
    }
}

/// Checks that operations on shared matrices give the same as on others.
fn check_operations<V: Value, const D: usize>(
    device: &Device,
    plain: &DeviceHiSparse<V, D>,
    shared: &DeviceHiSparse<V, D>,
) {
    let x: Vec<V> = (0..plain.ncols()).map(|at| V::from_f64((at % 7) as f64 - 2.0)).collect();
    let x = device.upload(&x).expect("upload");
    let queued = hisparse::QueuedOptions::default();
    let results = [plain, shared].map(|a| {
        let mut y = device.zeros::<V>(a.nrows()).expect("zeros");
        let plan = a.plan_spmv(hisparse::SpmvOptions::default()).expect("a plan");
        plan.run(V::ONE, &x, V::ZERO, &mut y).expect("a product");
        let sum = a
            .spadd(&a.scaled(V::from_f64(2.0)), hisparse::SpaddOptions::default())
            .expect("a sum")
            .download()
            .expect("download");
        let diagonal = a.diagonal(queued).expect("a diagonal").download().expect("download");
        let csr = a.to_csr().expect("a conversion").download().expect("download");
        (y.download().expect("download"), sorted(&sum), diagonal, csr)
    });
    assert!(results[0] == results[1], "{plain:?} and {shared:?}");
}

/// Shares the matrices' subtrees on the device, and checks that the pool has the size of the host's. Returns
/// the matrices on the device before and after.
fn share<V: Value, const D: usize>(
    device: &Device,
    before: &[HiSparse<V, D>],
) -> [Vec<DeviceHiSparse<V, D>>; 2] {
    let on_host = HiSparse::share_subtrees(before).expect("shared");
    check_pool(before, &on_host);
    let uploaded: Vec<_> = before.iter().map(|matrix| device.upload(matrix).expect("upload")).collect();
    let shared = DeviceHiSparse::share_subtrees(&uploaded).expect("shared");
    let after = downloaded(&shared);
    check_pool(before, &after);
    assert_eq!(after[0].pool().len(), on_host[0].pool().len());
    let again = downloaded(&DeviceHiSparse::share_subtrees(&uploaded).expect("shared"));
    assert!(again[0].pool() == after[0].pool(), "the same nodes in the same order");
    for (shared, after) in shared.iter().zip(&after) {
        assert_eq!(shared.pool_bytes(), after.pool().len() as u64);
    }
    [uploaded, shared]
}

fn downloaded<V: Value, const D: usize>(matrices: &[DeviceHiSparse<V, D>]) -> Vec<HiSparse<V, D>> {
    matrices.iter().map(|matrix| matrix.download().expect("download")).collect()
}

fn check<V: Value, const D: usize>(device: &Device, shape: (usize, usize), entries: &Entries) {
    let [plain, shared] = share(device, &family::<V, D>(shape, entries));
    for (plain, shared) in plain.iter().zip(&shared) {
        check_operations(device, plain, shared);
    }
}

#[test]
fn equal_subtrees_are_stored_once() {
    let entries: Entries = (0..3000).map(|at| (at * 7 % 300, at * at % 400, (at % 5) as f64 - 1.0)).collect();
    let (plain, within) = (tree::<f32, 32>((300, 400), &entries, false), tree((300, 400), &entries, true));
    for matrices in [vec![plain.clone()], vec![plain.clone(), within.transpose(), plain.scaled(3.0)]] {
        let shared = HiSparse::share_subtrees(&matrices).expect("shared");
        for matrix in &shared {
            assert_eq!(matrix.pool().len(), within.pool().len());
            assert_eq!(matrix.root_reference(), shared[0].root_reference());
        }
    }
    // One more entry: the nodes on its path are new.
    let more = entries.iter().copied().chain([(299, 399, 9.0)]).collect();
    let shared = HiSparse::share_subtrees(&[plain, tree((300, 400), &more, false)]).expect("shared");
    let added = shared[0].pool().len() - within.pool().len();
    let leaf = 16 + 6 * 32 * 32;
    assert!((16..=leaf + 6 * 32 * 32).contains(&added), "{added} bytes");
    assert!(HiSparse::<f32, 32>::share_subtrees(&[]).expect("nothing").is_empty());
}

/// Leaves are equal if their bits are: equal values with different bits differ, and unequal values with the
/// same bits, such as NaN, do not.
#[test]
fn values_are_compared_by_bits() {
    let nan = |payload| f64::from_bits(f64::NAN.to_bits() | payload);
    let values = [0.0, -0.0, nan(1), nan(2), nan(1), -0.0];
    let matrices = values.map(|value| tree::<f64, 32>((2, 2), &vec![(0, 1, value), (1, 1, 1.0)], false));
    for DeviceUnderTest { device, .. } in devices() {
        let uploaded = matrices.each_ref().map(|matrix| device.upload(matrix).expect("upload"));
        let shared = downloaded(&DeviceHiSparse::share_subtrees(&uploaded).expect("shared"));
        let roots: Vec<u32> = shared.iter().map(HiSparse::root_reference).collect();
        for (at, value) in values.iter().enumerate() {
            assert_eq!(shared[at].get(0, 1).expect("an entry").to_bits(), value.to_bits());
            for (other, &root) in roots.iter().enumerate() {
                assert_eq!(roots[at] == root, value.to_bits() == values[other].to_bits());
            }
        }
    }
}

/// A dense leaf that has all the bits of a sparse one.
#[test]
fn nodes_of_other_kinds_differ() {
    let entries: Entries = (0..680).map(|at| (at / 32, at % 32, 1.0 + at as f64)).collect();
    let sparse = tree::<f32, 32>((32, 32), &entries, false);
    let words = sparse.pool()[16..]
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes(word.try_into().expect("four bytes")));
    let entries = words.enumerate().filter(|(_, word)| word.to_bits() != 0);
    let entries = entries.map(|(at, word)| (at / 32, at % 32, f64::from(word))).collect();
    let dense = tree::<f32, 32>((32, 32), &entries, false);
    assert!(sparse.pool() == dense.pool() && sparse.root_reference() != dense.root_reference());
    for DeviceUnderTest { device, .. } in devices() {
        let [_, shared] = share(&device, &[sparse.clone(), dense.clone(), sparse.clone()]);
        assert_eq!(shared[0].pool_bytes(), 16 + 2 * 4096);
    }
}

/// A tree with `places` entries at equal positions of leaves, far apart.
fn scattered(places: usize, step: usize) -> Entries {
    (0..places * places).map(|at| (at / places * step, at % places * step, 1.5)).collect()
}

/// Inner nodes that are dense, trees of one to seven levels, and leaves with values of other types.
#[test]
fn trees_of_any_depth_share() {
    for DeviceUnderTest { device, .. } in devices() {
        let trees: [HiSparse<f32, 32>; 6] = [
            tree((70_000, 70_000), &scattered(40, 32), false),
            tree((70_000, 3_000), &scattered(40, 32), true),
            tree((3_000, 3_000), &scattered(40, 32), false).transpose(),
            tree((40, 40), &scattered(2, 32), false).scaled(2.0),
            tree((1, 1), &scattered(1, 1), false),
            tree((1, evenpath::csr::MAX_DIMENSION), &vec![(0, 0, 1.5), (0, 1 << 31, 1.5)], false),
        ];
        let [_, shared] = share(&device, &trees);
        let depths: Vec<usize> = trees.iter().map(HiSparse::depth).collect();
        assert_eq!(depths, [4, 4, 3, 2, 1, 7]);
        // All leaves are equal, so besides them there are only some inner nodes.
        assert!(shared[0].pool_bytes() < 10 * 4096, "{} bytes", shared[0].pool_bytes());
        share::<f64, 256>(&device, &[tree((70_000, 300), &scattered(2, 256), false)]);
        let empty = [(0, 7), (3000, 3000)].map(|shape| tree::<f64, 32>(shape, &vec![], false));
        let [_, shared] = share(&device, &empty);
        assert_eq!(shared[1].pool_bytes(), 16);
    }
}

/// Matrices with a common pool that also has nodes of absent matrices share with others.
#[test]
fn shared_matrices_share_again() {
    let entries: Entries = (0..900).map(|at| (at * 7 % 300, at * at % 400, (at % 5) as f64 - 1.0)).collect();
    let before = family::<f32, 32>((300, 400), &entries);
    let other = tree::<f32, 32>((400, 900), &entries, false);
    for DeviceUnderTest { device, .. } in devices() {
        // Uploaded one by one, each with the nodes of all.
        let [_, shared] = share(&device, &HiSparse::share_subtrees(&before).expect("shared"));
        let some = [shared[1].transpose(), device.upload(&other).expect("upload"), shared[0].clone()];
        let again = DeviceHiSparse::share_subtrees(&some).expect("shared");
        let hosts = [before[1].transpose(), other.clone(), before[0].clone()];
        let on_host = HiSparse::share_subtrees(&hosts).expect("shared");
        let after = downloaded(&again);
        check_pool(&hosts, &after);
        assert_eq!(after[0].pool().len(), on_host[0].pool().len());
        // Many times the same.
        let many = vec![again[0].clone(); 40];
        let many = downloaded(&DeviceHiSparse::share_subtrees(&many).expect("shared"));
        let alone = HiSparse::share_subtrees(&hosts[..1]).expect("shared");
        assert!(many.iter().all(|matrix| matrix.root_reference() == many[0].root_reference()));
        assert_eq!(many[39].pool().len(), alone[0].pool().len());
    }
}

#[test]
fn generated_matrices_share() {
    let stencil = Kind::Stencil5 { side: 40 };
    for DeviceUnderTest { device, .. } in devices() {
        for kind in [stencil, Kind::Rmat { scale: 9 }, Kind::Dense { rows: 70, cols: 100 }] {
            share(&device, &[generated::<f32, 32>(kind, 1), generated(kind, 1), generated(kind, 2)]);
            share(&device, &[generated::<f64, 64>(kind, 1), generated(stencil, 1)]);
        }
    }
}

fn generated<V: Value, const D: usize>(kind: Kind, seed: u64) -> HiSparse<V, D> {
    let matrix: Csr<V> = generate(kind, seed).expect("a small matrix");
    matrix.to_hisparse(hisparse::Options::default()).expect("a tree")
}

#[test]
fn shared_matrices_behave_like_others() {
    let entries: Entries = (0..5000)
        .map(|at| (at % 70, at / 70 % 70, 1.0))
        .chain((0..400).map(|at| (at * 13 % 2000, at * 31 % 1500, at as f64 / 3.0)))
        .collect();
    for DeviceUnderTest { device, .. } in devices() {
        check::<f32, 32>(&device, (2000, 1500), &entries);
        check::<f64, 64>(&device, (2000, 1500), &entries);
        check::<f64, 32>(&device, (0, 7), &vec![]);
        check::<f32, 128>(&device, (1, 1), &vec![(0, 0, -0.5)]);
        let none: Vec<DeviceHiSparse<f32>> = DeviceHiSparse::share_subtrees(&[]).expect("nothing");
        assert!(none.is_empty());
    }
}

#[test]
fn matrices_of_two_devices_do_not_share() {
    let a = tree::<f32, 32>((40, 40), &vec![(0, 0, 1.0)], false);
    let devices = [Device::cpu(), Device::simulated(evenpath::device::SimulatedOptions::default())];
    let matrices = devices.map(|device| device.upload(&a).expect("upload"));
    let error = DeviceHiSparse::share_subtrees(&matrices).expect_err("two devices");
    assert!(matches!(error, OpError::Device(_)), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn any_matrices_share((rows, cols, entries) in scattered_squares(1000..20_000, 36..48)) {
        for DeviceUnderTest { device, .. } in devices() {
            check::<f32, 32>(&device, (rows, cols), &entries);
            check::<f64, 128>(&device, (rows, cols), &entries);
        }
    }
}
