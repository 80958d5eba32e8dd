//! Partitions and matrices with ranks that have little or nothing to do.

use evenpath::Csr;
use evenpath_solvers::DistributedSmoothedAggregation;
use evenpath_tests::device_of_each_kind;

use super::support::{applied, deep, even, on_ranks, solve, steps};
use crate::support::problems::{diffusion, poisson};
use crate::support::{relative_residual, vector};

#[test]
fn every_partition_solves() {
    for device in device_of_each_kind() {
        let a = poisson::<f64>(&[11, 10], &[1.0; 2]);
        for boundaries in [
            &[0, 0, 55, 110][..],
            &[0, 110, 110],
            &[0, 0, 0, 110],
            &[0, 1, 2, 110],
            &[0, 37, 37, 38, 110, 110],
        ] {
            let found = steps(&device, boundaries, &a, deep(), 1e-8);
            assert!(found <= 11, "{device}, {boundaries:?}: {found} steps");
        }
    }
}

#[test]
fn tiny_and_disconnected_matrices_are_solved_over_ranks() {
    for device in device_of_each_kind() {
        // More ranks than rows, also over ranks down to one row on each.
        for (rows, options) in [(1, deep()), (2, deep()), (3, deep().with_max_gathered(0).with_max_coarse(1))]
        {
            let a = poisson::<f64>(&[rows], &[1.0]);
            assert!(steps(&device, &even(rows, 5, 1), &a, options, 1e-10) <= 4, "{device}, {rows} rows");
        }
        let empty: Csr<f64> = Csr::from_triplets(0, 0, []).unwrap();
        let found = on_ranks(&device, &[0, 0, 0], &empty, |rank, a| {
            let multigrid = DistributedSmoothedAggregation::new(a, deep())?;
            assert!((multigrid.info()?.operator_complexity() - 1.0).abs() < 1e-15);
            applied(rank, a, &multigrid, &[])
        });
        assert!(found.iter().all(Vec::is_empty));
    }
}

#[test]
fn ranks_without_couplings_are_solved() {
    for device in device_of_each_kind() {
        let diagonal: Csr<f64> =
            Csr::from_triplets(90, 90, (0..90).map(|at| (at, at, 1.0 + at as f64))).unwrap();
        assert!(steps(&device, &even(90, 3, 1), &diagonal, deep(), 1e-10) <= 2);
        // The first rank's rows have no neighbors at all; the others' have none on another rank.
        let parts = [&diagonal, &poisson(&[9, 9], &[1e4; 2]), &poisson(&[80], &[1.0])];
        let a = Csr::block_diagonal(&parts).unwrap();
        for boundaries in [&[0, 90, 171, 251][..], &[0, 80, 160, 251]] {
            let found = steps(&device, boundaries, &a, deep(), 1e-8);
            assert!(found <= 17, "{device}, {boundaries:?}: {found} steps");
        }
    }
}

#[test]
fn singular_problems_are_solved_over_ranks() {
    for device in device_of_each_kind() {
        let a = diffusion::<f64>(&[17, 16], |_, _, _| 1.0, &[false; 2]);
        let mut b = vec![0.0; a.nrows()];
        a.spmv(1.0, &vector(a.nrows()), 0.0, &mut b).unwrap();
        let parts = on_ranks(&device, &even(272, 3, 1), &a, |rank, a| {
            let multigrid = DistributedSmoothedAggregation::new(a, deep())?;
            solve(rank, a, &multigrid, (&b, 1e-8))
        });
        let steps = parts[0].0.steps;
        let x: Vec<f64> = parts.into_iter().flat_map(|(_, part)| part).collect();
        assert!(steps <= 16 && relative_residual(&a, &x, &b) <= 2e-8, "{device}: {steps} steps");
    }
}
