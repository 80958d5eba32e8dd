use evenpath::Csr;
use evenpath_solvers::{Cg, CsrOperator, Identity, Jacobi, Outcome, SolverOptions};
use evenpath_tests::devices;

use crate::support::{check_solution, grid, vector};

#[test]
fn solves_grids_with_and_without_a_preconditioner() {
    for under_test in devices() {
        let device = &under_test.device;
        for side in [1, 2, 7, 12] {
            let a: Csr<f64> = grid(side);
            let on_device = device.upload(&a).unwrap();
            let operator = CsrOperator::new(&on_device).unwrap();
            let options = SolverOptions::default().with_tolerance(1e-10);
            let b = vector(a.nrows());
            for jacobi in [false, true] {
                let inverse = Jacobi::new(&on_device).unwrap();
                let preconditioner: &dyn evenpath_solvers::Preconditioner<f64> =
                    if jacobi { &inverse } else { &Identity };
                let mut solver = Cg::new(&operator, preconditioner, options).unwrap();
                let (b_on_device, mut x) = (device.upload(&b).unwrap(), device.zeros(a.nrows()).unwrap());
                let report = solver.solve(&b_on_device, &mut x).unwrap();
                assert_eq!(report.outcome, Outcome::Converged, "{device}, {side}: {report}");
                check_solution(&a, &x.download().unwrap(), &b, 1e-9);
            }
        }
    }
}
