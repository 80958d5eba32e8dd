use evenpath::{Csr, Device, Value};
use evenpath_solvers::{AmgOptions, Cg, CsrOperator, SmoothedAggregation, SolverOptions};
use evenpath_tests::devices;

use crate::support::{check_solution, grid, vector};

/// Solves by CG, checks the solution, and returns the number of steps.
fn steps<V: Value>(device: &Device, a: &Csr<V>, options: AmgOptions, tolerance: f64) -> usize {
    let on_device = device.upload(a).unwrap();
    let multigrid = SmoothedAggregation::new(&on_device, options).unwrap();
    let operator = CsrOperator::new(&on_device).unwrap();
    let options = SolverOptions::default().with_tolerance(tolerance);
    let mut solver = Cg::new(&operator, &multigrid, options).unwrap();
    let b = vector(a.nrows());
    let (b_on_device, mut x) = (device.upload(&b).unwrap(), device.zeros(a.nrows()).unwrap());
    let report = solver.solve(&b_on_device, &mut x).unwrap();
    assert!(report.is_converged(), "{device}: {report}\n{}", multigrid.info().unwrap());
    check_solution(a, &x.download().unwrap(), &b, 2.0 * tolerance);
    report.steps
}

#[test]
fn poisson_in_two_dimensions() {
    for under_test in devices() {
        let options = AmgOptions::default().with_max_coarse(20);
        assert!(steps::<f64>(&under_test.device, &grid(40), options, 1e-8) <= 20);
        assert!(steps::<f32>(&under_test.device, &grid(24), options, 1e-4) <= 12);
    }
}
