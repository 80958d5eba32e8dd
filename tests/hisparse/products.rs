//! Products of HiSparse matrices on every present device, and on the host, compared with products in CSR.

use std::collections::BTreeSet;

use evenpath::device::SimulatedOptions;
use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, HiSparse, Value};
use evenpath_kernels::hisparse::product::{HiSparseCountPairs, HiSparseListPairs};
use evenpath_tests::{Entries, devices, kernel_devices, tile_len};
use proptest::prelude::*;

const METHODS: [hisparse::SpgemmMethod; 3] =
    [hisparse::SpgemmMethod::Leaves, hisparse::SpgemmMethod::Rows, hisparse::SpgemmMethod::Auto];

fn csr<V: Value>(rows: usize, cols: usize, entries: &Entries) -> Csr<V> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(rows, cols, entries).expect("entries inside")
}

/// A matrix, stored as given or with its transpose stored.
fn tree<V: Value, const D: usize>(
    matrix: &Csr<V>,
    is_turned: bool,
    options: hisparse::Options,
) -> HiSparse<V, D> {
    let stored = |matrix: &Csr<V>| matrix.to_hisparse(options).expect("a small matrix");
    if is_turned { stored(&matrix.transpose().expect("memory")).transpose() } else { stored(matrix) }
}

/// Checks that a product has exactly the expected entries, and that its pool equals that of a conversion.
fn check<V: Value, const D: usize>(found: &HiSparse<V, D>, expected: &Csr<V>, what: &str) {
    let entries: Csr<V> = found.to_csr().expect("CSR");
    assert_eq!(&entries, expected, "{what}, D = {D}");
    assert_eq!(found.nnz(), expected.nnz(), "{what}, D = {D}");
    assert_eq!(found.scale(), V::ONE);
    let content = if found.is_transposed() { entries.transpose().expect("memory") } else { entries };
    let converted: HiSparse<V, D> = content.to_hisparse(plain()).expect("a small matrix");
    assert_eq!(found.pool(), converted.pool(), "{what}, D = {D}");
    assert_eq!(found.root_reference(), converted.root_reference(), "{what}, D = {D}");
}

/// The product of A and B, transposed or not, scaled or not, by every method. Values are small integers and factors
/// powers of two, so that nothing is rounded.
fn check_products<V: Value, const D: usize>(device: &Device, a: &Csr<V>, b: &Csr<V>) {
    let product = a.spgemm(b).expect("a product");
    let scaled = Csr::try_new(
        product.nrows(),
        product.ncols(),
        product.row_offsets().to_vec(),
        product.column_indices().to_vec(),
        product.values().iter().map(|&value| V::from_f64(-1.0) * value).collect(),
    )
    .expect("the same pattern");
    for (a_turned, b_turned) in [(false, false), (false, true), (true, false), (true, true)] {
        let a = tree::<V, D>(a, a_turned, plain());
        let b = tree::<V, D>(b, b_turned, share());
        let what = format!("{device}, {a:?} times {b:?}");
        check(&a.spgemm(&b).expect("a product"), &product, &what);
        let upload = |matrix: &HiSparse<V, D>| device.upload(matrix).expect("upload");
        let (a, b) = (upload(&a), upload(&b));
        let download = |product: DeviceHiSparse<V, D>| product.download().expect("download");
        // By rows, all states are treated alike.
        let methods = if a_turned || b_turned { &METHODS[..1] } else { &METHODS };
        for &method in methods {
            let found = download(
                a.spgemm(&b, hisparse::SpgemmOptions::default().with_method(method)).expect("a product"),
            );
            check(&found, &product, &format!("{what}, {method:?}"));
        }
        let (a, b) = (a.scaled(V::from_f64(-2.0)), b.scaled(V::from_f64(0.5)));
        let method = hisparse::SpgemmMethod::Leaves;
        check(
            &download(
                a.spgemm(&b, hisparse::SpgemmOptions::default().with_method(method)).expect("a product"),
            ),
            &scaled,
            &what,
        );
    }
}

fn check_all(device: &Device, (rows, inner, cols): (usize, usize, usize), a: &Entries, b: &Entries) {
    check_products::<f32, 32>(device, &csr(rows, inner, a), &csr(inner, cols, b));
    check_products::<f64, 64>(device, &csr(rows, inner, a), &csr(inner, cols, b));
    check_products::<f64, 128>(device, &csr(rows, inner, a), &csr(inner, cols, b));
    check_products::<f32, 256>(device, &csr(rows, inner, a), &csr(inner, cols, b));
}

/// A square of entries: small integers of either sign, some of them zero.
fn square((row, col): (usize, usize), side: usize, (rows, cols): (usize, usize)) -> Entries {
    let place = move |row: usize| (col..cols.min(col + side)).map(move |col| (row, col));
    let value = |(row, col): (usize, usize)| (row, col, ((row * 5 + col * 3) % 7) as f64 - 3.0);
    (row..rows.min(row + side)).flat_map(place).map(value).collect()
}

/// Pieces of a matrix, each with position and width.
fn pieces() -> impl Strategy<Value = Vec<(f64, f64, usize)>> {
    let side = prop_oneof![6 => 1..3_usize, 2 => 3..20_usize, 1 => 36..48_usize];
    prop::collection::vec((0.0..1.0, 0.0..1.0, side), 0..12)
}

fn entries((rows, cols): (usize, usize), pieces: &[(f64, f64, usize)]) -> Entries {
    let at = |share: f64, len: usize| (share * len as f64) as usize;
    let squares = pieces.iter();
    squares.flat_map(|&(row, col, side)| square((at(row, rows), at(col, cols)), side, (rows, cols))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn products_equal_those_of_rows(
        (rows, inner, cols) in {
            let len = || prop_oneof![0..4_usize, 30..34_usize, 120..135_usize, 250..520_usize, 1000..40_000_usize];
            (len(), len(), len())
        },
        a in pieces(),
        b in pieces(),
    ) {
        let (a, mut b) = (entries((rows, inner), &a), entries((inner, cols), &b));
        // B has rows for the columns of A.
        b.extend(a.iter().step_by(3).filter(|_| cols > 0).map(|&(row, col, _)| (col, row * 7 % cols.max(1), 2.0)));
        for device in devices() {
            check_all(&device.device, (rows, inner, cols), &a, &b);
        }
    }
}

/// Dense and sparse leaves on each side, in several leaves at once, with products that need more sums than
/// there is room for.
#[test]
fn every_pair_of_leaves() {
    let side = 300;
    let scattered = |step: usize| -> Entries {
        (0..side * 3).step_by(step).map(|at| (at * 7 % side, at * 11 % side, (at % 5) as f64 - 2.0)).collect()
    };
    let matrices =
        [scattered(1), scattered(7), square((0, 0), 33, (side, side)), square((100, 20), 70, (side, side))];
    for device in devices() {
        for a in &matrices {
            for b in &matrices {
                check_products::<f64, 32>(&device.device, &csr(side, side, a), &csr(side, side, b));
            }
            check_products::<f32, 128>(&device.device, &csr(side, side, a), &csr(side, side, &matrices[3]));
        }
    }
}

/// More sums than shared memory has room for, in a sparse and in a dense leaf of C.
#[test]
fn large_leaves() {
    for device in devices() {
        for len in [100, 128] {
            // An outer product of two columns and two rows.
            let a: Entries = (0..128).flat_map(|row| [(row, 3, row as f64 - 9.0), (row, 90, 2.0)]).collect();
            let b: Entries = (0..len).flat_map(|col| [(3, col, 1.0), (90, col, col as f64)]).collect();
            check_products::<f64, 128>(&device.device, &csr(128, 128, &a), &csr(128, 128, &b));
            check_products::<f32, 256>(&device.device, &csr(128, 200, &a), &csr(200, 130, &b));
        }
    }
}

/// Leaves that match without matching entries; and entries that cancel, but stay stored.
#[test]
fn nothing_and_zero_differ() {
    let missing = ((9, 300), vec![(3, 7, 1.0), (3, 290, 2.0)], vec![(8, 3, 4.0), (289, 250, 1.0)]);
    let cancelled = ((9, 300), vec![(3, 7, 1.0), (3, 290, 1.0)], vec![(7, 250, 4.0), (290, 250, -4.0)]);
    for device in devices() {
        for ((rows, side), a, b) in [missing.clone(), cancelled.clone()] {
            check_all(&device.device, (rows, side, side), &a, &b);
            // One leaf of C is empty, another is not.
            let mut more = b.clone();
            more.push((7, 1, 1.0));
            check_all(&device.device, (rows, side, side), &a, &more);
        }
        let full: Entries =
            square((0, 0), 64, (64, 64)).into_iter().map(|(row, col, _)| (row, col, 1.0)).collect();
        let signs =
            full.iter().map(|&(row, col, _)| (row, col, if row % 2 == 0 { 1.0 } else { -1.0 })).collect();
        check_products::<f32, 64>(&device.device, &csr(64, 64, &full), &csr(64, 64, &signs));
    }
}

#[test]
fn empty_matrices() {
    for device in devices() {
        for shape in [(0, 0, 0), (0, 9, 300), (300, 0, 9), (9, 300, 0), (5, 700, 5)] {
            check_all(&device.device, shape, &Entries::new(), &Entries::new());
        }
        check_all(&device.device, (5, 700, 5), &vec![(1, 600, 1.0)], &Entries::new());
    }
}

/// Numbers of leaves and pairs at the edges of tiles: a column of leaves times a row of leaves.
#[test]
fn tiles_have_edges() {
    for device in devices() {
        for len in BTreeSet::from([tile_len::<HiSparseCountPairs>(), tile_len::<HiSparseListPairs<u32>>()]) {
            for len in [len - 1, len, len + 1] {
                let a: Entries =
                    (0..len).map(|leaf| (32 * leaf + leaf % 32, 5, 1.0 + (leaf % 3) as f64)).collect();
                let (a, b) = (csr::<f32>(32 * len, 8, &a), csr::<f32>(8, 8, &vec![(5, 5, 2.0), (5, 1, 1.0)]));
                check_products::<f32, 32>(&device.device, &a, &b);
                check_products::<f32, 32>(
                    &device.device,
                    &b.transpose().expect("memory"),
                    &a.transpose().expect("memory"),
                );
            }
        }
    }
}

/// Trees of seven levels, whose paths take 54 bits.
#[test]
fn the_deepest_trees() {
    let side = evenpath::csr::MAX_DIMENSION;
    // The CPU converts COO through row offsets, for which there is not enough memory.
    for device in kernel_devices() {
        let coo = evenpath::Coo::from_triplets(
            side,
            side,
            (0..200_usize).map(|at| (at * 10_737_418, (199 - at) * 10_737_418, (at % 9) as f64 - 4.0)),
        )
        .expect("entries inside");
        let a: DeviceHiSparse<f64, 32> =
            device.device.upload(&coo).expect("upload").to_hisparse(plain()).expect("a tree");
        let host = a.download().expect("download");
        for (a, host) in [(a.clone(), host.clone()), (a.transpose(), host.transpose())] {
            let found = a
                .spgemm(&a, hisparse::SpgemmOptions::default())
                .expect("a product")
                .download()
                .expect("download");
            let by_host = host.spgemm(&host).expect("a product");
            let sorted = |matrix: &HiSparse<f64, 32>| {
                let mut entries: Vec<_> =
                    matrix.iter().map(|(row, col, value)| (row, col, value as i64)).collect();
                entries.sort_unstable();
                entries
            };
            // The matrix maps `at` to 199 − `at` and back.
            let value = |at: usize| (at % 9) as i64 - 4;
            let place = |at: usize| at * 10_737_418;
            let expected: Vec<_> =
                (0..200).map(|at| (place(at), place(at), value(at) * value(199 - at))).collect();
            assert_eq!(sorted(&found), expected, "{}", device.device);
            assert_eq!(sorted(&by_host), expected);
            assert_eq!(found.pool(), by_host.pool());
        }
    }
}

#[test]
fn products_are_the_same_in_every_run() {
    for device in devices() {
        let value = |at: usize| (at as f64 * 0.754_877_666).fract() - 0.5;
        let a: Entries = (0..6000).map(|at| (at * 37 % 400, at * 61 % 400, value(at))).collect();
        let a = device.device.upload(&tree::<f32, 128>(&csr(400, 400, &a), false, plain())).expect("upload");
        for b in [a.clone(), a.transpose()] {
            let run = || {
                a.spgemm(&b, hisparse::SpgemmOptions::default())
                    .expect("a product")
                    .download()
                    .expect("download")
                    .pool()
                    .to_vec()
            };
            assert_eq!(run(), run(), "{}", device.device);
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let a = tree::<f64, 128>(&csr(3, 2, &vec![(0, 1, 1.0)]), false, plain());
    let refused = a.spgemm(&a).expect_err("shapes differ");
    assert!(
        matches!(refused, OpError::Shape { operand: "B", rows: 3, cols: 2, needed_rows: 2, needed_cols: 2 }),
        "{refused}"
    );
    assert!(matches!(&a * &a, Err(OpError::Shape { .. })));
    assert_eq!((&a * &a.transpose()).expect("a product").get(0, 0), Some(1.0));
    for device in devices() {
        let uploaded = device.device.upload(&a).expect("upload");
        assert!(matches!(
            uploaded.spgemm(&uploaded, hisparse::SpgemmOptions::default()),
            Err(OpError::Shape { .. })
        ));
        let other = Device::simulated(SimulatedOptions::default());
        let elsewhere = other.upload(&a.transpose()).expect("upload");
        assert!(matches!(
            uploaded.spgemm(&elsewhere, hisparse::SpgemmOptions::default()),
            Err(OpError::Device(_))
        ));
    }
}

fn plain() -> hisparse::Options {
    hisparse::Options::default().with_share(false)
}

fn share() -> hisparse::Options {
    hisparse::Options::default().with_share(true)
}
