//! Conversion and sums of HiSparse matrices on every device that is present, against the host's to the last byte.

use evenpath::{Coo, Csr, Device, DeviceHiSparse, HiSparse, HiSparseOptions, Value};
use evenpath_kernels::hisparse::{HiSparseCountNodes, HiSparseCountRuns, HiSparseFillLeaves};
use evenpath_tests::{devices, tile_len};
use proptest::prelude::*;

type Entries = Vec<(usize, usize, f64)>;

const PLAIN: HiSparseOptions = HiSparseOptions { share: false };
const SHARE: HiSparseOptions = HiSparseOptions { share: true };

fn csr<V: Value>(rows: usize, cols: usize, entries: &Entries) -> Csr<V> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(rows, cols, entries).expect("entries inside")
}

fn on_host<V: Value, const D: usize>(matrix: &Csr<V>, options: HiSparseOptions) -> HiSparse<V, D> {
    matrix.to_hisparse(options).expect("a small matrix")
}

/// Whether a matrix on a device is that of the host, to the last byte.
fn check_same<V: Value, const D: usize>(found: &DeviceHiSparse<V, D>, expected: &HiSparse<V, D>) {
    let device = found.device();
    let found = found.download().expect("download");
    assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()), "{device}");
    assert_eq!(found.nnz(), expected.nnz(), "{device}");
    assert_eq!(found.is_transposed(), expected.is_transposed(), "{device}");
    assert_eq!(found.root_reference(), expected.root_reference(), "{device}, D = {D}, {expected:?}");
    assert_eq!(found.pool().len(), expected.pool().len(), "{device}, D = {D}, {expected:?}");
    let difference = found.pool().iter().zip(expected.pool()).position(|(a, b)| a != b);
    assert_eq!(difference, None, "{device}, D = {D}, {expected:?}");
}

fn check_conversion<V: Value, const D: usize>(device: &Device, matrix: &Csr<V>) {
    let expected = on_host::<V, D>(matrix, PLAIN);
    let uploaded = device.upload(matrix).expect("upload");
    check_same(&uploaded.to_hisparse::<D>(PLAIN).expect("a tree"), &expected);
    // Now its order is known.
    check_same(&uploaded.to_hisparse::<D>(PLAIN).expect("a tree"), &expected);
    check_same(&uploaded.to_hisparse::<D>(SHARE).expect("a tree"), &on_host::<V, D>(matrix, SHARE));
    let wide = device.upload(&matrix.clone().try_into_offsets::<u64>().expect("wider")).expect("upload");
    check_same(&wide.to_hisparse::<D>(PLAIN).expect("a tree"), &expected);
    let coo = device.upload_coo(&matrix.to_coo()).expect("upload");
    check_same(&coo.to_hisparse::<D>(PLAIN).expect("a tree"), &expected);
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

/// A shape, and entries of all sorts of places in it: scattered ones, full squares, single ones, repeated ones, zeros.
fn matrix() -> impl Strategy<Value = (usize, usize, Entries)> {
    let len = prop_oneof![
        Just(0_usize),
        1..4_usize,
        30..34_usize,
        120..135_usize,
        250..520_usize,
        1000..70_000_usize
    ];
    (len.clone(), len).prop_flat_map(|(rows, cols)| {
        let has_room = rows > 0 && cols > 0;
        let piece = (
            0..rows.max(1),
            0..cols.max(1),
            prop_oneof![6 => 1..3_usize, 2 => 3..20_usize, 1 => 36..48_usize],
        );
        let pieces = prop::collection::vec(piece, if has_room { 0..12 } else { 0..1 });
        (Just(rows), Just(cols), pieces).prop_map(|(rows, cols, pieces)| {
            let mut entries = Entries::new();
            for (first_row, first_col, side) in pieces {
                for row in first_row..rows.min(first_row + side) {
                    for col in first_col..cols.min(first_col + side) {
                        entries.push((row, col, (entries.len() % 7) as f64 - 3.0));
                    }
                }
            }
            (rows, cols, entries)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn trees_are_converted_as_on_the_host((rows, cols, entries) in matrix()) {
        for device in devices() {
            check_all_conversions(&device.device, rows, cols, &entries);
        }
    }
}

/// Numbers of entries and of runs at the edges of tiles: runs of one, and of all columns of a leaf.
#[test]
fn tiles_have_edges() {
    for device in devices() {
        for len in [
            tile_len::<HiSparseCountRuns>(),
            tile_len::<HiSparseCountNodes<u32>>(),
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
