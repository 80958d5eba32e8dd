use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device};
use evenpath_distributed::generate::Stencil;
use evenpath_distributed::{Cluster, DistributedCsr};
use evenpath_solvers::{
    AmgOptions, DistributedOperator, Error, Identity, Method, SmoothedAggregation, SolverOptions,
};
use evenpath_tests::device_of_each_kind;

use crate::support::{check_solution, grid, vector};

const SIDE: usize = 13;

/// The steps and the solution, of which each rank has a part.
fn solve(device: &Device, ranks: usize, method: Method, is_multigrid: bool) -> (usize, Vec<f64>) {
    let mut cluster = Cluster::local((0..ranks).map(|_| device.clone())).unwrap();
    let (stencil, rows, b) =
        (Stencil::five_point(SIDE as u32), (SIDE * SIDE) as u64, vector::<f64>(SIDE * SIDE));
    let parts = cluster
        .run(|rank| -> Result<_, Error> {
            let a = DistributedCsr::from_fn(rank, rows, rows, |row, entries| stencil.row(row, entries))?;
            let plan = a.plan_spmv(SpmvOptions::default())?;
            let range = a.row_partition().range(rank.index());
            let b = rank.device().upload(&b[range.start as usize..range.end as usize])?;
            let mut x = rank.device().zeros(b.len())?;
            let operator = DistributedOperator::new(&plan);
            let multigrid = SmoothedAggregation::new(a.local(), AmgOptions::default())?;
            let options = SolverOptions::default().with_tolerance(1e-9);
            let report = if is_multigrid {
                method.solver(&operator, &multigrid, options)?.solve(&b, &mut x)?
            } else {
                method.solver(&operator, &Identity, options)?.solve(&b, &mut x)?
            };
            assert!(report.is_converged(), "{report}");
            Ok((report.steps, x.download()?))
        })
        .unwrap();
    assert!(parts.iter().all(|(steps, _)| *steps == parts[0].0));
    (parts[0].0, parts.into_iter().flat_map(|(_, part)| part).collect())
}

#[test]
fn ranks_solve_what_one_device_solves() {
    let (a, b): (Csr<f64>, Vec<f64>) = (grid(SIDE), vector(SIDE * SIDE));
    for device in device_of_each_kind() {
        for method in [Method::Cg, Method::Gmres, Method::BiCgStab, Method::Minres, Method::PipelinedCg] {
            for ranks in [1, 3] {
                let (plain, x) = solve(&device, ranks, method, false);
                check_solution(&a, &x, &b, 1e-8);
                let again = solve(&device, ranks, method, false);
                assert_eq!(again, (plain, x), "{method} on {ranks} ranks of {device}");
                let (few, x) = solve(&device, ranks, method, true);
                check_solution(&a, &x, &b, 1e-8);
                assert!(
                    few < plain,
                    "{method} on {ranks} ranks of {device}: {few} steps, {plain} without multigrid"
                );
            }
        }
    }
}
