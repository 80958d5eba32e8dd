//! Checks of what a method returns, for real and complex matrices.

use evenpath::{Csr, Device, Scalar};
use evenpath_solvers::{Breakdown, Identity, Jacobi, Method, Outcome, Preconditioner, Report, SolverOptions};
use evenpath_tests::devices;

use super::complex::{C64, assert_near, dense, exact, norm, times};
use super::dense::solve_dense;
use super::run_from;

/// The tolerance of a method, on which the limit of the error of x depends.
pub(crate) fn tolerance<V: Scalar>() -> f64 {
    if size_of::<V::Real>() == 4 { 2e-6 } else { 1e-11 }
}

pub(crate) fn options<V: Scalar>() -> SolverOptions {
    SolverOptions::default().with_tolerance(tolerance::<V>()).with_stagnation_steps(200)
}

/// Methods for any square matrix.
pub(crate) const GENERAL: [Method; 3] = [Method::BiCgStab, Method::Gmres, Method::Fgmres];

/// Checks that a method converges, and finds the solution of Gaussian elimination.
pub(crate) fn check<V: Scalar>(
    device: &Device,
    method: Method,
    (a, b): (&Csr<V>, &[V]),
    preconditioner: &dyn Preconditioner<V>,
) {
    let guess = vec![V::ZERO; a.ncols()];
    let (report, x) = run_from(device, method, (a, b, &guess), options::<V>(), preconditioner);
    assert_eq!(report.outcome, Outcome::Converged, "{device}, {}: {report}", a.nrows());
    let [b, x] = [b, &x].map(|vector| vector.iter().copied().map(exact).collect::<Vec<C64>>());
    let a = dense(a);
    let residual: Vec<C64> = b.iter().zip(times(&a, &x)).map(|(b, ax)| b - ax).collect();
    let relative = norm(&residual) / norm(&b);
    assert!(relative <= 1.5 * tolerance::<V>(), "{device}, {method}: {relative}");
    assert!((report.residual - relative).abs() <= 0.5 * tolerance::<V>(), "{device}: {report}, {relative}");
    assert_near(&format!("{device}, {method}"), &x, &solve_dense(a, &b), 50.0 * tolerance::<V>());
}

/// [`check`] on matrices and right-hand sides of some sizes, on all devices, also with Jacobi's preconditioner if it suits.
pub(crate) fn check_all<V: Scalar>(
    methods: &[Method],
    sizes: &[usize],
    (matrix, vector): (impl Fn(usize) -> Csr<V>, impl Fn(usize) -> Vec<V>),
    with_jacobi: bool,
) {
    for under_test in devices() {
        let device = &under_test.device;
        for &size in sizes {
            let (a, b) = (matrix(size), vector(size));
            let jacobi = Jacobi::new(&device.upload(&a).unwrap()).unwrap();
            for &method in methods {
                check(device, method, (&a, &b), &Identity);
                if with_jacobi {
                    check(device, method, (&a, &b), &jacobi);
                }
            }
        }
    }
}

/// Checks that a report says the right thing about a singular system without a solution.
pub(crate) fn assert_without_solution(device: &Device, method: Method, report: &Report) {
    let is_named = match method {
        Method::Minres | Method::Gmres | Method::Fgmres => {
            report.outcome == Outcome::Breakdown(Breakdown::Singular)
        }
        Method::Lsqr => report.outcome == Outcome::LeastSquares,
        _ => !report.is_converged() && report.outcome != Outcome::NotANumber,
    };
    assert!(is_named, "{device}: {report}");
}
