//! Several right-hand sides at once: as many solves, each with an end of its own.

use evenpath::{Csr, Device, DeviceDense, Layout, Value};
use evenpath_solvers::{
    Breakdown, CsrOperator, Error, Identity, Jacobi, Method, MultiCg, Outcome, Preconditioner, Report,
    SolverOptions,
};
use evenpath_tests::devices;

use crate::support::{check_solution, indefinite, relative_residual, run, spd, vector};

/// A matrix with these columns, and `gap` more elements between them.
fn columns<V: Value>(device: &Device, columns: &[Vec<V>], gap: usize) -> DeviceDense<V> {
    let rows = columns.first().map_or(0, Vec::len);
    let padding = vec![V::from_f64(7.0); gap];
    let elements: Vec<V> = columns.iter().flat_map(|column| column.iter().chain(&padding)).copied().collect();
    let memory = device.upload(&elements).unwrap();
    let cols = columns.len();
    DeviceDense::try_with_leading_dimension(memory, rows, cols, Layout::ColumnMajor, rows + gap).unwrap()
}

fn solve<V: Value>(
    device: &Device,
    a: &Csr<V>,
    b: &[Vec<V>],
    options: SolverOptions,
    with_jacobi: bool,
) -> (Vec<Report>, Vec<Vec<V>>) {
    let on_device = device.upload(a).unwrap();
    let operator = CsrOperator::new(&on_device).unwrap();
    let jacobi = Jacobi::new(&on_device).unwrap();
    let preconditioner: &dyn Preconditioner<V> = if with_jacobi { &jacobi } else { &Identity };
    let mut solver = MultiCg::new(&operator, preconditioner, b.len(), options).unwrap();
    let on_device = columns(device, b, 3);
    let mut runs = Vec::new();
    for gap in [0, 1] {
        let mut x = columns(device, &vec![vec![V::ZERO; a.nrows()]; b.len()], gap);
        let reports = solver.solve(&on_device, &mut x).unwrap();
        let lines: Vec<Vec<V>> = x.download().unwrap().chunks(a.nrows() + gap).map(<[V]>::to_vec).collect();
        assert!(lines.iter().all(|line| line[a.nrows()..].iter().all(|gap| *gap == V::from_f64(7.0))));
        runs.push((reports, lines.into_iter().map(|line| line[..a.nrows()].to_vec()).collect::<Vec<_>>()));
    }
    assert_eq!(runs[0].1, runs[1].1, "{device}: two runs differ");
    runs.pop().unwrap()
}

#[test]
fn every_column_is_solved_in_its_own_number_of_steps() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = spd(18);
        let eigenvector_like: Vec<f64> = a.iter_rows().map(|row| row.values().iter().sum()).collect();
        let b = [
            vector(18),
            vec![0.0; 18],
            eigenvector_like,
            vector::<f64>(18).iter().map(|b| b * 1e160).collect(),
        ];
        let options = SolverOptions::default().with_tolerance(1e-10);
        for with_jacobi in [false, true] {
            let (reports, x) = solve(device, &a, &b, options, with_jacobi);
            for ((report, x), b) in reports.iter().zip(&x).zip(&b) {
                assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
                assert_eq!(report.history.len(), report.steps + 1);
                if b.iter().all(|&b| b == 0.0) {
                    assert!(report.steps == 0 && x.iter().all(|&x| x == 0.0));
                    continue;
                }
                check_solution(&a, x, b, 1e-10);
            }
            assert!(reports[3].steps.abs_diff(reports[0].steps) <= 1, "{device}");
        }
        let (alone, _) = run(device, Method::Cg, (&a, &b[0]), options);
        let (reports, _) = solve(device, &a, &b, options, false);
        assert!(reports[0].steps.abs_diff(alone.steps) <= 1, "{device}: {} of {alone}", reports[0]);
        let (reports, x) = solve::<f32>(device, &spd(9), &[vector(9)], options.with_tolerance(1e-5), true);
        assert!(reports[0].is_converged() && relative_residual(&spd(9), &x[0], &vector(9)) < 1e-5);
    }
}

#[test]
fn every_column_has_an_outcome_of_its_own() {
    for under_test in devices() {
        let device = &under_test.device;
        // The first half is positive definite, the second is not.
        let (n, definite, not) = (10, spd::<f64>(10), indefinite::<f64>(10));
        let below = not.iter().map(|(row, col, value)| (row + n, col + n, value));
        let a = Csr::from_triplets(2 * n, 2 * n, definite.iter().chain(below)).unwrap();
        let upper = [vector(n), vec![0.0; n]].concat();
        let lower = [vec![0.0; n], vector(n)].concat();
        let broken = vec![f64::NAN; 2 * n];
        let options = SolverOptions::default().with_tolerance(1e-9);
        let (reports, x) = solve(device, &a, &[lower, upper.clone(), broken], options, false);
        let outcomes: Vec<Outcome> = reports.iter().map(|report| report.outcome).collect();
        let indefinite = Outcome::Breakdown(Breakdown::IndefiniteMatrix);
        assert_eq!(outcomes, [indefinite, Outcome::Converged, Outcome::NotANumber], "{device}");
        check_solution(&a, &x[1], &upper, 1e-9);
        let (reports, _) = solve(device, &a, &[upper], options.with_max_steps(2), false);
        assert_eq!((reports[0].outcome, reports[0].steps), (Outcome::MaxSteps, 2), "{device}");
    }
}

#[test]
fn shapes_are_checked() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&spd::<f64>(4)).unwrap();
        let operator = CsrOperator::new(&a).unwrap();
        let options = SolverOptions::default();
        let mut solver = MultiCg::new(&operator, &Identity, 2, options).unwrap();
        let zeros = |rows, cols, layout| device.zeros_dense::<f64>(rows, cols, layout).unwrap();
        let mut x = zeros(4, 2, Layout::ColumnMajor);
        let refused = solver.solve(&zeros(4, 3, Layout::ColumnMajor), &mut x);
        assert!(matches!(refused, Err(Error::Shape { operand: "B", .. })), "{refused:?}");
        let message = solver.solve(&zeros(4, 2, Layout::RowMajor), &mut x).unwrap_err().to_string();
        assert_eq!(message, "the layout is row-major, but must be column-major");
        let b = zeros(4, 2, Layout::ColumnMajor);
        let refused = solver.solve(&b, &mut zeros(5, 2, Layout::ColumnMajor));
        assert!(matches!(refused, Err(Error::Shape { operand: "X", .. })), "{refused:?}");
        let mut none = MultiCg::new(&operator, &Identity, 0, options).unwrap();
        let empty = zeros(4, 0, Layout::ColumnMajor);
        assert!(none.solve(&empty, &mut zeros(4, 0, Layout::ColumnMajor)).unwrap().is_empty());
        let nothing = device.upload(&Csr::<f64>::empty(0, 0).unwrap()).unwrap();
        let operator = CsrOperator::new(&nothing).unwrap();
        let mut solver = MultiCg::new(&operator, &Identity, 2, options).unwrap();
        let reports =
            solver.solve(&zeros(0, 2, Layout::ColumnMajor), &mut zeros(0, 2, Layout::ColumnMajor)).unwrap();
        assert!(reports.iter().all(Report::is_converged));
    }
}
