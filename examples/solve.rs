//! Linear systems: solves Ax = b by a method and with a preconditioner that are chosen by name, for b = A·(1, …, 1). Without
//! a method, takes one that suits the symmetry and shape of the matrix. A generated matrix gets the values of a Laplacian. The
//! default is the stiffness matrix of a dam.
//!
//! ```sh
//! cargo run --release --example solve
//! cargo run --release --example solve -- stencil5:300 --method cg --preconditioner ic --tolerance 1e-10
//! cargo run --release --example solve -- a.mtx.gz --method gmres --preconditioner ilu --device cuda:0
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::error::MatrixError;
use evenpath::{Csr, Device, DeviceCsr};
use evenpath_solvers::{
    AmgOptions, Chebyshev, CsrOperator, Identity, IncompleteCholesky, IncompleteLu, Jacobi, LinearOperator,
    Method, MulticolorGaussSeidel, Preconditioner, Report, SmoothedAggregation, SolverOptions,
    SymmetricGaussSeidel,
};

use support::Options;

const OPTIONS: [&str; 4] = ["method", "preconditioner", "tolerance", "max-steps"];
const PRECONDITIONERS: &str = "none, jacobi, gauss-seidel, multicolor-gauss-seidel, ilu, ic, chebyshev, amg";

fn main() -> ExitCode {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/data/bcsstk16.mtx.gz");
    support::on_matrix_with_options(default, &OPTIONS, solve)
}

fn solve(device: &Device, a: &Csr<f64>, options: &Options) -> Result<bool, Box<dyn Error>> {
    let a = if options.is_generated() && a.nrows() == a.ncols() { &laplacian(a)? } else { a };
    let method = match options.get("method") {
        Some(name) => name.parse()?,
        None => suitable(a)?,
    };
    let tolerance = number(options, "tolerance", 1e-8)?;
    let max_steps = number(options, "max-steps", 10_000)?;
    let b: Vec<f64> = a.iter_rows().map(|row| row.values().iter().sum()).collect();

    let start = Instant::now();
    let on_device = device.upload(a)?;
    let mut operator = CsrOperator::new(&on_device)?;
    if method == Method::Lsqr {
        operator = operator.with_transpose()?;
    }
    let name = match options.get("preconditioner") {
        Some(name) => name,
        None if method == Method::Lsqr => "none",
        None => "jacobi",
    };
    let preconditioner = preconditioner(name, &on_device, &operator)?;
    let solver_options = SolverOptions::default().with_tolerance(tolerance).with_max_steps(max_steps);
    let mut solver = method.solver(&operator, &*preconditioner, solver_options)?;
    let (on_device, mut x) = (device.upload(&b)?, device.zeros(a.ncols())?);
    device.synchronize()?;
    println!("set-up          {:.2} ms", start.elapsed().as_secs_f64() * 1e3);

    let report = solver.solve(&on_device, &mut x)?;
    print(&report, name, device);
    let residual = relative_residual(a, &x.download()?, &b);
    // The host sums in another order.
    let is_right = (residual - report.residual).abs() <= 1e-12 + 0.01 * report.residual;
    Ok(report.is_converged() && is_right)
}

/// A matrix with the pattern of `a` and −1 beside the diagonal, on which is the largest number of these in a row, or 1: for stencils that of
/// Poisson's equation.
fn laplacian(a: &Csr<f64>) -> Result<Csr<f64>, MatrixError> {
    let rows = a.nrows();
    let mut lengths = vec![0_u32; rows];
    let beside = a.iter().filter(|(row, col, _)| row != col);
    let mut entries: Vec<_> = beside.map(|(row, col, _)| (row, col, -1.0)).collect();
    for &(row, _, _) in &entries {
        lengths[row] += 1;
    }
    let largest = f64::from(lengths.into_iter().max().unwrap_or(0).max(1));
    entries.extend((0..rows).map(|row| (row, row, largest)));
    Csr::from_triplets(rows, rows, entries)
}

/// The method for a matrix of this shape and symmetry.
fn suitable(a: &Csr<f64>) -> Result<Method, Box<dyn Error>> {
    if a.nrows() != a.ncols() {
        return Ok(Method::Lsqr);
    }
    let transpose = a.transpose()?;
    let is_symmetric = a.row_offsets() == transpose.row_offsets() && a.iter().eq(transpose.iter());
    let has_positive_diagonal = (0..a.nrows()).all(|row| a.get(row, row).is_some_and(|value| value > 0.0));
    Ok(match (is_symmetric, has_positive_diagonal) {
        (true, true) => Method::Cg,
        (true, false) => Method::Minres,
        (false, _) => Method::Gmres,
    })
}

fn preconditioner<'a>(
    name: &str,
    a: &DeviceCsr<f64>,
    operator: &'a dyn LinearOperator<f64>,
) -> Result<Box<dyn Preconditioner<f64> + 'a>, Box<dyn Error>> {
    Ok(match name {
        "none" => Box::new(Identity),
        "jacobi" => Box::new(Jacobi::new(a)?),
        "gauss-seidel" => Box::new(SymmetricGaussSeidel::new(a)?),
        "multicolor-gauss-seidel" => Box::new(MulticolorGaussSeidel::new(a)?),
        "ilu" => Box::new(IncompleteLu::new(a)?),
        "ic" => Box::new(IncompleteCholesky::new(a)?),
        "chebyshev" => Box::new(Chebyshev::new(operator, &Identity, 4)?),
        "amg" => Box::new(SmoothedAggregation::new(a, AmgOptions::default())?),
        _ => return Err(format!("unknown preconditioner `{name}`; known names are {PRECONDITIONERS}").into()),
    })
}

fn number<T: std::str::FromStr>(options: &Options, name: &str, default: T) -> Result<T, Box<dyn Error>> {
    let Some(text) = options.get(name) else { return Ok(default) };
    text.parse().map_err(|_| format!("--{name}: `{text}` is not a number").into())
}

fn print(report: &Report, preconditioner: &str, device: &Device) {
    let Report { method, outcome, steps, residual, times, .. } = report;
    let milliseconds = times.total.as_secs_f64() * 1e3;
    println!("device          {device}");
    println!("method          {method}");
    println!("preconditioner  {preconditioner}");
    println!("outcome         {outcome}");
    println!("steps           {steps}");
    println!("residual        {residual:.2e} of b");
    let each = milliseconds * 1e3 / (*steps).max(1) as f64;
    println!("time            {milliseconds:.2} ms, {each:.1} µs per step");
    if let Some(advice) = report.advice() {
        println!("advice          {advice}");
    }
    println!("{}", report.plot(72, 12));
}

/// ‖b − Ax‖ / ‖b‖ on the host.
fn relative_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let (mut residual, mut norm) = (0.0, 0.0);
    for (row, b) in a.iter_rows().zip(b) {
        let ax: f64 = row.iter().map(|(col, value)| value * x[col as usize]).sum();
        residual += (b - ax) * (b - ax);
        norm += b * b;
    }
    if norm > 0.0 { (residual / norm).sqrt() } else { residual.sqrt() }
}
