//! Conjugate gradients over ranks: solves Ax = b for the five-point stencil on a square grid; each rank
//! builds and owns its rows.
//!
//! ```sh
//! cargo run --release --example distributed_cg -- --ranks 4 --device cpu --grid 300
//! ```
//!
//! With `EVENPATH_RANK` and related variables, or with the feature `mpi` under `mpirun`, the program is one
//! of several processes.

mod support;

use std::process::ExitCode;
use std::time::Instant;

use evenpath::spmv::SpmvOptions;
use evenpath_distributed::generate::Stencil;
use evenpath_distributed::{DistributedCsr, DistributedSpmvPlan, DistributedVec, Rank};
use support::{Arguments, BoxedError};

/// Residual relative to b at which the solver stops.
const TOLERANCE: f64 = 1e-8;
/// Number of steps between two lines of progress.
const PROGRESS: usize = 100;

fn main() -> ExitCode {
    support::run("grid", |arguments: &Arguments| {
        let side = arguments.size.unwrap_or(if arguments.is_simulated() { 16 } else { 200 });
        let results = arguments.cluster()?.run(|rank| solve(rank, side))?;
        Ok(results.into_iter().all(|is_solved| is_solved))
    })
}

fn solve(rank: &Rank, side: u32) -> Result<bool, BoxedError> {
    let grid = Stencil::five_point(side);
    let a = DistributedCsr::from_fn(rank, grid.nrows(), grid.nrows(), |row, entries| grid.row(row, entries))?;
    report_matrix(rank, &a)?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    let b = DistributedVec::from_fn(rank, a.row_partition(), |_| 1.0)?;
    let mut x = DistributedVec::zeros(rank, a.col_partition())?;
    rank.barrier()?;
    let start = Instant::now();
    let steps = conjugate_gradients(&plan, &b, &mut x, 10 * side as usize + 100)?;
    let seconds = start.elapsed().as_secs_f64();

    // The true residual, b − Ax. It differs by rounding from the one that the steps update.
    let mut residual = DistributedVec::zeros(rank, a.row_partition())?;
    residual.copy_from(&b)?;
    plan.run(-1.0, &x, 1.0, &mut residual)?;
    let relative = residual.norm2()? / b.norm2()?;
    if rank.index() == 0 {
        let each = seconds * 1e6 / steps.max(1) as f64;
        println!(
            "{steps} steps in {seconds:.3} s, {each:.1} µs each; residual {relative:.2e}, relative to b"
        );
    }
    support::print_waits(rank)?;
    Ok(relative <= 10.0 * TOLERANCE)
}

/// Solves by the method of Hestenes and Stiefel (J. Res. Nat. Bur. Standards 49, 1952), from x = 0. Returns
/// the number of steps.
fn conjugate_gradients(
    plan: &DistributedSpmvPlan<f64>,
    b: &DistributedVec<f64>,
    x: &mut DistributedVec<f64>,
    most_steps: usize,
) -> Result<usize, BoxedError> {
    let (rank, partition) = (b.rank(), b.partition());
    let mut r = DistributedVec::zeros(rank, partition)?;
    let (mut p, mut ap) = (DistributedVec::zeros(rank, partition)?, DistributedVec::zeros(rank, partition)?);
    r.copy_from(b)?;
    p.copy_from(b)?;
    let mut rr = r.dot(&r)?;
    let limit = TOLERANCE * b.norm2()?;
    for step in 0..most_steps {
        if rank.index() == 0 && step % PROGRESS == 0 {
            println!("step {step}: residual {:.2e}", rr.sqrt());
        }
        // The number is the same on all ranks, so all stop.
        if rr.sqrt() <= limit || rr.is_nan() {
            return Ok(step);
        }
        plan.run(1.0, &p, 0.0, &mut ap)?;
        let alpha = rr / p.dot(&ap)?;
        x.axpby(alpha, &p, 1.0)?;
        r.axpby(-alpha, &ap, 1.0)?;
        let next = r.dot(&r)?;
        p.axpby(1.0, &r, next / rr)?; // p = r + βp
        rr = next;
    }
    Ok(most_steps)
}

fn report_matrix(rank: &Rank, a: &DistributedCsr<f64>) -> Result<(), BoxedError> {
    let own = [a.row_partition().len(rank.index()), a.local_nnz() as u64, a.halo().columns().len() as u64];
    let Some(all) = rank.gather(0, &own)? else { return Ok(()) };
    let (rows, cols, size, device) = (a.nrows(), a.ncols(), rank.size(), rank.device());
    println!("{rows} x {cols}, {size} ranks on {device}, exchange by {}", rank.exchange());
    for (index, counts) in all.iter().enumerate() {
        println!(
            "rank {index}: {} rows, {} nonzeros, {} elements of others",
            counts[0], counts[1], counts[2]
        );
    }
    Ok(())
}
