//! Matrices, and a check of solutions that uses nothing of the library but the matrix.

pub(crate) mod checks;
pub(crate) mod complex;
mod dense;
pub(crate) mod problems;
mod systems;

use evenpath::{Csr, Device, Scalar, Value};
use evenpath_solvers::{CsrOperator, Identity, Method, Preconditioner, Report, SolverOptions};

pub(crate) use dense::{dense, solve_dense};
pub(crate) use systems::{
    UserOperator, convection, cycle, dense_matrix, indefinite, neumann, scaled, spd, zero_mean,
};

/// Five-point stencil on a square grid of `side` by `side`.
pub(crate) fn grid<V: Value>(side: usize) -> Csr<V> {
    let mut entries = Vec::new();
    for (row, (i, j)) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))).enumerate() {
        entries.push((row, row, V::from_f64(4.0)));
        for (is_inside, neighbor) in [
            (i > 0, row.wrapping_sub(side)),
            (j > 0, row.wrapping_sub(1)),
            (j + 1 < side, row + 1),
            (i + 1 < side, row + side),
        ] {
            if is_inside {
                entries.push((row, neighbor, V::from_f64(-1.0)));
            }
        }
    }
    Csr::from_triplets(side * side, side * side, entries).unwrap()
}

/// A vector without symmetry, of numbers between −1 and 1.
pub(crate) fn vector<V: Value>(len: usize) -> Vec<V> {
    (0..len).map(|at| V::from_f64(((at * 37 + 11) % 101) as f64 / 50.0 - 1.0)).collect()
}

/// ‖b − Ax‖₂ / ‖b‖₂, computed in f64.
pub(crate) fn relative_residual<V: Value>(a: &Csr<V>, x: &[V], b: &[V]) -> f64 {
    let (mut residual, mut norm) = (0.0, 0.0);
    for (row, &b) in a.iter_rows().zip(b) {
        let ax: f64 = row.iter().map(|(col, value)| value.to_f64() * x[col as usize].to_f64()).sum();
        residual += (b.to_f64() - ax).powi(2);
        norm += b.to_f64().powi(2);
    }
    (residual / norm).sqrt()
}

/// Checks that x solves Ax = b to a relative residual of `tolerance`.
pub(crate) fn check_solution<V: Value>(a: &Csr<V>, x: &[V], b: &[V], tolerance: f64) {
    let residual = relative_residual(a, x, b);
    assert!(residual <= tolerance, "residual {residual:.2e}, limit {tolerance:.2e}");
}

/// A solve by a method on a device, from zero, without a preconditioner. Returns the report and x.
pub(crate) fn run<V: Scalar>(
    device: &Device,
    method: Method,
    (a, b): (&Csr<V>, &[V]),
    options: SolverOptions,
) -> (Report, Vec<V>) {
    run_from(device, method, (a, b, &vec![V::ZERO; a.ncols()]), options, &Identity)
}

/// [`run`] from a guess, with a preconditioner.
pub(crate) fn run_from<V: Scalar>(
    device: &Device,
    method: Method,
    (a, b, guess): (&Csr<V>, &[V], &[V]),
    options: SolverOptions,
    preconditioner: &dyn Preconditioner<V>,
) -> (Report, Vec<V>) {
    let operator = CsrOperator::new(&device.upload(a).unwrap()).unwrap().with_transpose().unwrap();
    let mut solver = method.solver(&operator, preconditioner, options).unwrap();
    let (b, mut x) = (device.upload(b).unwrap(), device.upload(guess).unwrap());
    let report = solver.solve(&b, &mut x).unwrap_or_else(|error| panic!("{device}, {method}: {error}"));
    assert_eq!(report.history.len(), report.steps + 1);
    (report, x.download().unwrap())
}
