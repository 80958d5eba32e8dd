//! Invalid pools: every error, and arbitrary bytes without a panic.

use evenpath::device::SimulatedOptions;
use evenpath::error::MatrixError;
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{self, NodeFault, NodeKind};
use evenpath::{Csr, Device, HiSparse};
use proptest::prelude::*;

type Matrix = HiSparse<f32, 32>;

fn convert(a: &Csr<f32>) -> Matrix {
    a.to_hisparse(hisparse::Options::default()).expect("a small matrix")
}

/// Three entries in one leaf of a 40 x 40 matrix: root at unit 1, leaf at units 2 and 3.
fn small() -> Matrix {
    convert(&Csr::from_triplets(40, 40, [(0, 0, 1.0), (0, 5, 2.0), (3, 1, 3.0)]).unwrap())
}

fn fault(pool: &[u8], root: u32) -> NodeFault {
    fault_of(Matrix::try_from_pool(40, 40, pool, root))
}

fn fault_of(result: Result<Matrix, MatrixError>) -> NodeFault {
    match result {
        Err(MatrixError::HiSparseNode(node)) => node.fault,
        other => panic!("{other:?}"),
    }
}

fn changed(at: usize, byte: u8) -> NodeFault {
    let matrix = small();
    let mut pool = matrix.pool().to_vec();
    pool[at] = byte;
    fault(&pool, matrix.root_reference())
}

#[test]
fn every_error_is_named() {
    let matrix = small();
    let (pool, root) = (matrix.pool(), matrix.root_reference());
    assert_eq!((pool.len(), root), (64, 4 | NodeKind::Coo1 as u32));
    // The root: its count, the column and row of its entry, padding, the reference.
    assert_eq!(&pool[16..28], [1, 0, 0, 0, 0, 0, 0, 0, 8 | NodeKind::Coo4 as u8, 0, 0, 0]);
    assert_eq!(changed(16, 0), NodeFault::Empty);
    assert_eq!(changed(16, 2), NodeFault::Kind { count: 2, found: NodeKind::Coo1, expected: NodeKind::Coo2 });
    assert_eq!(changed(20, 32), NodeFault::OutsideNode { entry: 0, row: 0, col: 32, size: 32 });
    assert_eq!(changed(21, 2), NodeFault::OutsideMatrix { row: 2, col: 0 });
    assert_eq!(changed(22, 1), NodeFault::Padding { byte: 6 });
    assert_eq!(changed(24, 0), NodeFault::NullChild { entry: 0 });
    assert_eq!(changed(24, 1), NodeFault::Reserved);
    assert_eq!(changed(24, 4 | 1), NodeFault::Overlap { other: 16 });
    assert_eq!(changed(24, 8), NodeFault::OutsidePool { bytes: 4096, pool: 64 });
    assert_eq!(changed(24, 16), NodeFault::OutsidePool { bytes: 1, pool: 64 });
    // The leaf: its count, three entries, padding, three values, padding.
    assert_eq!(&pool[32..42], [3, 0, 0, 0, 0, 0, 5, 0, 1, 3]);
    assert_eq!(changed(38, 0), NodeFault::NotAscending { entry: 1 });
    assert_eq!(changed(47, 1), NodeFault::Padding { byte: 15 });
    assert_eq!(changed(63, 1), NodeFault::Padding { byte: 31 });
    assert_eq!(
        changed(34, 1),
        NodeFault::Kind { count: 65539, found: NodeKind::Coo4, expected: NodeKind::Dense }
    );
    assert_eq!(fault(&pool[..48], root), NodeFault::OutsidePool { bytes: 32, pool: 48 });

    let refused = |pool: &[u8]| Matrix::try_from_pool(40, 40, pool, root).unwrap_err();
    assert_eq!(refused(&pool[..50]), MatrixError::PoolLength { bytes: 50 });
    assert_eq!(refused(&[]), MatrixError::PoolLength { bytes: 0 });
    assert!(matches!(Matrix::try_from_pool(1 << 32, 1, pool, root), Err(MatrixError::TooManyRows { .. })));
    let mut pool = pool.to_vec();
    pool[38] = 0;
    assert_eq!(
        refused(&pool).to_string(),
        "node at byte 32 of the pool, in level 1, at row 0 and column 0: entry 1 does not come after the one before it"
    );
}

/// A dense leaf with an entry beyond the last row, or with too few.
#[test]
fn dense_leaves_are_checked() {
    let full: Csr<f32> = generate(Kind::Dense { rows: 30, cols: 30 }, 1).unwrap();
    let matrix = convert(&full);
    assert_eq!((matrix.pool().len(), matrix.root_reference()), (16 + 4096, 4));
    let mut pool = matrix.pool().to_vec();
    let beyond = 16 + (30 * 32 + 4) * 4;
    pool[beyond] = 1;
    assert!(matches!(
        fault_of(Matrix::try_from_pool(30, 30, &pool, 4)),
        NodeFault::OutsideMatrix { row: 30, col: 4 }
    ));
    let zeros = vec![0; pool.len()];
    assert!(matches!(fault_of(Matrix::try_from_pool(30, 30, &zeros, 4)), NodeFault::Empty));
}

/// A shared child is also checked where it crosses the edge of the matrix.
#[test]
fn shared_nodes_are_checked_at_the_edge() {
    let a: Csr<f32> = Csr::from_triplets(64, 64, [(20, 0, 1.0), (52, 32, 1.0)]).unwrap();
    let shared: Matrix = a.to_hisparse(hisparse::Options::default().with_share(true)).unwrap();
    assert_eq!(shared.pool().len(), 16 + 16 + 16);
    let (pool, root) = (shared.pool(), shared.root_reference());
    assert_eq!(Matrix::try_from_pool(64, 64, pool, root).unwrap().nnz(), 2);
    assert_eq!(Matrix::try_from_pool(53, 33, pool, root).unwrap().nnz(), 2);
    assert!(matches!(
        fault_of(Matrix::try_from_pool(52, 64, pool, root)),
        NodeFault::OutsideMatrix { row: 20, .. }
    ));
}

/// The unit at which a level begins in [`full_levels`].
fn unit_of(level: u32) -> u32 {
    1 + 256 * level
}

/// A pool with one full node per level, whose children are all the next node; the last node is a leaf of
/// ones.
fn full_levels(levels: u32) -> Vec<u8> {
    let mut pool = vec![0_u8; 16];
    for level in 0..levels {
        let slot = if level + 1 == levels { 1.0_f32.to_bits() } else { unit_of(level + 1) << 2 };
        pool.extend((0..1024).flat_map(|_| slot.to_le_bytes()));
    }
    pool
}

/// A tiny pool whose nodes share all children describes a huge matrix, which is not traversed leaf by leaf.
#[test]
fn shared_children_do_not_multiply_work() {
    // 1024⁶ positions of leaves in 25 KB.
    let mut pool = full_levels(7);
    let side = evenpath::csr::MAX_DIMENSION;
    // The edge of a matrix of 2³² - 1 rows cuts a node: the last row's children would be outside.
    assert!(matches!(Matrix::try_from_pool(side, side, &pool, 4), Err(MatrixError::HiSparseNode(_))));
    // Of four levels, the last four.
    let side = 1 << 20;
    let places = 1_u64 << 30;
    let matrix = Matrix::try_from_pool_with_limit(side, side, &pool, unit_of(3) << 2, u64::MAX);
    assert_eq!(matrix.unwrap().nnz() as u64, places * 1024);
    let side = 1 << 25;
    let refused = Matrix::try_from_pool(side, side, &pool, unit_of(2) << 2);
    assert_eq!(refused.unwrap_err(), MatrixError::TooManyLeaves { leaves: places * 1024, limit: places });
    // Nine subtrees of six levels, whose bytes exceed 64 bits.
    let root = pool.len() as u32 / 16;
    pool.extend([9, 0, 0, 0]);
    pool.extend((0..9).flat_map(|at| [at % 3, at / 3]));
    pool.resize(16 * root as usize + 32, 0);
    pool.extend((0..9).flat_map(|_| (unit_of(1) << 2).to_le_bytes()));
    pool.resize(16 * root as usize + 80, 0);
    let side = evenpath::csr::MAX_DIMENSION;
    let refused = Matrix::try_from_pool(side, side, &pool, root << 2 | NodeKind::Coo4 as u32);
    let leaves = 9 * places * 1024 * 1024;
    assert_eq!(refused.unwrap_err(), MatrixError::TooManyLeaves { leaves, limit: places });
}

/// Four levels in 16 KB have a trillion entries, too many to traverse.
#[test]
fn entries_of_shared_nodes_are_limited() {
    let (pool, side) = (full_levels(4), 1 << 20);
    assert_eq!(pool.len(), 16_400);
    let refused = Matrix::try_from_pool(side, side, &pool, 4).unwrap_err();
    assert_eq!(refused, MatrixError::TooManyEntries { entries: 1 << 40, limit: 1 << 27 });
    assert!(refused.to_string().ends_with("raise it with HiSparse::try_from_pool_with_limit"), "{refused}");

    // The largest matrix within the limit.
    let (pool, side) = (full_levels(2), 1 << 10);
    let limited = |limit| Matrix::try_from_pool_with_limit(side, side, &pool, 4, limit);
    let refused = limited((1 << 20) - 1).unwrap_err();
    assert_eq!(refused, MatrixError::TooManyEntries { entries: 1 << 20, limit: (1 << 20) - 1 });
    let full = limited(1 << 20).unwrap();
    assert_eq!(full.to_csr().unwrap().nnz(), 1 << 20);
    let mut y = vec![7.0; side];
    full.spmv(2.0, &vec![1.0; side], 0.0, &mut y).unwrap();
    assert_eq!(y, vec![2048.0; side]);
    let sum = full.spadd(&full.transpose()).unwrap();
    assert_eq!((sum.nnz(), sum.get(5, 1000)), (1 << 20, Some(2.0)));
}

/// If the caller has raised the limit, a matrix that does not fit in a device is an error. (`sizes` tests the
/// host.)
#[test]
fn operations_on_immense_matrices_are_errors() {
    let (pool, side) = (full_levels(4), 1 << 20);
    let immense = Matrix::try_from_pool_with_limit(side, side, &pool, 4, u64::MAX).unwrap();
    assert!(matches!(immense.to_csr(), Err(MatrixError::OffsetOverflow { .. })));
    let simulated = Device::simulated(SimulatedOptions::default().with_memory_bytes(1 << 22));
    let on_device = simulated.upload(&immense).unwrap();
    assert!(on_device.to_csr().is_err() && on_device.to_csr_with_offsets::<u64>().is_err());
    assert!(on_device.to_coo().is_err());
    assert!(on_device.plan_spmv(hisparse::SpmvOptions::default()).is_err());
    assert!(on_device.plan_spmm(hisparse::SpmmOptions::default()).is_err());
    assert!(on_device.spadd(&on_device.transpose(), hisparse::SpaddOptions::default()).is_err());
    assert!(on_device.spgemm(&on_device, hisparse::SpgemmOptions::default()).is_err());
}

fn shape() -> impl Strategy<Value = Csr<f32>> {
    prop_oneof![
        Just(Kind::Uniform { rows: 100 }),
        Just(Kind::PowerLaw { rows: 1500 }),
        Just(Kind::Dense { rows: 40, cols: 1030 }),
        Just(Kind::Stencil5 { side: 12 }),
    ]
    .prop_map(|kind| generate(kind, 5).unwrap())
}

/// Traverses an accepted matrix, and checks that every entry is inside.
fn walk(rows: usize, cols: usize, pool: &[u8], root: u32) -> Result<(), TestCaseError> {
    let Ok(matrix) = Matrix::try_from_pool(rows, cols, pool, root) else { return Ok(()) };
    let mut entries = 0;
    for (row, col, _) in matrix.iter().take(100_000) {
        prop_assert!(row < rows && col < cols);
        entries += 1;
    }
    prop_assert_eq!(entries, matrix.nnz().min(100_000));
    if matrix.nnz() < 100_000 {
        prop_assert_eq!(matrix.to_csr().unwrap().nnz(), matrix.nnz());
        let mut y = vec![0.0; cols];
        matrix.transpose().spmv(1.0, &vec![1.0; rows], 0.0, &mut y).unwrap();
        prop_assert_eq!(matrix.spadd(&matrix).unwrap().nnz(), matrix.nnz());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn changed_pools_are_refused_or_matrices(
        a in shape(),
        changes in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 1..4),
        near_root in any::<bool>(),
    ) {
        let matrix = convert(&a);
        let mut pool = matrix.pool().to_vec();
        let len = if near_root { pool.len().min(200) } else { pool.len() };
        for (at, byte) in changes {
            pool[(at * len as f64) as usize] = byte;
        }
        walk(a.nrows(), a.ncols(), &pool, matrix.root_reference())?;
    }

    #[test]
    fn any_bytes_are_refused_or_a_matrix(
        units in prop::collection::vec(prop::array::uniform4(prop_oneof![0..40_u32, any::<u32>()]), 1..60),
        root in 0..240_u32,
        rows in 0..5000_usize,
        cols in 0..5000_usize,
    ) {
        let pool: Vec<u8> = units.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        walk(rows, cols, &pool, root)?;
    }
}
