//! HiSparse matrices that share subtrees.

use evenpath::error::OpError;
use evenpath::hisparse::{DeviceHiSparse, HiSparseOptions, HiSparseQueuedOptions, HiSparseSpmvOptions};
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
    matrix.to_hisparse(HiSparseOptions::default().with_share(is_shared)).expect("a tree")
}

fn sorted<V: Value, const D: usize>(matrix: &HiSparse<V, D>) -> Triplets<V> {
    let mut entries: Triplets<V> = matrix.iter().collect();
    entries.sort_by_key(|&(row, col, _)| (row, col));
    entries
}

/// Matrices that have subtrees in common: some entries, these with one more or at other places, their transpose, and others.
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

/// The matrices are as before, valid, and in one pool that is no larger than it must be.
fn check_pool<V: Value, const D: usize>(before: &[HiSparse<V, D>], after: &[HiSparse<V, D>]) {
    assert_eq!(before.len(), after.len());
    let bytes: usize = before.iter().map(|matrix| matrix.pool().len() - 16).sum();
    for (before, shared) in before.iter().zip(after) {
        let (after, pool) = (shared, after[0].pool());
        assert!(after.pool() == pool, "one pool");
        assert_eq!((before.rows(), before.cols(), before.nnz()), (after.rows(), after.cols(), after.nnz()));
        assert_eq!(
            (before.is_transposed(), before.scale()),
            (after.is_transposed(), after.scale()),
            "state is kept"
        );
        assert_eq!(sorted(before), sorted(after));
        assert!(after.pool().len() <= 16 + bytes);
        let (rows, cols) =
            if after.is_transposed() { (after.cols(), after.rows()) } else { (after.rows(), after.cols()) };
        HiSparse::<V, D>::try_from_pool(rows, cols, after.pool(), after.root_reference()).expect("valid");
    }
}

/// Operations on shared matrices give what they give on others.
fn check_operations<V: Value, const D: usize>(
    device: &Device,
    plain: &DeviceHiSparse<V, D>,
    shared: &DeviceHiSparse<V, D>,
) {
    let x: Vec<V> = (0..plain.cols()).map(|at| V::from_f64((at % 7) as f64 - 2.0)).collect();
    let x = device.upload(&x).expect("upload");
    let queued = HiSparseQueuedOptions::default();
    let results = [plain, shared].map(|a| {
        let mut y = device.zeros::<V>(a.rows()).expect("zeros");
        let plan = a.plan_spmv(HiSparseSpmvOptions::default()).expect("a plan");
        plan.run(V::ONE, &x, V::ZERO, &mut y).expect("a product");
        let sum = a.add(&a.scaled(V::from_f64(2.0))).expect("a sum").download().expect("download");
        let diagonal = a.diagonal(queued).expect("a diagonal").download().expect("download");
        let csr = a.to_csr::<u32>().expect("a conversion").download().expect("download");
        (y.download().expect("download"), sorted(&sum), diagonal, csr)
    });
    assert!(results[0] == results[1], "{plain:?} and {shared:?}");
}

fn check<V: Value, const D: usize>(device: &Device, shape: (usize, usize), entries: &Entries) {
    let before = family::<V, D>(shape, entries);
    check_pool(&before, &HiSparse::share_subtrees(&before).expect("shared"));
    let uploaded: Vec<_> = before.iter().map(|matrix| device.upload(matrix).expect("upload")).collect();
    let shared = DeviceHiSparse::share_subtrees(&uploaded).expect("shared");
    let after: Vec<_> = shared.iter().map(|matrix| matrix.download().expect("download")).collect();
    check_pool(&before, &after);
    for (plain, shared) in uploaded.iter().zip(&shared) {
        assert_eq!(shared.pool_bytes(), after[0].pool().len() as u64);
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

/// Values that are equal but have other bits are no equal leaves.
#[test]
fn signs_of_zeros_are_kept() {
    let matrices = [0.0, -0.0].map(|value| tree::<f64, 32>((2, 2), &vec![(0, 1, value), (1, 1, 1.0)], false));
    let shared = HiSparse::share_subtrees(&matrices).expect("shared");
    assert_ne!(shared[0].root_reference(), shared[1].root_reference());
    let signs = [0, 1].map(|at| shared[at].get(0, 1).expect("an entry").is_sign_negative());
    assert_eq!(signs, [false, true]);
}

#[test]
fn shared_matrices_are_used_as_others() {
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
fn matrices_of_two_devices_share_nothing() {
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
