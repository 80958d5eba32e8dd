//! Smallest eigenvalues, against those that are known in closed form.

use std::f64::consts::PI;

use evenpath::{Csr, Device, DeviceDense, Layout, Value};
use evenpath_solvers::{
    Breakdown, CsrOperator, EigenReport, Error, Identity, IncompleteCholesky, Jacobi, Lobpcg, Outcome,
    Preconditioner, SolverOptions,
};
use evenpath_tests::devices;

use crate::support::{UserOperator, grid, neumann, scaled, spd};

fn options() -> SolverOptions {
    SolverOptions::default().with_tolerance(1e-8).with_max_steps(200).with_stagnation_steps(60)
}

/// The eigenvalues of the five-point stencil, ascending.
fn of_grid(side: usize) -> Vec<f64> {
    let cosine = |at: usize| 2.0 * ((at + 1) as f64 * PI / (side + 1) as f64).cos();
    let mut values: Vec<f64> =
        (0..side).flat_map(|i| (0..side).map(move |j| 4.0 - cosine(i) - cosine(j))).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn solve<V: Value>(
    device: &Device,
    a: &Csr<V>,
    count: usize,
    options: SolverOptions,
    preconditioner: &dyn Preconditioner<V>,
) -> (EigenReport, Vec<Vec<V>>) {
    let operator = CsrOperator::new(&device.upload(a).unwrap()).unwrap();
    let mut solver = Lobpcg::new(&operator, preconditioner, count, options).unwrap();
    let mut x = device.zeros_dense(a.nrows(), count, Layout::ColumnMajor).unwrap();
    let report = solver.solve(&mut x).unwrap();
    let found = x.download().unwrap();
    let mut again = device.zeros_dense(a.nrows(), count, Layout::ColumnMajor).unwrap();
    assert_eq!(solver.solve(&mut again).unwrap().eigenvalues, report.eigenvalues);
    assert_eq!(again.download().unwrap(), found, "{device}: two runs differ");
    assert_eq!(report.history.len(), report.steps + 1);
    (report, found.chunks(a.nrows().max(1)).map(<[V]>::to_vec).collect())
}

/// Checks the values, that vectors are orthonormal, and their residuals.
fn check<V: Value>(
    device: &Device,
    a: &Csr<V>,
    expected: &[f64],
    tolerance: f64,
    preconditioner: &dyn Preconditioner<V>,
) {
    let options = options().with_tolerance(tolerance);
    let (report, x) = solve(device, a, expected.len(), options, preconditioner);
    assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
    let norm = a.values().iter().fold(0.0_f64, |norm, value| norm.max(value.to_f64().abs()));
    let norm = if norm > 0.0 { norm } else { 1.0 };
    for (found, expected) in report.eigenvalues.iter().zip(expected) {
        assert!((found - expected).abs() <= 4.0 * tolerance * norm, "{device}: {found}, expected {expected}");
    }
    let x: Vec<Vec<f64>> =
        x.iter().map(|vector| vector.iter().map(|value| value.to_f64()).collect()).collect();
    for (i, (one, value)) in x.iter().zip(&report.eigenvalues).enumerate() {
        for (j, other) in x.iter().enumerate() {
            let product: f64 = one.iter().zip(other).map(|(one, other)| one * other).sum();
            let expected = if i == j { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 100.0 * tolerance, "{device}, {i}, {j}: {product}");
        }
        let mut residual = vec![0.0; a.nrows()];
        for (row, col, entry) in a.iter() {
            residual[row] += entry.to_f64() * one[col];
        }
        let squares = residual.iter().zip(one).map(|(ax, x)| (ax / norm - value / norm * x).powi(2));
        assert!(squares.sum::<f64>().sqrt() <= 3.0 * tolerance, "{device}, vector {i}");
    }
}

#[test]
fn the_smallest_of_a_grid_are_found() {
    for under_test in devices() {
        let device = &under_test.device;
        for (side, count) in [(1, 1), (2, 4), (3, 3), (5, 2)] {
            let (a, expected) = (grid::<f64>(side), of_grid(side));
            check(device, &a, &expected[..count], 1e-7, &Identity);
        }
        let a = grid::<f64>(5);
        let cholesky = IncompleteCholesky::new(&device.upload(&a).unwrap()).unwrap();
        check(device, &a, &of_grid(5)[..2], 1e-9, &cholesky);
        check(device, &grid::<f32>(4), &of_grid(4)[..1], 1e-4, &Identity);
    }
}

#[test]
fn preconditioners_save_steps() {
    let device = Device::cpu();
    let a = grid::<f64>(20);
    let cholesky = IncompleteCholesky::new(&device.upload(&a).unwrap()).unwrap();
    let options = options().with_max_steps(500);
    let (with, _) = solve(&device, &a, 3, options, &cholesky);
    let (without, _) = solve(&device, &a, 3, options, &Identity);
    assert!(with.is_converged() && without.is_converged(), "{with}, {without}");
    assert!(2 * with.steps < without.steps, "{with}, {without}");
    check(&device, &a, &of_grid(20)[..3], 1e-8, &cholesky);
    assert!(with.plot(40, 10).contains('*'));
}

#[test]
fn zero_and_negative_eigenvalues_are_found() {
    for under_test in devices() {
        let device = &under_test.device;
        let n = 7;
        let line: Vec<f64> = (0..3).map(|at| 2.0 - 2.0 * (f64::from(at) * PI / n as f64).cos()).collect();
        check(device, &neumann::<f64>(n), &line, 1e-7, &Identity);
        let diagonal = [4.0, -3.0, 0.5, -3.0, 2.0, 7.0];
        let entries = diagonal.iter().enumerate().map(|(at, &value)| (at, at, value));
        let a = Csr::from_triplets(6, 6, entries).unwrap();
        check(device, &a, &[-3.0, -3.0, 0.5], 1e-9, &Identity);
        check(device, &Csr::<f64>::empty(4, 4).unwrap(), &[0.0, 0.0], 1e-9, &Identity);
    }
}

#[test]
fn scale_does_not_matter() {
    for under_test in devices() {
        let device = &under_test.device;
        for by in [1e150, 1e-150] {
            let a = scaled(&grid::<f64>(3), by);
            let jacobi = Jacobi::new(&device.upload(&a).unwrap()).unwrap();
            let expected: Vec<f64> = of_grid(3)[..1].iter().map(|value| value * by).collect();
            check(device, &a, &expected, 1e-7, &jacobi);
            check(device, &a, &expected, 1e-7, &Identity);
        }
    }
}

#[test]
fn guesses_are_used() {
    for under_test in devices() {
        let device = &under_test.device;
        let side = 4;
        let a = device.upload(&grid::<f64>(side)).unwrap();
        let operator = CsrOperator::new(&a).unwrap();
        let sine = |at: usize| ((at + 1) as f64 * PI / (side + 1) as f64).sin();
        let exact: Vec<f64> =
            (0..side).flat_map(|i| (0..side).map(move |j| 5.0 * sine(i) * sine(j))).collect();
        let upload = |elements: &[f64], cols| {
            let memory = device.upload(elements).unwrap();
            DeviceDense::try_new(memory, side * side, cols, Layout::ColumnMajor).unwrap()
        };
        let mut x = upload(&exact, 1);
        let report = Lobpcg::new(&operator, &Identity, 1, options()).unwrap().solve(&mut x).unwrap();
        assert_eq!((report.outcome, report.steps), (Outcome::Converged, 0), "{device}: {report}");
        assert!((report.eigenvalues[0] - of_grid(side)[0]).abs() < 1e-12);
        let mut same = upload(&[&exact[..], &exact].concat(), 2);
        let before = same.download().unwrap();
        let mut solver = Lobpcg::new(&operator, &Identity, 2, options()).unwrap();
        let report = solver.solve(&mut same).unwrap();
        assert_eq!(report.outcome, Outcome::Breakdown(Breakdown::DependentVectors), "{device}: {report}");
        assert_eq!(same.download().unwrap(), before);
        let mut infinite = upload(&vec![f64::NAN; 2 * side * side], 2);
        assert_eq!(solver.solve(&mut infinite).unwrap().outcome, Outcome::NotANumber);
        // The solver's memory holds NaN now.
        let mut x = device.zeros_dense(side * side, 2, Layout::ColumnMajor).unwrap();
        assert!(solver.solve(&mut x).unwrap().is_converged());
    }
}

#[test]
fn other_ends_are_named() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = spd::<f64>(9);
        for most in [0, 3] {
            let (report, _) = solve(device, &a, 2, options().with_max_steps(most), &Identity);
            assert_eq!((report.outcome, report.steps), (Outcome::MaxSteps, most), "{device}: {report}");
        }
        let exact = options().with_tolerance(0.0).with_max_steps(50).with_stagnation_steps(10);
        let (report, _) = solve(device, &a, 2, exact, &Identity);
        assert!(matches!(report.outcome, Outcome::Stagnation | Outcome::MaxSteps), "{device}: {report}");
        assert!(report.residuals.iter().all(|&residual| residual < 1e-8), "{device}: {report}");
        let mut broken = a.clone();
        broken.values_mut()[3] = f64::INFINITY;
        let operator = CsrOperator::new(&device.upload(&broken).unwrap()).unwrap();
        let mut x = device.zeros_dense(9, 1, Layout::ColumnMajor).unwrap();
        let report = Lobpcg::new(&operator, &Identity, 1, options()).unwrap().solve(&mut x).unwrap();
        assert_eq!(report.outcome, Outcome::NotANumber, "{device}: {report}");
        let (report, x) = solve(device, &a, 0, options(), &Identity);
        assert!(report.is_converged() && x.is_empty() && report.eigenvalues.is_empty());
    }
}

#[test]
fn bad_operands_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let own = UserOperator { device: device.clone(), len: 3 };
        let refused = Lobpcg::<f64>::new(&own, &Identity, 4, options()).err();
        assert!(matches!(refused, Some(Error::Option { .. })), "{refused:?}");
        let mut solver = Lobpcg::<f64>::new(&own, &Identity, 2, options()).unwrap();
        let mut zeros =
            |rows, cols, layout| solver.solve(&mut device.zeros_dense(rows, cols, layout).unwrap());
        assert!(matches!(zeros(3, 1, Layout::ColumnMajor), Err(Error::Shape { operand: "X", .. })));
        assert!(matches!(zeros(3, 2, Layout::RowMajor), Err(Error::Option { .. })));
        let report = zeros(3, 2, Layout::ColumnMajor).unwrap();
        assert!(report.is_converged() && report.eigenvalues.iter().all(|value| (value - 2.0).abs() < 1e-12));
    }
}
