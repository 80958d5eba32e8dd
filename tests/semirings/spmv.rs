//! Products with vectors.

use std::fmt::Debug;

use evenpath::semiring::{MinPlus, PlusTimes};
use evenpath::{Csr, Device, DeviceVec, Offset};
use evenpath_kernels::spmv::SemiringTile;
use evenpath_tests::{device_of_each_kind, devices, tile_len};

use super::oracle::{Defined, Oracle, Sample, for_each_semiring, odd_lengths, samples, unsorted};

/// Checks y = Ax and y = y + Ax, on a device and on the host.
fn check<S: Defined<V>, V: Sample, O: Offset>(device: &Device, a: &Csr<V, O>) {
    let Oracle { zero, plus, times } = S::oracle();
    let (x, old) = (samples::<S, V>(11, a.ncols()), samples::<S, V>(5, a.nrows()));
    let product: Vec<V> = a
        .iter_rows()
        .map(|row| row.iter().fold(zero, |sum, (column, value)| plus(sum, times(value, x[column as usize]))))
        .collect();
    let sum: Vec<V> = old.iter().zip(&product).map(|(&old, &product)| plus(old, product)).collect();

    let matrix = device.upload(a).expect("upload");
    // Vectors that begin at any multiple of their elements' size.
    let (padded_x, padded_y) =
        ([&x[..1.min(x.len())], &x].concat(), [&old[..1.min(old.len())], &old].concat());
    let on_device = device.upload(&padded_x).expect("upload");
    let mut y = device.upload(&padded_y).expect("upload");
    let (from_x, from_y) = (padded_x.len() - x.len(), padded_y.len() - old.len());
    let what = format!("{} on {device}: {a:?}", S::NAME);
    let x_part = on_device.slice(from_x..).expect("a part");
    let mut y_part = y.slice_mut(from_y..).expect("a part");
    matrix.add_spmv_over::<S>(&x_part, &mut y_part).expect("a product");
    assert_same(&what, &y_part.download().expect("download"), &sum);
    matrix.spmv_over::<S>(&x_part, &mut y_part).expect("a product");
    assert_same(&what, &y_part.download().expect("download"), &product);

    let mut y = old;
    a.add_spmv_over::<S>(&x, &mut y).expect("a product");
    assert_same(&what, &y, &sum);
    a.spmv_over::<S>(&x, &mut y).expect("a product");
    assert_same(&what, &y, &product);
}

fn assert_same<V: PartialEq + Debug>(what: &str, found: &[V], expected: &[V]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(found == expected, "{what}: row {row} is {found:?}, not {expected:?}");
    }
}

/// Rows of all kinds: empty ones, short ones, and one that several tiles cut.
fn all_rows<S: Defined<V>, V: Sample>(device: &Device) {
    check::<S, V, u32>(device, &unsorted::<S, V, u32>(40, &[0, 3, 0, 1, 1500, 0, 0, 17, 2, 0]));
    check::<S, V, u64>(device, &unsorted::<S, V, u64>(5, &[4, 0, 6]));
}

#[test]
fn every_semiring_and_type() {
    for under_test in devices() {
        let device = &under_test.device;
        for_each_semiring!(all_rows(device));
    }
}

#[test]
fn odd_shapes() {
    let tile = tile_len::<SemiringTile<f64, u32>>();
    for under_test in devices() {
        let device = &under_test.device;
        for (cols, lengths) in &odd_lengths(tile) {
            check::<MinPlus, f32, u32>(device, &unsorted::<MinPlus, f32, u32>(*cols, lengths));
            check::<MinPlus, i64, u64>(device, &unsorted::<MinPlus, i64, u64>(*cols, lengths));
            check::<PlusTimes, u32, u32>(device, &unsorted::<PlusTimes, u32, u32>(*cols, lengths));
        }
    }
}

/// Iterations to the shortest paths of a ring, in a graph.
#[test]
fn a_graph_iterates() {
    for device in device_of_each_kind() {
        let ring = Csr::from_triplets(9, 9, (0..9).map(|at| ((at + 1) % 9, at, 1.5))).expect("inside");
        let ring = device.upload(&ring).expect("upload");
        let distances = device.upload(&[[0.0].as_slice(), &[f64::INFINITY; 8]].concat()).expect("upload");
        let state = (device.zeros(9).expect("memory"), distances);
        let step = |(before, distances): &mut (DeviceVec<f64>, DeviceVec<f64>)| {
            before.copy_from(distances)?;
            ring.add_spmv_over::<MinPlus>(before, distances)
        };
        let mut graph = device.capture(state, step).expect("a graph");
        for _ in 0..8 {
            graph.launch().expect("a launch");
        }
        let (_, distances) = graph.state();
        let expected: Vec<f64> = (0..9).map(|at| 1.5 * f64::from(at)).collect();
        assert_eq!(distances.download().expect("download"), expected);
    }
}
