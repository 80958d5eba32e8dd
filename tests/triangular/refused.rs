use evenpath::error::{DeviceError, OpError};
use evenpath::triangular::{Diagonal, Triangle, TriangularOptions};
use evenpath::{Csr, Device, DeviceDense, Layout};
use evenpath_tests::{DeviceUnderTest, devices};

fn upper() -> TriangularOptions {
    TriangularOptions::default().with_triangle(Triangle::Upper)
}

#[test]
fn missing_diagonals_are_named() {
    let entries = (0..700).filter(|&row| row != 300 && row != 650).map(|row| (row, row, 2.0));
    let a = Csr::from_triplets(700, 700, entries.chain([(300, 0, 1.0), (650, 699, 1.0)])).expect("inside");
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        for options in [TriangularOptions::default(), upper(), upper().with_transposed(true)] {
            let error = matrix.plan_triangular_solve(options).expect_err("refused");
            assert!(matches!(error, OpError::MissingDiagonal { operand: "A", row: 300 }), "{error}");
            let error =
                a.view().solve_triangular(options, 1.0, &[1.0; 700], &mut [0.0; 700]).expect_err("refused");
            assert!(matches!(error, OpError::MissingDiagonal { operand: "A", row: 300 }), "{error}");
            matrix.plan_triangular_solve(options.with_diagonal(Diagonal::Unit)).expect("a plan");
        }
    }
}

#[test]
fn zeros_on_the_diagonal_are_named() {
    let entries = (0..500).map(|row| (row, row, f64::from(u32::from(row != 77 && row != 400))));
    let a = Csr::from_triplets(500, 500, entries.chain([(80, 77, 1.0)])).expect("inside");
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        for options in [TriangularOptions::default(), upper(), upper().with_transposed(true)] {
            let plan = matrix.plan_triangular_solve(options).expect("a plan");
            let error = plan.check_pivots().expect_err("zeros");
            assert!(matches!(error, OpError::ZeroPivot { operand: "A", row: 77 }), "{error}");
            assert!(error.to_string().contains("zero in row 77"), "{error}");
            let mut x = vec![5.0; 500];
            let error = a.view().solve_triangular(options, 1.0, &[1.0; 500], &mut x).expect_err("zeros");
            assert!(
                matches!(error, OpError::ZeroPivot { operand: "A", row: 77 }) && x == [5.0; 500],
                "{error}"
            );
            let mut x = device.upload(&[1.0; 500]).expect("upload");
            plan.solve_in_place(1.0, &mut x).expect("no wait");
            assert!(x.get(77).expect("an element").is_infinite(), "{device}");
            let unit = matrix.plan_triangular_solve(options.with_diagonal(Diagonal::Unit)).expect("a plan");
            unit.check_pivots().expect("the diagonal is ones");
        }
    }
}

#[test]
fn matrices_of_other_kinds() {
    for DeviceUnderTest { device, .. } in devices() {
        let wide = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 1, 1.0)]).expect("inside");
        let error = device.upload(&wide).expect("upload").plan_triangular_solve(TriangularOptions::default());
        let error = error.expect_err("refused");
        assert!(matches!(error, OpError::Shape { operand: "A", cols: 3, needed_cols: 2, .. }), "{error}");
        let unsorted = Csr::try_new(2, 2, vec![0_u32, 1, 3], vec![0, 1, 0], vec![1.0; 3]).expect("valid");
        let error =
            device.upload(&unsorted).expect("upload").plan_triangular_solve(upper()).expect_err("refused");
        assert!(matches!(error, OpError::NotCanonical { operand: "A", row: 1, .. }), "{error}");
        let error =
            unsorted.view().solve_triangular(upper(), 1.0, &[1.0; 2], &mut [1.0; 2]).expect_err("refused");
        assert!(matches!(error, OpError::NotCanonical { operand: "A", row: 1, .. }), "{error}");
    }
}

#[test]
fn operands_of_other_sizes_leave_the_solution() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device
            .upload(&Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, 1.0)]).expect("inside"))
            .expect("upload");
        let plan = a.plan_triangular_solve(TriangularOptions::default()).expect("a plan");
        let of_len = |len: usize| device.upload(&vec![5.0; len]).expect("upload");
        let mut x = of_len(2);
        let error = plan.solve(1.0, &of_len(3), &mut x).expect_err("refused");
        assert!(matches!(error, OpError::Length { operand: "b", len: 3, needed: 2 }), "{error}");
        let error = plan.solve(&of_len(2), &of_len(2), &mut x).expect_err("refused");
        assert!(matches!(error, OpError::Length { operand: "alpha", len: 2, needed: 1 }), "{error}");
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let error = plan.solve(1.0, &other.upload(&[1.0; 2]).expect("upload"), &mut x).expect_err("refused");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(x.download().expect("download"), [5.0; 2]);
        let error = plan.solve_in_place(1.0, &mut of_len(1)).expect_err("refused");
        assert!(matches!(error, OpError::Length { operand: "x", len: 1, needed: 2 }), "{error}");
        let dense = |rows: usize, cols: usize| {
            DeviceDense::try_new(of_len(rows * cols), rows, cols, Layout::RowMajor).expect("a matrix")
        };
        let error = plan.solve_many(1.0, &dense(2, 3), &mut dense(2, 2)).expect_err("refused");
        assert!(matches!(error, OpError::Shape { operand: "X", needed_cols: 3, .. }), "{error}");
        let error = plan.solve_many(1.0, &dense(3, 3), &mut dense(3, 3)).expect_err("refused");
        assert!(matches!(error, OpError::Shape { operand: "B", rows: 3, needed_rows: 2, .. }), "{error}");
    }
}
