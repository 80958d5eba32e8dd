//! Products with dense matrices.

use evenpath::dense::Layout;
use evenpath::error::{DeviceError, OpError};
use evenpath::semiring::{MinPlus, PlusTimes};
use evenpath::{Csr, Device, DeviceDense, Offset};
use evenpath_tests::{device_of_each_kind, devices};

use super::oracle::{Defined, Oracle, Sample, for_each_semiring, odd_lengths, samples, unsorted};

/// Columns, and the layouts of B and C. Rows and columns begin this many elements after the one before has ended.
#[derive(Clone, Copy)]
struct Shape {
    columns: usize,
    b: Layout,
    c: Layout,
    gap: usize,
}

/// The place of an element in a matrix of `rows` × `columns`, and how many elements there are.
fn place(
    (rows, columns): (usize, usize),
    layout: Layout,
    gap: usize,
) -> (impl Fn(usize, usize) -> usize, usize) {
    let line = if layout == Layout::RowMajor { columns } else { rows } + gap;
    let lines = if layout == Layout::RowMajor { rows } else { columns };
    let at = move |row: usize, column: usize| match layout {
        Layout::RowMajor => row * line + column,
        Layout::ColumnMajor => column * line + row,
    };
    (at, line * lines)
}

fn upload<V: Sample>(
    device: &Device,
    values: &[V],
    (rows, columns): (usize, usize),
    layout: Layout,
    gap: usize,
) -> DeviceDense<V> {
    let line = if layout == Layout::RowMajor { columns } else { rows } + gap;
    let values = device.upload(values).expect("upload");
    DeviceDense::try_with_leading_dimension(values, rows, columns, layout, line).expect("a matrix")
}

/// Checks C = AB and C = C + AB, with nothing written between the rows or columns of C.
fn check<S: Defined<V>, V: Sample, O: Offset>(device: &Device, a: &Csr<V, O>, shape: Shape) {
    let Oracle { zero, plus, times } = S::oracle();
    let Shape { columns, b: b_layout, c: c_layout, gap } = shape;
    let (of_b, of_c) = ((a.ncols(), columns), (a.nrows(), columns));
    let (b_at, b_len) = place(of_b, b_layout, gap);
    let (c_at, c_len) = place(of_c, c_layout, gap);
    let (b, old) = (samples::<S, V>(11, b_len), samples::<S, V>(5, c_len));
    let (mut product, mut sum) = (old.clone(), old.clone());
    for (row, entries) in a.iter_rows().enumerate() {
        for column in 0..columns {
            let element = entries
                .iter()
                .fold(zero, |sum, (of_a, value)| plus(sum, times(value, b[b_at(of_a as usize, column)])));
            product[c_at(row, column)] = element;
            sum[c_at(row, column)] = plus(old[c_at(row, column)], element);
        }
    }
    let matrix = device.upload(a).expect("upload");
    let b = upload(device, &b, of_b, b_layout, gap);
    let mut c = upload(device, &old, of_c, c_layout, gap);
    matrix.add_spmm_over::<S>(&b, &mut c).expect("a product");
    let what = format!("{} on {device}: {columns} columns, {b_layout} to {c_layout}, {a:?}", S::NAME);
    assert!(c.download().expect("download") == sum, "{what}: {:?}, not {sum:?}", c.download());
    matrix.spmm_over::<S>(&b, &mut c).expect("a product");
    // Elements between rows or columns have not changed.
    assert!(c.download().expect("download") == product, "{what}: {:?}, not {product:?}", c.download());
}

/// Checks C = AB and C = C + AB in host memory, by rows.
fn check_on_host<S: Defined<V>, V: Sample, O: Offset>(a: &Csr<V, O>, columns: usize) {
    let Oracle { zero, plus, times } = S::oracle();
    let (b, old) = (samples::<S, V>(11, a.ncols() * columns), samples::<S, V>(5, a.nrows() * columns));
    let element = |row: usize, column: usize| {
        let entries = a.row(row).expect("a row");
        let product = |(of_a, value)| times(value, b[of_a as usize * columns + column]);
        entries.iter().map(product).fold(zero, plus)
    };
    let product: Vec<V> = (0..a.nrows())
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| element(row, column))
        .collect();
    let sum: Vec<V> = old.iter().zip(&product).map(|(&old, &product)| plus(old, product)).collect();
    let mut c = old;
    a.add_spmm_over::<S>(columns, &b, &mut c).expect("a product");
    assert!(c == sum, "{}, {columns} columns, {a:?}: {c:?}, not {sum:?}", S::NAME);
    a.view().spmm_over::<S>(columns, &b, &mut c).expect("a product");
    assert!(c == product, "{}, {columns} columns, {a:?}: {c:?}, not {product:?}", S::NAME);
}

fn all_rows_on_host<S: Defined<V>, V: Sample>((): ()) {
    for columns in [0, 1, 3, 129] {
        check_on_host::<S, V, u32>(&unsorted::<S, V, u32>(40, &[0, 3, 0, 1, 300, 0, 0, 17, 2, 0]), columns);
        check_on_host::<S, V, u64>(&unsorted::<S, V, u64>(0, &[0; 3]), columns);
        check_on_host::<S, V, u64>(&unsorted::<S, V, u64>(5, &[]), columns);
    }
}

#[test]
fn products_in_host_memory() {
    for_each_semiring!(all_rows_on_host(()));
    let a = Csr::from_triplets(2, 3, [(0, 0, 1.0)]).expect("inside");
    let mut c = [7.0; 4];
    let error = a.spmm_over::<MinPlus>(2, &[1.0; 5], &mut c).expect_err("B is short");
    assert!(matches!(error, OpError::Length { operand: "B", len: 5, needed: 6 }), "{error}");
    let error = a.add_spmm_over::<MinPlus>(2, &[1.0; 6], &mut c[..3]).expect_err("C is short");
    assert!(matches!(error, OpError::Length { operand: "C", len: 3, needed: 4 }), "{error}");
    let error = a.spmm_over::<MinPlus>(usize::MAX, &[1.0; 6], &mut c).expect_err("too many columns");
    assert!(matches!(error, OpError::Length { operand: "B", .. }), "{error}");
    assert_eq!(c.to_vec(), [7.0; 4]);
}

const SHAPES: [Shape; 3] = [
    Shape { columns: 3, b: Layout::RowMajor, c: Layout::ColumnMajor, gap: 0 },
    Shape { columns: 33, b: Layout::ColumnMajor, c: Layout::RowMajor, gap: 1 },
    Shape { columns: 1, b: Layout::RowMajor, c: Layout::RowMajor, gap: 0 },
];

/// Rows of all kinds: empty ones, short ones, and one that several tiles cut.
fn all_rows<S: Defined<V>, V: Sample>(device: &Device) {
    check::<S, V, u32>(device, &unsorted::<S, V, u32>(40, &[0, 3, 0, 1, 300, 0, 0, 17, 2, 0]), SHAPES[0]);
    check::<S, V, u64>(device, &unsorted::<S, V, u64>(5, &[4, 0, 6]), SHAPES[1]);
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
    // The least row ends and nonzeros of a tile.
    let tile = 32;
    for under_test in devices() {
        let device = &under_test.device;
        for (cols, lengths) in &odd_lengths(tile) {
            for shape in SHAPES {
                check::<MinPlus, f32, u32>(device, &unsorted::<MinPlus, f32, u32>(*cols, lengths), shape);
                check::<PlusTimes, u32, u64>(device, &unsorted::<PlusTimes, u32, u64>(*cols, lengths), shape);
            }
        }
        // No columns, and more than a pass has.
        let a = unsorted::<MinPlus, i64, u32>(7, &[3, 0, 70, 1]);
        for (columns, layout) in [(0, Layout::RowMajor), (64, Layout::RowMajor), (131, Layout::ColumnMajor)] {
            check::<MinPlus, i64, u32>(device, &a, Shape { columns, b: layout, c: layout, gap: 2 });
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for device in device_of_each_kind() {
        let a = device.upload(&unsorted::<MinPlus, f64, u32>(5, &[3, 0, 5])).expect("upload");
        let dense = |rows: usize, columns: usize| {
            let values = device.upload(&vec![7.0; rows * columns]).expect("upload");
            DeviceDense::try_new(values, rows, columns, Layout::RowMajor).expect("a matrix")
        };
        let mut c = dense(3, 2);
        let error = a.spmm_over::<MinPlus>(&dense(4, 2), &mut c).expect_err("B has a row too few");
        assert!(matches!(error, OpError::Shape { operand: "B", rows: 4, needed_rows: 5, .. }), "{error}");
        let error = a.add_spmm_over::<MinPlus>(&dense(5, 3), &mut c).expect_err("C has a column too few");
        assert!(matches!(error, OpError::Shape { operand: "C", cols: 2, needed_cols: 3, .. }), "{error}");
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.zeros_dense(5, 2, Layout::RowMajor).expect("zeros");
        let error = a.spmm_over::<MinPlus>(&elsewhere, &mut c).expect_err("B is elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(c.download().expect("download"), [7.0; 6]);
    }
}

/// Distances from every vertex of a ring at once, in a graph.
#[test]
fn a_graph_iterates() {
    for device in device_of_each_kind() {
        let ring = Csr::from_triplets(9, 9, (0..9).map(|at| ((at + 1) % 9, at, 1.5))).expect("inside");
        let ring = device.upload(&ring).expect("upload");
        let start: Vec<f64> = (0..81).map(|at| if at % 10 == 0 { 0.0 } else { f64::INFINITY }).collect();
        let distances = DeviceDense::try_new(device.upload(&start).expect("upload"), 9, 9, Layout::RowMajor)
            .expect("a matrix");
        let before = device.zeros_dense(9, 9, Layout::RowMajor).expect("memory");
        let step = |(before, distances): &mut (DeviceDense<f64>, DeviceDense<f64>)| {
            before.as_mut_slice().copy_from(distances.as_vec())?;
            ring.add_spmm_over::<MinPlus>(before, distances)
        };
        let mut graph = device.capture((before, distances), step).expect("a graph");
        for _ in 0..8 {
            graph.launch().expect("a launch");
        }
        let (_, distances) = graph.state();
        let expected: Vec<f64> = (0..81).map(|at| 1.5 * f64::from((at / 9 + 9 - at % 9) % 9)).collect();
        assert_eq!(distances.download().expect("download"), expected);
    }
}
