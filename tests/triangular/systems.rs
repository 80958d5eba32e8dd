//! Several right-hand sides.

use evenpath::triangular::{TriangularMethod, TriangularOptions};
use evenpath::{Csr, Device, DeviceDense, Layout, Offset, Value};
use evenpath_tests::{DeviceUnderTest, devices, vector};

use super::matrices::{LongRows, scattered, with_entries};

/// Solves with several right-hand sides, and compares with one after the other.
fn check_many<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, columns: usize, layouts: [Layout; 2]) {
    let n = a.nrows();
    let alpha = V::from_f64(0.5);
    let options = TriangularOptions::default().with_method(TriangularMethod::Levels);
    let plan = device.upload(a).expect("upload").plan_triangular_solve(options).expect("a plan");
    let values: Vec<V> = vector(n * columns);
    let at = |layout: Layout, row: usize, column: usize| match layout {
        Layout::RowMajor => row * columns + column,
        Layout::ColumnMajor => column * n + row,
    };
    let b = DeviceDense::try_new(device.upload(&values).expect("upload"), n, columns, layouts[0])
        .expect("a matrix");
    let mut x = device.zeros_dense(n, columns, layouts[1]).expect("zeros");
    for _ in 0..2 {
        plan.solve_many(alpha, &b, &mut x).expect("solutions");
    }
    let found = x.download().expect("download");
    for column in 0..columns {
        let own: Vec<V> = (0..n).map(|row| values[at(layouts[0], row, column)]).collect();
        let mut expected = device.upload(&own).expect("upload");
        plan.solve_in_place(alpha, &mut expected).expect("a solution");
        let expected = expected.download().expect("download");
        let found: Vec<V> = (0..n).map(|row| found[at(layouts[1], row, column)]).collect();
        assert!(found == expected, "column {column} of {columns}, {layouts:?}, {device}");
    }
}

#[test]
fn each_is_solved_like_one() {
    use Layout::{ColumnMajor, RowMajor};
    for DeviceUnderTest { device, .. } in devices() {
        let a = with_entries::<f64, u32>(50, scattered(50, 200));
        for columns in [0, 1, 2, 4, 5, 9] {
            check_many(&device, &a, columns, [RowMajor, RowMajor]);
            check_many(&device, &a, columns, [ColumnMajor, RowMajor]);
        }
        check_many(&device, &with_entries::<f32, u64>(31, scattered(31, 400)), 3, [ColumnMajor, ColumnMajor]);
        check_many(&device, &with_entries::<f64, u32>(0, []), 3, [RowMajor, RowMajor]);
    }
}

#[test]
fn long_rows_have_pieces_of_each() {
    for DeviceUnderTest { device, .. } in devices() {
        check_many(
            &device,
            &LongRows::new(1).lower::<f32, u32>(),
            6,
            [Layout::RowMajor, Layout::ColumnMajor],
        );
    }
}
