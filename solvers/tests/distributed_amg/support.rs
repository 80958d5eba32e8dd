//! Matrices over ranks, and solves with them.

use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, DeviceVec, Value};
use evenpath_distributed::{Cluster, DistributedCsr, Rank, RowPartition};
use evenpath_solvers::{
    AmgOptions, Cg, CsrOperator, DistributedOperator, DistributedSmoothedAggregation, Preconditioner, Report,
    Result, SmoothedAggregation, SolverOptions,
};

use crate::support::{check_solution, vector};

/// Coarsens small matrices over ranks too.
pub(super) fn deep() -> AmgOptions {
    AmgOptions::default().with_max_coarse(12).with_max_gathered(60)
}

/// Runs a function on ranks that have the matrix with these boundaries.
pub(super) fn on_ranks<V: Value, T: Send>(
    device: &Device,
    boundaries: &[u64],
    a: &Csr<V>,
    body: impl Fn(&Rank, &DistributedCsr<V>) -> Result<T> + Sync,
) -> Vec<T> {
    let mut cluster = Cluster::local((1..boundaries.len()).map(|_| device.clone())).unwrap();
    let run = |rank: &Rank| body(rank, &distributed(rank, boundaries, a)?);
    cluster.run(run).unwrap()
}

pub(super) fn distributed<V: Value>(
    rank: &Rank,
    boundaries: &[u64],
    a: &Csr<V>,
) -> Result<DistributedCsr<V>> {
    let rows = RowPartition::from_boundaries(boundaries.to_vec())?;
    Ok(DistributedCsr::scatter_on(rank, 0, Some(a), &rows, &rows)?)
}

/// Equal numbers of nodes of `block_size` rows.
pub(super) fn even(nodes: usize, ranks: usize, block_size: usize) -> Vec<u64> {
    (0..=ranks).map(|rank| (nodes * rank / ranks * block_size) as u64).collect()
}

/// The rank's elements.
pub(super) fn part<V: Value>(rank: &Rank, a: &DistributedCsr<V>, x: &[V]) -> DeviceVec<V> {
    let own = a.row_partition().range(rank.index());
    rank.device().upload(&x[own.start as usize..own.end as usize]).unwrap()
}

/// The rank's part of M⁻¹r.
pub(super) fn applied<V: Value>(
    rank: &Rank,
    a: &DistributedCsr<V>,
    multigrid: &impl Preconditioner<V>,
    r: &[V],
) -> Result<Vec<V>> {
    let r = part(rank, a, r);
    let mut z = rank.device().zeros(r.len())?;
    multigrid.apply(&r, &mut z)?;
    Ok(z.download()?)
}

/// Solves by CG. Returns the report and the rank's part of x.
pub(super) fn solve<V: Value>(
    rank: &Rank,
    a: &DistributedCsr<V>,
    multigrid: &dyn Preconditioner<V>,
    (b, tolerance): (&[V], f64),
) -> Result<(Report, Vec<V>)> {
    let plan = a.plan_spmv(SpmvOptions::default())?;
    let operator = DistributedOperator::new(&plan);
    let b = part(rank, a, b);
    let mut x = rank.device().zeros(b.len())?;
    let options = SolverOptions::default().with_tolerance(tolerance);
    let report = Cg::new(&operator, multigrid, options)?.solve(&b, &mut x)?;
    assert!(report.is_converged(), "{rank:?}: {report}");
    Ok((report, x.download()?))
}

/// Sets up over ranks, solves, checks the solution, and returns the number of steps.
pub(super) fn steps<V: Value>(
    device: &Device,
    boundaries: &[u64],
    a: &Csr<V>,
    options: AmgOptions,
    tolerance: f64,
) -> usize {
    let b = vector(a.nrows());
    let parts = on_ranks(device, boundaries, a, |rank, a| {
        let multigrid = DistributedSmoothedAggregation::new(a, options)?;
        solve(rank, a, &multigrid, (&b, tolerance))
    });
    let steps = parts[0].0.steps;
    assert!(parts.iter().all(|(report, _)| report.steps == steps));
    let x: Vec<V> = parts.into_iter().flat_map(|(_, part)| part).collect();
    check_solution(a, &x, &b, 2.0 * tolerance);
    steps
}

/// Steps with multigrid on one device.
pub(super) fn steps_on_one<V: Value>(
    device: &Device,
    a: &Csr<V>,
    options: AmgOptions,
    tolerance: f64,
) -> usize {
    let on_device = device.upload(a).unwrap();
    let multigrid = SmoothedAggregation::new(&on_device, options).unwrap();
    let operator = CsrOperator::new(&on_device).unwrap();
    let options = SolverOptions::default().with_tolerance(tolerance);
    let (b, mut x) = (device.upload(&vector(a.nrows())).unwrap(), device.zeros(a.nrows()).unwrap());
    Cg::new(&operator, &multigrid, options).unwrap().solve(&b, &mut x).unwrap().steps
}
