//! Conjugate gradients with Jacobi preconditioning: solves Ax = b, where b = A·1, for a symmetric positive definite A, and
//! plots the residuals. By default, A is the stiffness matrix of a dam.

use std::error::Error;
use std::path::PathBuf;

use evenpath::{Csr, Value};
use evenpath_solvers::{Cg, CsrOperator, Jacobi, SolverOptions};
use serde_json::json;

use crate::arguments::{CommonArguments, ValueType};
use crate::plot::Plot;
use crate::report::Report;
use crate::scale::{Problem, Rows};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Read the matrix from a Matrix Market file; it must be symmetric and positive definite.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/data/bcsstk16.mtx.gz"))]
    matrix: PathBuf,
    /// Use the Laplacian of a grid instead: stencil5:SIDE, stencil7:SIDE or stencil27:SIDE.
    #[arg(long, value_name = "KIND", conflicts_with = "matrix")]
    generate: Option<Problem>,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
    /// Stop at this residual, relative to b.
    #[arg(long, value_name = "R", default_value_t = 1e-8)]
    tolerance: f64,
    /// Maximum number of steps.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    steps: usize,
    /// Solves to time; the median is reported.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: usize,
    /// Plot the residuals as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    match arguments.value {
        ValueType::F32 => converge::<f32>(arguments),
        ValueType::F64 => converge::<f64>(arguments),
    }
}

fn converge<V: Value>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let (name, a): (String, Csr<V>) = match arguments.generate {
        Some(problem) if !problem.is_positive_definite() => {
            return Err(format!("{problem} is not positive definite").into());
        }
        Some(problem) => (problem.to_string(), laplacian(problem)?),
        None => {
            (arguments.matrix.display().to_string(), evenpath::io::read_matrix_market(&arguments.matrix)?)
        }
    };
    if a.nrows() != a.ncols() {
        return Err(format!("the matrix must be square, but is {} x {}", a.nrows(), a.ncols()).into());
    }
    let device = arguments.common.device.open()?;
    let b = (&a * &vec![V::ONE; a.ncols()])?;

    let on_device = device.upload(&a)?;
    let (operator, jacobi) = (CsrOperator::new(&on_device)?, Jacobi::new(&on_device)?);
    let options =
        SolverOptions::default().with_tolerance(arguments.tolerance).with_max_steps(arguments.steps);
    let mut solver = Cg::new(&operator, &jacobi, options)?;
    let (b_on_device, mut x) = (device.upload(&b)?, device.zeros(b.len())?);
    let mut solved = solver.solve(&b_on_device, &mut x)?; // compiles the kernels
    let mut seconds: Vec<f64> = Vec::new();
    for _ in 0..arguments.repetitions.max(1) {
        x.set_zero()?;
        solved = solver.solve(&b_on_device, &mut x)?;
        seconds.push(solved.times.total.as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let seconds = seconds[seconds.len() / 2];

    let residual = residual(&a, &x.download()?, &b)?;
    let mut report = Report::new(arguments.common.json, verdict(residual, arguments.tolerance));
    report.matrix(&name, &a);
    report.device(&device);
    let steps = solved.steps;
    report.line(
        "solved",
        format_args!(
            "{steps} steps in {:.1} ms, {:.4} ms per step; residual {residual:.2e} of b",
            seconds * 1e3,
            seconds * 1e3 / steps.max(1) as f64
        ),
        json!({ "steps": steps, "ms": seconds * 1e3, "residual": residual, "residuals": solved.history }),
    );
    if let Some(path) = &arguments.plot {
        let name = format!("{} x {}, {} nonzeros, {}", a.nrows(), a.ncols(), a.nnz(), V::NAME);
        let title = "Conjugate gradients with Jacobi preconditioning";
        let plot = Plot::of_steps(title, "residual, relative to b", name, (0, &solved.history));
        report.drawing("plot", path, &plot.to_svg())?;
    }
    Ok(report)
}

/// ‖b − Ax‖ / ‖b‖ in f64, row by row on the host.
fn residual<V: Value>(a: &Csr<V>, x: &[V], b: &[V]) -> Result<f64, Box<dyn Error>> {
    let a: Csr<f64> = a.clone().into_values();
    let wide = |values: &[V]| values.iter().map(|value| value.to_f64()).collect::<Vec<f64>>();
    let (ax, b) = ((&a * &wide(x))?, wide(b));
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let norm_b = norm(&mut b.iter().copied());
    let difference = norm(&mut b.iter().zip(&ax).map(|(b, ax)| b - ax));
    Ok(if difference == 0.0 { 0.0 } else { difference / norm_b })
}

/// Rounding makes the updated residual drift from the true one: ten times the tolerance passes.
fn verdict(residual: f64, tolerance: f64) -> Result<(), String> {
    if residual <= 10.0 * tolerance {
        return Ok(());
    }
    Err(format!("the residual is {residual:.2e} of b, more than ten times the tolerance {tolerance:.2e}"))
}

/// The Laplacian of a grid, zero on the boundary.
fn laplacian<V: Value>(grid: Problem) -> Result<Csr<V>, evenpath::error::MatrixError> {
    let (rows, mut entries, mut of_row) = (grid.nrows(), Vec::new(), Vec::new());
    for row in 0..rows {
        of_row.clear();
        grid.row(row, &mut of_row);
        entries.extend(of_row.iter().map(|&(col, value)| (row as usize, col as usize, value)));
    }
    Csr::from_triplets(rows as usize, rows as usize, entries)
}
