//! Poisson's equation in a cube with seven points per unknown: conjugate gradients with algebraic multigrid.
//!
//! ```sh
//! cargo run --release --example poisson -- 200
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::{Device, vector};
use evenpath_solvers::{AmgOptions, Cg, CsrOperator, SmoothedAggregation, SolverOptions};
use support::grid;

const TOLERANCE: f64 = 1e-8;

fn main() -> ExitCode {
    support::on_size("SIDE", 1..=600, (100, 8), poisson)
}

/// `side` is the number of unknowns along an edge.
fn poisson(device: &Device, side: usize) -> Result<bool, Box<dyn Error>> {
    let a = grid::cube(device, side)?;
    let mut b = device.uninitialized(a.nrows())?;
    vector::fill(1.0, &mut b)?;

    let start = Instant::now();
    let multigrid = SmoothedAggregation::new(&a, AmgOptions::default())?;
    device.synchronize()?;
    let set_up_ms = start.elapsed().as_secs_f64() * 1e3;
    println!("{}", multigrid.info()?);

    let operator = CsrOperator::new(&a)?;
    let options = SolverOptions::default().with_tolerance(TOLERANCE);
    let mut x = device.zeros(a.nrows())?;
    let report = Cg::new(&operator, &multigrid, options)?.solve(&b, &mut x)?;
    println!("{device}: {} unknowns, {} steps, residual {:.2e}", a.nrows(), report.steps, report.residual);
    println!("set-up {set_up_ms:.2} ms, solve {:.2} ms", report.times.total.as_secs_f64() * 1e3);

    // The residual, computed anew.
    let norm = vector::norm2(&b)?;
    a.spmv(-1.0, &x, 1.0, &mut b)?;
    Ok(report.is_converged() && vector::norm2(&b)? <= 1.01 * TOLERANCE * norm)
}
