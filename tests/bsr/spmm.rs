use evenpath::bsr::Bsr;
use evenpath::error::OpError;
use evenpath::{Device, DeviceDense, Layout, Offset, Value};
use evenpath_tests::{DeviceUnderTest, devices, spmm as oracle, unlike_devices};
use proptest::prelude::*;

use super::support::{SIZES, csr, number, with_blocks};

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

/// Elements that no operation may read or write.
const GAP: usize = 2;

/// A dense matrix on a device, with gaps between its rows or columns, and the elements given by their row and column.
fn dense<V: Value>(
    device: &Device,
    (rows, cols): (usize, usize),
    layout: Layout,
    element: impl Fn(usize, usize) -> f64,
) -> DeviceDense<V> {
    let leading_dimension = GAP + if layout == Layout::RowMajor { cols } else { rows };
    let lines = if layout == Layout::RowMajor { rows } else { cols };
    let mut values = vec![V::from_f64(f64::NAN); leading_dimension * lines];
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        values[place(layout, leading_dimension, row, col)] = V::from_f64(element(row, col));
    }
    let values = device.upload(&values).expect("upload");
    DeviceDense::try_with_leading_dimension(values, rows, cols, layout, leading_dimension).expect("a matrix")
}

fn place(layout: Layout, leading_dimension: usize, row: usize, col: usize) -> usize {
    match layout {
        Layout::RowMajor => row * leading_dimension + col,
        Layout::ColumnMajor => col * leading_dimension + row,
    }
}

/// Runs `C = αAB + βC`, with C filled with NaN if β is zero, and compares each column with the oracle, and the gaps.
fn check<V: Value, O: Offset>(
    device: &Device,
    a: &Bsr<V, O>,
    columns: usize,
    (b_layout, c_layout): (Layout, Layout),
    (alpha, beta): (f64, f64),
) {
    let old = |row: usize, col: usize| if beta == 0.0 { f64::NAN } else { number(3 * row + 5 * col + 1) };
    let element = |row: usize, col: usize| number(7 * row + col);
    let b = dense::<V>(device, (a.ncols(), columns), b_layout, element);
    let mut c = dense::<V>(device, (a.nrows(), columns), c_layout, old);
    let on_device = device.upload(a).expect("upload");
    on_device.spmm(V::from_f64(alpha), &b, V::from_f64(beta), &mut c).expect("product");

    let (values, leading_dimension, csr) = (c.download().expect("download"), c.leading_dimension(), csr(a));
    let mut inside = vec![false; values.len()];
    for col in 0..columns {
        let of_b: Vec<V> = (0..a.ncols()).map(|row| V::from_f64(element(row, col))).collect();
        let of_c: Vec<V> = (0..a.nrows()).map(|row| V::from_f64(old(row, col))).collect();
        let actual: Vec<V> = (0..a.nrows())
            .map(|row| {
                let place = place(c_layout, leading_dimension, row, col);
                inside[place] = true;
                values[place]
            })
            .collect();
        if let Err(difference) = oracle(&csr, alpha, &of_b, beta, &of_c).check(&actual) {
            panic!(
                "{on_device:?}, {columns} columns, B {b_layout}, C {c_layout}, column {col}: {difference}"
            );
        }
    }
    let mut gaps = inside.iter().zip(&values).filter(|&(&inside, _)| !inside);
    assert!(gaps.all(|(_, value)| value.to_f64().is_nan()), "{on_device:?}: a gap was written");
}

#[test]
fn every_block_size() {
    for DeviceUnderTest { device, .. } in devices() {
        for size in SIZES {
            let a = with_blocks::<f64, u32>(size, 4, &[2, 0, 5, 1], size - 1);
            check(&device, &a, 3, (Layout::RowMajor, Layout::RowMajor), (1.0, 0.0));
            let a = with_blocks::<f32, u64>(size, 4, &[2, 0, 5, 1], size / 2);
            check(&device, &a, 5, (Layout::ColumnMajor, Layout::ColumnMajor), (-0.5, 2.0));
        }
    }
}

#[test]
fn columns_and_layouts() {
    for DeviceUnderTest { device, .. } in devices() {
        for layouts in LAYOUTS.into_iter().flat_map(|b| LAYOUTS.map(|c| (b, c))) {
            for columns in [0, 1, 31, 32, 33, 65] {
                let a = with_blocks::<f64, u64>(3, 6, &[4, 1, 0, 6], 1);
                check(&device, &a, columns, layouts, (1.5, -1.0));
                let a = with_blocks::<f32, u32>(2, 6, &[4, 1, 0, 6], 0);
                check(&device, &a, columns, layouts, (1.0, 0.0));
            }
        }
        for lengths in [&[][..], &[0; 3]] {
            let a = with_blocks::<f64, u32>(3, 2, lengths, 0);
            check(&device, &a, 3, (Layout::RowMajor, Layout::ColumnMajor), (1.0, 2.0));
        }
    }
}

/// Block rows that are cut into pieces.
#[test]
fn long_block_rows() {
    for DeviceUnderTest { device, .. } in devices() {
        for layout in LAYOUTS {
            let a = with_blocks::<f64, u32>(2, 50, &[1, 129, 0, 300], 1);
            check(&device, &a, 3, (layout, layout), (-1.0, 0.5));
            let a = with_blocks::<f32, u64>(3, 20, &[700, 2], 2);
            check(&device, &a, 2, (Layout::RowMajor, layout), (1.0, 0.0));
        }
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    let a = with_blocks::<f32, u32>(3, 40, &[150, 4, 0, 17], 1);
    let bits_on = |device: &Device| -> Vec<u32> {
        let (b, a) = (
            dense(device, (a.ncols(), 4), Layout::RowMajor, |row, col| number(row + col)),
            device.upload(&a).expect("upload"),
        );
        let mut runs = (0..3).map(|_| {
            let mut c = device.zeros_dense(a.nrows(), 4, Layout::ColumnMajor).expect("zeros");
            a.spmm(1.25, &b, 0.0, &mut c).expect("product");
            c.download().expect("download").into_iter().map(f32::to_bits).collect::<Vec<_>>()
        });
        let first = runs.next().expect("a run");
        assert!(runs.all(|run| run == first), "{device}");
        first
    };
    let all: Vec<_> = unlike_devices().iter().map(|under_test| bits_on(&under_test.device)).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    bits_on(&Device::cpu());
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&with_blocks::<f64, u32>(2, 3, &[1, 2], 1)).expect("upload");
        let b = dense(&device, (5, 2), Layout::RowMajor, number_at);
        let tall = dense(&device, (6, 2), Layout::RowMajor, number_at);
        let mut c = device.zeros_dense(3, 2, Layout::RowMajor).expect("zeros");
        let error = a.spmm(1.0, &tall, 1.0, &mut c).expect_err("B is too tall");
        assert!(matches!(error, OpError::Shape { operand: "B", rows: 6, needed_rows: 5, .. }), "{error}");
        assert_eq!(c.download().expect("download"), [0.0; 6]);
        let mut wide = device.zeros_dense(3, 3, Layout::RowMajor).expect("zeros");
        let error = a.spmm(1.0, &b, 1.0, &mut wide).expect_err("C is too wide");
        assert!(matches!(error, OpError::Shape { operand: "C", cols: 3, needed_cols: 2, .. }), "{error}");
        assert_eq!(wide.download().expect("download"), [0.0; 9]);
    }
}

fn number_at(row: usize, col: usize) -> f64 {
    number(row + col)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_blocks(
        lengths in evenpath_tests::row_lengths(260, 8),
        size in 1..6_usize,
        columns in 0..8_usize,
        by_columns: bool,
        beta in prop_oneof![Just(0.0), -2.0..2.0_f64],
    ) {
        let layout = LAYOUTS[usize::from(by_columns)];
        let missing = if lengths.is_empty() { 0 } else { size - 1 };
        for DeviceUnderTest { device, .. } in devices() {
            let a = with_blocks::<f64, u32>(size, 30, &lengths, missing);
            check(&device, &a, columns, (layout, Layout::RowMajor), (1.5, beta));
        }
    }
}
