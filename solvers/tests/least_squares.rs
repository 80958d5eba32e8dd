//! LSQR on systems of every shape, against the normal equations.

use evenpath::{Csr, Device, Value};
use evenpath_solvers::{CsrOperator, Error, Lsqr, Method, Outcome, Report, SolverOptions};
use evenpath_tests::devices;

use crate::support::{UserOperator, dense, dense_matrix, grid, neumann, run, solve_dense, vector};

fn options() -> SolverOptions {
    SolverOptions::default().with_tolerance(1e-12).with_stagnation_steps(100)
}

/// A matrix of full rank, with two entries in a row or column.
fn tall_or_wide<V: Value>(rows: usize, cols: usize) -> Csr<V> {
    let entries = (0..rows.max(cols)).flat_map(|at| {
        let main = (at % rows, at % cols, V::from_f64(2.0 + (at % 5) as f64));
        [main, ((at + 1) % rows, at % cols, V::from_f64(-1.0 + 0.1 * (at % 3) as f64))]
    });
    let mut a = Csr::from_triplets(rows, cols, entries).unwrap();
    a.canonicalize();
    a
}

fn solve(device: &Device, a: &Csr<f64>, b: &[f64], options: SolverOptions) -> (Report, Vec<f64>) {
    let (report, x) = run(device, Method::Lsqr, (a, b), options);
    let ax: Vec<f64> = dense(a).iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
    let norm = |vector: &mut dyn Iterator<Item = f64>| vector.map(|value| value * value).sum::<f64>().sqrt();
    let residual = norm(&mut b.iter().zip(&ax).map(|(b, ax)| b - ax)) / norm(&mut b.iter().copied());
    assert!((report.residual - residual).abs() < 1e-13, "{device}: {report}");
    (report, x)
}

/// The product of the transpose with a matrix of as many rows.
fn transposed_times(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let element = |i: usize, j: usize| a.iter().zip(b).map(|(a, b)| a[i] * b[j]).sum();
    let (rows, cols) = (a[0].len(), b[0].len());
    (0..rows).map(|i| (0..cols).map(|j| element(i, j)).collect()).collect()
}

#[test]
fn tall_systems_have_the_solution_of_the_normal_equations() {
    for under_test in devices() {
        let device = &under_test.device;
        for (rows, cols) in [(2, 1), (7, 3), (20, 12)] {
            let (a, b) = (tall_or_wide::<f64>(rows, cols), vector::<f64>(rows));
            let (report, x) = solve(device, &a, &b, options());
            assert_eq!(report.outcome, Outcome::LeastSquares, "{device}: {report}");
            assert!(report.is_converged() && report.advice().is_none());
            let a = dense(&a);
            let column: Vec<Vec<f64>> = b.iter().map(|&b| vec![b]).collect();
            let atb: Vec<f64> = transposed_times(&a, &column).into_iter().flatten().collect();
            let expected = solve_dense(transposed_times(&a, &a), &atb);
            for (x, expected) in x.iter().zip(&expected) {
                assert!((x - expected).abs() < 1e-10, "{device}, {rows} x {cols}");
            }
        }
    }
}

#[test]
fn wide_systems_have_the_shortest_solution() {
    for under_test in devices() {
        let device = &under_test.device;
        for (rows, cols) in [(1, 3), (4, 9)] {
            let (a, b) = (tall_or_wide::<f64>(rows, cols), vector::<f64>(rows));
            let (report, x) = solve(device, &a, &b, options());
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            // x = Aᵀy for AAᵀy = b.
            let rows = dense(&a);
            let columns: Vec<Vec<f64>> =
                (0..cols).map(|col| rows.iter().map(|row| row[col]).collect()).collect();
            let y = solve_dense(transposed_times(&columns, &columns), &b);
            for (x, column) in x.iter().zip(&columns) {
                let expected: f64 = column.iter().zip(&y).map(|(a, y)| a * y).sum();
                assert!((x - expected).abs() < 1e-10, "{device}");
            }
        }
    }
}

#[test]
fn singular_systems_have_a_least_residual() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (neumann::<f64>(12), vector::<f64>(12));
        let (report, x) = solve(device, &a, &b, options());
        assert_eq!(report.outcome, Outcome::LeastSquares, "{device}: {report}");
        // Constants are not in the range of Aᵀ.
        assert!(x.iter().sum::<f64>().abs() < 1e-9, "{device}");
        let zero = Csr::<f64>::empty(3, 2).unwrap();
        let (report, x) = solve(device, &zero, &[1.0, 2.0, 3.0], options());
        assert_eq!((report.outcome, report.steps), (Outcome::LeastSquares, 0), "{device}: {report}");
        assert_eq!(x, [0.0; 2]);
        for (rows, cols) in [(0, 4), (4, 0)] {
            let (a, b) = (Csr::<f64>::empty(rows, cols).unwrap(), vec![1.0; rows]);
            let (report, _) = run(device, Method::Lsqr, (&a, &b), options());
            assert!(report.is_converged() && report.steps == 0, "{device}: {report}");
        }
    }
}

#[test]
fn a_tolerance_that_cannot_be_met_ends_in_stagnation() {
    for under_test in devices() {
        let (a, b): (Csr<f64>, _) = (grid(4), vector(16));
        let options = options().with_tolerance(0.0).with_stagnation_steps(30);
        let (report, _) = solve(&under_test.device, &a, &b, options);
        assert_eq!(report.outcome, Outcome::Stagnation, "{report}");
        assert!(report.residual < 1e-14 && report.steps < 1000, "{report}");
    }
}

#[test]
fn operators_without_a_transpose_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&dense_matrix::<f64>(&[&[1.0, 2.0]])).unwrap();
        let operator = CsrOperator::new(&a).unwrap();
        let mut solver = Lsqr::new(&operator, options()).unwrap();
        let (b, mut x) = (device.upload(&[1.0]).unwrap(), device.zeros(2).unwrap());
        assert!(matches!(solver.solve(&b, &mut x), Err(Error::NoTranspose)));
        let own = UserOperator { device: device.clone(), len: 3 };
        let mut solver = Lsqr::new(&own, options()).unwrap();
        let (b, mut x) = (device.upload(&[1.0, 2.0, 3.0]).unwrap(), device.zeros(3).unwrap());
        assert!(solver.solve(&b, &mut x).unwrap().is_converged());
        assert_eq!(x.download().unwrap(), [0.5, 1.0, 1.5]);
    }
}
