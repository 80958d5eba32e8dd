//! The lowest modes of a square membrane with a fixed edge: LOBPCG with algebraic multigrid, on a grid with five points per unknown.
//!
//! ```sh
//! cargo run --release --example eigenmodes -- 1000
//! ```

mod support;

use std::error::Error;
use std::f64::consts::PI;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::{Device, Layout, vector};
use evenpath_solvers::{AmgOptions, CsrOperator, Lobpcg, SmoothedAggregation, SolverOptions};
use support::grid;

const MODES: usize = 6;
const TOLERANCE: f64 = 1e-8;

fn main() -> ExitCode {
    support::on_size("SIDE", 3..=5000, (200, 16), eigenmodes)
}

/// `side` is the number of unknowns along an edge.
fn eigenmodes(device: &Device, side: usize) -> Result<bool, Box<dyn Error>> {
    let a = grid::square(device, side)?;
    let start = Instant::now();
    let multigrid = SmoothedAggregation::new(&a, AmgOptions::default())?;
    device.synchronize()?;
    let set_up_ms = start.elapsed().as_secs_f64() * 1e3;

    let operator = CsrOperator::new(&a)?;
    let options = SolverOptions::default().with_tolerance(TOLERANCE);
    let mut x = device.zeros_dense(a.nrows(), MODES, Layout::ColumnMajor)?; // vectors of the solver's choice
    let report = Lobpcg::new(&operator, &multigrid, MODES, options)?.solve(&mut x)?;
    println!("{device}: {} unknowns, set-up {set_up_ms:.2} ms", a.nrows());
    println!("{report}");

    println!("mode  frequency    eigenvalue          error    residual");
    let mut are_right = report.is_converged();
    for (mode, (&found, known)) in report.eigenvalues.iter().zip(known(side)).enumerate() {
        let vector = x.as_vec().slice(mode * a.nrows()..(mode + 1) * a.nrows())?;
        let mut residual = device.uninitialized(a.nrows())?;
        residual.copy_from(&*vector)?;
        a.spmv(1.0, &vector, -found, &mut residual)?;
        let (residual, error) = (vector::norm2(&residual)? / vector::norm2(&vector)?, found - known);
        // Frequencies of a membrane whose lowest one is 1.
        let frequency = (found / report.eigenvalues[0]).sqrt();
        println!("{mode:>4} {frequency:>10.4} {found:>13.6e} {error:>14.2e} {residual:>11.2e}");
        // An eigenvalue is within the residual of a unit vector. Those of `a` are at most 8.
        are_right &= residual <= 8.1 * TOLERANCE && error.abs() <= residual + 1e-13;
    }
    Ok(are_right)
}

/// The smallest eigenvalues of the grid, in ascending order. They belong to waves in both directions.
fn known(side: usize) -> Vec<f64> {
    // 2 − 2 cos(πk / (n + 1)), without cancellation.
    let of_line = |waves: usize| 4.0 * (0.5 * PI * waves as f64 / (side + 1) as f64).sin().powi(2);
    let waves = 1..=MODES.min(side);
    let mut values: Vec<f64> =
        waves.clone().flat_map(|x| waves.clone().map(move |y| of_line(x) + of_line(y))).collect();
    values.sort_by(f64::total_cmp);
    values.truncate(MODES);
    values
}
