//! Rounding in pipelined conjugate gradients, on the CPU, where many steps take little time.

use evenpath::{Csr, Device};
use evenpath_solvers::{Method, Outcome, SolverOptions};

use crate::support::{check_solution, grid, run, vector};

/// Second differences in one dimension, of condition (2n/π)².
fn line(n: usize) -> Csr<f64> {
    let entries = (0..n).flat_map(|row| {
        let beside = (row + 1 < n).then(|| [(row, row + 1, -1.0), (row + 1, row, -1.0)]);
        std::iter::once((row, row, 2.0)).chain(beside.into_iter().flatten())
    });
    Csr::from_triplets(n, n, entries).unwrap()
}

#[test]
fn many_steps_need_about_as_many_as_conjugate_gradients() {
    let device = Device::cpu();
    for a in [grid(60), line(700)] {
        let b = vector(a.nrows());
        let options = SolverOptions::default().with_tolerance(1e-11);
        let [cg, pipelined] = [Method::Cg, Method::PipelinedCg].map(|method| {
            let (report, x) = run(&device, method, (&a, &b), options);
            assert_eq!(report.outcome, Outcome::Converged, "{report}");
            check_solution(&a, &x, &b, 1e-11);
            report.steps
        });
        assert!(pipelined <= cg + cg / 5, "{pipelined} steps, {cg} of CG");
    }
}
