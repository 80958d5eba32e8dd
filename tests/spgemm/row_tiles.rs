//! Small products in two launches, by tiles of rows: bitwise equal to products row by row.

use evenpath::error::{DeviceError, OpError};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, Device, DeviceCsr, Offset, Value};
use evenpath_tests::kernel_devices;
use proptest::prelude::*;

use crate::spgemm::products::{banded, check_product};

/// Maximum number of products of a row in a tile of 2048 products, and in one of 4096.
const MOST_IN_ROW: [usize; 2] = [1792, 3584];
const MOST_NONZEROS: usize = 1 << 18;
const MOST_PRODUCTS: usize = 1 << 20;

fn by(method: SpgemmMethod) -> SpgemmOptions {
    SpgemmOptions::default().with_method(method)
}

fn bits<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> (Vec<O>, Vec<u32>, Vec<u64>) {
    let matrix = matrix.download().expect("download");
    let values = matrix.values().iter().map(|value| value.to_f64().to_bits()).collect();
    (matrix.row_offsets().to_vec(), matrix.column_indices().to_vec(), values)
}

fn products<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> usize {
    a.column_indices().iter().map(|&k| b.row(k as usize).expect("a row of B").len()).sum()
}

/// Bytes that a matrix holds on the device after its creation.
fn held<V: Value, O: Offset>(
    device: &Device,
    make: impl FnOnce() -> DeviceCsr<V, O>,
) -> (DeviceCsr<V, O>, u64) {
    let before = device.memory().expect("a device").in_use;
    let made = make();
    let held = device.memory().expect("a device").in_use - before;
    (made, held)
}

/// Multiplies by tiles of rows if `is_for` them, and compares with the definition and with the bits of
/// products row by row.
fn check<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, b: &Csr<V, O>, is_for: bool) {
    let (left, right) = (device.upload(a).expect("upload"), device.upload(b).expect("upload"));
    let (tiled, held) = held(device, || left.spgemm(&right, by(SpgemmMethod::RowTiles)).expect("a product"));
    check_product(device, a, b, &tiled.download().expect("download"));
    let rows = left.spgemm(&right, by(SpgemmMethod::RowWise)).expect("a product");
    let all = products(a, b);
    assert!(bits(&tiled) == bits(&rows), "{device}: {a:?} times {b:?}");
    // The result keeps memory for all products.
    let room = if is_for { all } else { tiled.nnz() };
    assert_eq!(
        held,
        (size_of::<O>() * (a.nrows() + 1) + (4 + size_of::<V>()) * room) as u64,
        "{device}: {a:?}"
    );
}

#[test]
fn rows_around_the_edges_of_tiles() {
    for device in kernel_devices() {
        let device = device.device;
        for most in MOST_IN_ROW {
            for len in [most - 1, most, most + 1] {
                let is_for = len <= MOST_IN_ROW[1];
                // A row of B, and the same row in several rows of C.
                let b: Csr<f64> = banded(5000, &[len, 1], 1);
                check(&device, &banded(2, &[1], 1), &b, is_for);
                check(&device, &banded(2, &[1, 2, 0, 1, 2, 1], 1), &b, len < MOST_IN_ROW[1]);
                // `len` products of one entry.
                let (a, b): (Csr<f32>, _) = (banded(len, &[len], 1), banded(3, &vec![1; len], 0));
                check(&device, &a, &b, is_for);
            }
        }
    }
}

#[test]
fn more_tiles_than_a_group_of_the_look_back_has() {
    for device in kernel_devices() {
        let lengths: Vec<usize> = (0..400).map(|row| [0, 40, 3, 1, 17][row % 5]).collect();
        let b: Csr<f64, u64> = banded(3000, &vec![40; 300], 7);
        check(&device.device, &banded(300, &lengths, 7), &b, true);
    }
}

#[test]
fn products_without_entries() {
    for device in kernel_devices() {
        let device = device.device;
        for (rows, inner, cols) in [(1, 0, 0), (0, 3, 2), (4, 0, 5), (3, 7, 0), (3000, 5, 2)] {
            let a = Csr::<f32>::from_triplets(rows, inner, []).expect("a matrix");
            check(&device, &a, &Csr::from_triplets(inner, cols, []).expect("a matrix"), true);
        }
        // Entries of A that select empty rows of B: more than a block processes at a time, and more than are
        // examined.
        for (entries, is_for) in [(5000, true), (9000, false)] {
            let a: Csr<f64> = banded(entries, &[3, entries, 0, 2], 1);
            let b =
                Csr::from_triplets(entries, 4, [(2, 1, 1.0), (entries - 1, 3, 2.0), (entries - 1, 0, 0.5)]);
            check(&device, &a, &b.expect("a matrix"), is_for);
        }
    }
}

/// Rows without entries at the start, at the end, and as many as several tiles have in between.
#[test]
fn many_empty_rows() {
    for device in kernel_devices() {
        let mut lengths = vec![0; 9000];
        for row in [4, 4000, 4001, 8990] {
            lengths[row] = 30;
        }
        let b: Csr<f64> = banded(90, &vec![45; 60], 1);
        check(&device.device, &banded(60, &lengths, 1), &b, true);
    }
}

/// Columns that differ in all their bits, beside rows that take more bits.
#[test]
fn keys_of_all_widths() {
    for device in kernel_devices() {
        let far = u32::MAX as usize;
        let entries =
            (0..200).flat_map(|row| [(row, 0, 1.0), (row, row + 1, 2.0), (row, far - 1 - row, 3.0)]);
        let b: Csr<f32, u64> =
            Csr::from_triplets(200, far, entries).expect("a matrix").try_into_offsets().expect("few entries");
        check(&device.device, &banded(200, &[5; 500], 3), &b, true);
        // One row and one column: keys of no bits.
        let one = Csr::<f32>::from_triplets(1, 1, [(0, 0, 3.0)]).expect("a matrix");
        check(&device.device, &one, &one, true);
    }
}

/// Products with more nonzeros, rows or products are not computed by tiles.
#[test]
fn the_limits() {
    for device in kernel_devices() {
        let (device, fast) = (device.device, device.fast);
        // Most rows of B are empty, so that there is little to multiply, except for a row of A with two
        // products of one entry.
        let b: Csr<f32> = Csr::from_triplets(64, 9, [(3, 1, 1.0), (60, 1, 2.0)]).expect("a matrix");
        for more in [0, 1] {
            let mut lengths = vec![32; MOST_NONZEROS / 32 - 1];
            lengths.push(32 + more);
            lengths[5] = 64;
            lengths[6] = 0;
            check(&device, &banded(64, &lengths, 1), &b, more == 0);
            let mut lengths = [1, 0, 1].repeat(MOST_NONZEROS / 3);
            lengths.resize(MOST_NONZEROS + more, 0);
            lengths[5] = 64;
            check(&device, &banded(64, &lengths, 1), &b, more == 0);
        }
        for (rows, is_for) in [(MOST_PRODUCTS / 1024, true), (MOST_PRODUCTS / 1024 + 1, false)] {
            if fast {
                let b: Csr<f64> = banded(900, &[32; 32], 9);
                check(&device, &banded(32, &vec![32; rows], 1), &b, is_for);
            }
        }
    }
}

/// By default small products use tiles of rows, and plans give the same bits; results with other row offsets
/// do not.
#[test]
fn the_default() {
    for device in kernel_devices() {
        let device = device.device;
        // Row by row, each of the 300 rows of B would wait for the previous one: larger products of this kind
        // are sorted.
        let host: Csr<f64> = banded(300, &[300, 2, 0, 7], 1);
        let (a, b) = (device.upload(&host), device.upload(&banded::<f64, u32>(400, &[2; 300], 5)));
        let (a, b) = (a.expect("upload"), b.expect("upload"));
        let plan = a.plan_spgemm(&b, SpgemmOptions::default()).expect("a plan");
        let expected = bits(&a.spgemm(&b, SpgemmOptions::default()).expect("a product"));
        assert!(expected == bits(&plan.run().expect("a product")), "{device}");
        assert!(expected == bits(&plan.run().expect("a product")), "{device}");
        assert_eq!(plan.info().expect("figures").method, SpgemmMethod::RowWise);
        let wide =
            a.spgemm_with_offsets::<u64>(&b, by(SpgemmMethod::RowTiles)).expect("a product").download();
        assert_eq!(wide.expect("download").column_indices(), expected.1);
    }
}

/// Every launch leaves a clean state for the next, whose tiles are more or fewer; sums of matrices use the
/// same states.
#[test]
fn products_of_different_sizes_take_turns() {
    for device in kernel_devices() {
        for size in [1, 300, 20, 700, 0, 90, 300] {
            let lengths: Vec<usize> = (0..size).map(|row| row * 7 % 23).collect();
            let a: Csr<f32> = banded(50, &lengths, 1);
            check(&device.device, &a, &banded(60, &[30; 50], 1), true);
            let a = device.device.upload(&a).expect("upload");
            let sum = a.spadd(1.0, &a, 1.0).expect("a sum");
            assert_eq!(sum.nnz(), a.nnz());
        }
    }
}

#[test]
fn products_on_several_streams_and_threads() {
    for device in kernel_devices() {
        let device = device.device;
        let lengths: Vec<usize> = (0..500).map(|row| row * 5 % 13).collect();
        let a: Csr<f64> = banded(90, &lengths, 1);
        let (a, b) = (device.upload(&a).expect("upload"), device.upload(&banded(200, &[11; 90], 3)));
        let b = b.expect("upload");
        let product = || bits(&a.spgemm(&b, SpgemmOptions::default()).expect("a product"));
        let expected = product();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let stream = device.stream().expect("a stream");
                    for _ in 0..3 {
                        assert!(stream.scope(product) == expected && product() == expected, "{device}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_graph_has_no_products() {
    for device in kernel_devices() {
        let device = device.device;
        let a: Csr<f64> = banded(30, &[4; 30], 1);
        let a = device.upload(&a).expect("upload");
        for _ in 0..2 {
            let refused = device.capture((), |()| a.spgemm(&a, SpgemmOptions::default()).map(drop));
            assert!(matches!(refused, Err(OpError::Device(DeviceError::Capture { .. }))), "{device}");
            assert!(a.spgemm(&a, SpgemmOptions::default()).expect("a product").nnz() > 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_matrices(
        (rows, inner, cols) in (1..120_usize, 1..60_usize, 1..3000_usize),
        entries in prop::collection::vec((any::<u16>(), any::<u16>(), -2.0..2.0_f64), 0..700),
        more in prop::collection::vec((any::<u16>(), any::<u16>(), -2.0..2.0_f64), 0..700),
    ) {
        let of = |rows: usize, cols: usize, entries: &[(u16, u16, f64)]| {
            let entries = entries.iter().map(|&(row, col, value)| (row as usize % rows, col as usize % cols, value));
            Csr::<f64>::from_triplets(rows, cols, entries).expect("a matrix")
        };
        let (a, b) = (of(rows, inner, &entries), of(inner, cols, &more));
        for device in kernel_devices() {
            check(&device.device, &a, &b, true);
        }
    }
}
