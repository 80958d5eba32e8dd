//! Conjugate gradients with Jacobi preconditioning: solves Ax = b for a symmetric positive definite A. The default is the
//! stiffness matrix of a dam.
//!
//! ```sh
//! cargo run --release --example conjugate_gradients
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, vector};

/// The solver stops when the residual is this small, relative to b.
const TOLERANCE: f64 = 1e-8;
const MAX_STEPS: usize = 10_000;

fn main() -> ExitCode {
    support::on_matrix(concat!(env!("CARGO_MANIFEST_DIR"), "/data/bcsstk16.mtx.gz"), conjugate_gradients)
}

fn conjugate_gradients(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    if a.rows() != a.cols() {
        return Err(format!("the matrix is {} x {}, and must be square", a.rows(), a.cols()).into());
    }
    let b: Vec<f64> = a.iter_rows().map(|row| row.values().iter().sum()).collect(); // so that x is all ones
    let (x, steps) = solve(device, a, &b)?;
    println!("{device}: {steps} steps");

    // The true residual, b − Ax. Rounding makes it differ from the one that the steps update.
    let (mut residual, mut norm_b) = (0.0, 0.0);
    for (row, b) in a.iter_rows().zip(&b) {
        let ax: f64 = row.iter().map(|(col, value)| value * x[col as usize]).sum();
        residual += (b - ax) * (b - ax);
        norm_b += b * b;
    }
    println!("residual {:.2e}, relative to b {:.2e}", residual.sqrt(), (residual / norm_b).sqrt());
    Ok(residual.sqrt() <= 10.0 * TOLERANCE * norm_b.sqrt())
}

/// The method of Hestenes and Stiefel (J. Res. Nat. Bur. Standards 49, 1952), from x = 0: x, and the number of steps. The
/// vectors stay on the device; the host sees three scalars per step.
fn solve(device: &Device, a: &Csr<f64>, b: &[f64]) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let inverse_diagonal: Vec<f64> = (0..a.rows()).map(|i| 1.0 / a.get(i, i).unwrap_or(0.0)).collect();
    if let Some(row) = inverse_diagonal.iter().position(|inverse| !inverse.is_finite() || *inverse < 0.0) {
        return Err(format!("row {row} has no positive entry on the diagonal").into());
    }
    let inverse_diagonal = device.upload(&inverse_diagonal)?;
    let plan = device.upload(a)?.plan_spmv(SpmvOptions::default())?;

    let mut x = device.zeros(b.len())?;
    let mut r = device.upload(b)?; // the residual, b − Ax
    let mut z = device.zeros(b.len())?; // the residual, preconditioned
    vector::multiply_elements(&inverse_diagonal, &r, &mut z)?;
    let mut p = device.zeros(b.len())?; // the search direction
    p.copy_from(&z)?;
    let mut ap = device.zeros(b.len())?;

    let norm_b = vector::dot(&r, &r)?.sqrt();
    let mut rz = vector::dot(&r, &z)?;
    for step in 0..MAX_STEPS {
        // A residual of NaN ends the loop too.
        let residual = vector::dot(&r, &r)?.sqrt();
        if residual.is_nan() || residual <= TOLERANCE * norm_b {
            return Ok((x.download()?, step));
        }
        plan.run(1.0, &p, 0.0, &mut ap)?;
        let alpha = rz / vector::dot(&p, &ap)?;
        vector::axpby(alpha, &p, 1.0, &mut x)?; // x += αp
        vector::axpby(-alpha, &ap, 1.0, &mut r)?; // r −= αAp
        vector::multiply_elements(&inverse_diagonal, &r, &mut z)?;
        let beta = vector::dot(&r, &z)? / rz;
        rz *= beta;
        vector::axpby(1.0, &z, beta, &mut p)?; // p = z + βp
    }
    Ok((x.download()?, MAX_STEPS))
}
