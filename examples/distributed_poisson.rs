//! Poisson's equation in a cube with seven points per unknown, over ranks: conjugate gradients with multigrid of the whole matrix, beside
//! multigrid of each rank's own part.
//!
//! ```sh
//! cargo run --release --example distributed_poisson -- --ranks 4 --device cpu --side 60
//! ```
//!
//! With `EVENPATH_RANK` and related variables, or with the feature `mpi` under `mpirun`, the program is one of several processes.

#[path = "../distributed/examples/support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::time::Instant;

use evenpath::spmv::SpmvOptions;
use evenpath::vector;
use evenpath_distributed::generate::Stencil;
use evenpath_distributed::{DistributedCsr, DistributedSpmvPlan, Rank};
use evenpath_solvers::{
    AmgOptions, Cg, DistributedOperator, DistributedSmoothedAggregation, LinearOperator, Preconditioner,
    SmoothedAggregation, SolverOptions,
};
use support::{Arguments, BoxedError};

const TOLERANCE: f64 = 1e-8;

fn main() -> ExitCode {
    support::run("side", |arguments: &Arguments| {
        let side = arguments.size.unwrap_or(if arguments.is_simulated() { 8 } else { 40 });
        let results = arguments.cluster()?.run(|rank| poisson(rank, side))?;
        Ok(results.into_iter().all(|is_solved| is_solved))
    })
}

/// `side` is the number of unknowns along an edge.
fn poisson(rank: &Rank, side: u32) -> Result<bool, BoxedError> {
    let grid = Stencil::seven_point(side);
    let a = DistributedCsr::from_fn(rank, grid.nrows(), grid.nrows(), |row, entries| grid.row(row, entries))?;
    let plan = a.plan_spmv(SpmvOptions::default())?;

    let start = Instant::now();
    // Small cubes have levels over ranks too.
    let options = AmgOptions::default().with_max_gathered(2000);
    let whole = DistributedSmoothedAggregation::new(&a, options)?;
    rank.barrier()?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if rank.index() == 0 {
        println!("{} ranks, {} levels over them\n{}", rank.size(), whole.distributed_levels(), whole.info()?);
    }
    let mut is_solved = solve(rank, &plan, &whole, &format!("the whole matrix, set up in {ms:.1} ms"))?;

    let of_rank = SmoothedAggregation::new(a.local(), AmgOptions::default())?;
    is_solved &= solve(rank, &plan, &of_rank, "each rank's own part")?;
    support::print_waits(rank)?;
    Ok(is_solved)
}

/// Solves for a vector of ones, and computes the residual anew.
fn solve(
    rank: &Rank,
    plan: &DistributedSpmvPlan<f64>,
    multigrid: &dyn Preconditioner<f64>,
    name: &str,
) -> Result<bool, BoxedError> {
    let operator = DistributedOperator::new(plan);
    let mut b = rank.device().uninitialized(operator.nrows())?;
    vector::fill(1.0, &mut b)?;
    let mut x = rank.device().zeros(operator.nrows())?;
    let options = SolverOptions::default().with_tolerance(TOLERANCE);
    let report = Cg::new(&operator, multigrid, options)?.solve(&b, &mut x)?;
    if rank.index() == 0 {
        let ms = report.times.total.as_secs_f64() * 1e3;
        println!(
            "multigrid of {name}: {} steps in {ms:.1} ms, residual {:.2e}",
            report.steps, report.residual
        );
    }
    let norm = operator.norm_over_ranks(vector::norm2(&b)?)?;
    plan.run_local(-1.0, &x, 1.0, &mut b)?;
    let residual = operator.norm_over_ranks(vector::norm2(&b)?)?;
    Ok(report.is_converged() && residual <= 1.01 * TOLERANCE * norm)
}
