//! A system solved directly: analysis, factorization, solutions, and new values. cuDSS computes on an NVIDIA GPU if it is there, otherwise
//! faer on the host.
//!
//! ```sh
//! cargo run --release --example direct -- stencil5:300
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::{Csr, Device, DeviceCsr, DeviceSlice, Layout, vector};
use evenpath_solvers::{DirectOptions, DirectSolver, Factorization};

const TOLERANCE: f64 = 1e-8;

fn main() -> ExitCode {
    support::on_matrix("stencil5:100", direct)
}

fn direct(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let a = device.upload(a)?;
    let options = DirectOptions::default()
        .with_factorization(Factorization::Lu)
        .with_refinement(1)
        .with_host_fallback(true);
    let mut solver = DirectSolver::new(&a, options)?;
    println!("{device}: {} unknowns, {} nonzeros", a.nrows(), a.nnz());
    println!("{}", solver.info()?);

    let mut b = device.zeros(a.nrows())?;
    vector::fill(1.0, &mut b)?;
    let mut is_right = solve(&solver, &a, &b)?;

    // New values: no other analysis.
    a.update_values(|values| vector::axpby(0.5, &a.values(), 1.0, values))?;
    solver.update(&a)?;
    println!("new values: factorization {:.2} ms", solver.info()?.factorization_ms);
    is_right &= solve(&solver, &a, &b)?;

    // Several right-hand sides, by columns.
    let columns = device.zeros_dense(a.nrows(), 4, Layout::ColumnMajor)?;
    let mut solutions = device.zeros_dense(a.nrows(), 4, Layout::ColumnMajor)?;
    let start = Instant::now();
    solver.solve_many(&columns, &mut solutions)?;
    device.synchronize()?;
    println!("4 right-hand sides: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(is_right && vector::norm2(solutions.as_vec())? == 0.0)
}

/// Solves Ax = b, and computes the residual.
fn solve(
    solver: &DirectSolver<f64>,
    a: &DeviceCsr<f64>,
    b: &DeviceSlice<f64>,
) -> Result<bool, Box<dyn Error>> {
    let device = a.device();
    let mut x = device.zeros(a.nrows())?;
    let start = Instant::now();
    solver.solve(b, &mut x)?;
    device.synchronize()?;
    let solve_ms = start.elapsed().as_secs_f64() * 1e3;

    let mut residual = device.zeros(a.nrows())?;
    residual.copy_from(b)?;
    a.spmv(-1.0, &x, 1.0, &mut residual)?;
    let (residual, norm) = (vector::norm2(&residual)?, vector::norm2(b)?);
    println!("solve {solve_ms:.2} ms, residual {residual:.2e}");
    Ok(residual <= TOLERANCE * norm)
}
