//! Multigrid that is set up and solves again and again: all bits are the same.

use evenpath::{Csr, Device, DeviceCsr, Value};
use evenpath_solvers::{AmgOptions, AmgSmoother, Cg, CsrOperator, SmoothedAggregation, SolverOptions};
use evenpath_tests::devices;

use crate::support::problems::{diffusion, poisson};
use crate::support::{scaled, vector};

fn matrix_bytes<V: Value>(a: &DeviceCsr<V>) -> Vec<u8> {
    let a = a.download().unwrap();
    let parts = [bytemuck::cast_slice(a.row_offsets()), bytemuck::cast_slice(a.column_indices())];
    [parts[0], parts[1], bytemuck::cast_slice(a.values())].concat()
}

/// The bits of all levels of a new hierarchy, those of the residuals of a solve with it, and those of x.
fn bits<V: Value>(device: &Device, a: &Csr<V>, options: AmgOptions) -> Vec<Vec<u8>> {
    let a = device.upload(a).unwrap();
    let multigrid = SmoothedAggregation::new(&a, options).unwrap();
    let mut all = Vec::new();
    for level in (0..).map_while(|at| multigrid.level(at)) {
        all.push(matrix_bytes(level.matrix));
        all.push(bytemuck::cast_slice(&level.inverse_diagonal.download().unwrap()).to_vec());
        all.push(level.spectral_radius.to_bits().to_le_bytes().to_vec());
        all.extend([level.prolongation, level.inverse].into_iter().flatten().map(matrix_bytes));
    }
    assert_eq!(all.len(), 4 * multigrid.info().unwrap().levels.len());
    let operator = CsrOperator::new(&a).unwrap();
    let mut solver = Cg::new(&operator, &multigrid, SolverOptions::default()).unwrap();
    let (b, mut x) = (device.upload(&vector(a.nrows())).unwrap(), device.zeros(a.nrows()).unwrap());
    let report = solver.solve(&b, &mut x).unwrap();
    assert!(report.is_converged(), "{device}: {report}");
    all.push(bytemuck::cast_slice(&report.history).to_vec());
    all.push(bytemuck::cast_slice(&x.download().unwrap()).to_vec());
    all
}

fn check<V: Value>(device: &Device, a: &Csr<V>, options: AmgOptions) {
    let first = bits(device, a, options);
    for _ in 0..2 {
        assert!(bits(device, a, options) == first, "{device}, {} rows: other bits", a.nrows());
    }
    // Other values have other bits: the matrix and its prolongation are among those that are compared.
    let other = bits(device, &scaled(a, 1.0 + 1e-6), options);
    assert!(other[0] != first[0] && other[1] != first[1] && other.last() != first.last());
}

#[test]
fn hierarchies_and_solutions_have_the_same_bits_in_every_run() {
    for under_test in devices() {
        let device = &under_test.device;
        let small = AmgOptions::default().with_max_coarse(30);
        check(device, &poisson::<f64>(&[19, 17], &[1.0, 1.0]), small);
        check(device, &poisson::<f32>(&[7, 8, 5], &[1.0; 3]), small);
        let jumps = |one: usize, other: usize, _: usize| if (one + other) % 7 < 3 { 1e4 } else { 1.0 };
        let sweeps = small.with_smoother(AmgSmoother::GaussSeidel { sweeps: 1 });
        check(device, &diffusion::<f64>(&[18, 15], jumps, &[true; 2]), sweeps);
    }
}
