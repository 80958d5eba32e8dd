//! The suite: one row for each problem.

use std::error::Error;
use std::fs;
use std::path::Path;

use evenpath::io::{self, WriteOptions};
use evenpath::{Csr, Device};
use evenpath_solvers::Method;
use serde_json::json;

use super::super::arguments::Arguments;
use super::super::measure::{self, Settings};
use super::super::preconditioner::Name;
use super::super::system::{Parts, RightSide, System};
use super::problem::{Built, Problem, problems};
use super::row::{Row, head};
use crate::report::Report;

/// Prints a row for each problem as soon as it is measured. The report has the verdict on all of them.
///
/// # Errors
///
/// If the device is not there, a folder cannot be read or written, or a problem cannot be built.
pub(in super::super) fn run(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let device = arguments.common.device.open()?;
    let as_json = arguments.common.json;
    let problems = problems(arguments.folder.as_deref())?;
    if !as_json {
        println!("{}", head());
    }
    let mut failures = Vec::new();
    for problem in &problems {
        let row = row(problem, &device, arguments)?;
        if as_json {
            println!("{}", row.to_json());
        } else {
            println!("{row}");
        }
        if let Err(reason) = row.verdict {
            failures.push(format!("{}: {reason}", row.name));
        }
    }
    let verdict = match failures.first() {
        Some(first) => Err(format!("{} of {} problems; {first}", failures.len(), problems.len())),
        None => Ok(()),
    };
    let mut report = Report::new(as_json, verdict);
    report.device(&device);
    let (count, failed) = (problems.len(), failures.len());
    report.line(
        "solved",
        format_args!("{} of {count} problems", count - failed),
        json!({ "problems": count, "failed": failed }),
    );
    Ok(report)
}

/// Builds a problem, writes it if that is asked for, and solves it. A failure of the solver is a row too.
fn row(problem: &Problem, device: &Device, arguments: &Arguments) -> Result<Row, Box<dyn Error>> {
    let built = problem.build(arguments.size)?;
    if let Some(folder) = &arguments.out {
        write(folder, &problem.name, &built)?;
    }
    let parts = Parts { right_side: RightSide::Mixed, transpose: false };
    let mut system = System::<f64>::new(device, &built.a, parts)?;
    for vector in &built.near_null {
        system.near_null.push(device.upload(vector)?);
    }
    let mut settings = arguments.settings();
    settings.amg = settings.amg.with_block_size(built.block_size);
    let figures = figures(&system, &settings);
    let verdict = match &figures {
        Ok((_, solves)) => solves.verdict(settings.tolerance),
        Err(error) => Err(error.clone()),
    };
    let (rows, nonzeros) = (built.a.nrows(), built.a.nnz());
    Ok(Row { name: problem.name.clone(), rows, nonzeros, figures, verdict })
}

fn figures(system: &System<f64>, settings: &Settings) -> Result<(measure::SetUp, measure::Solves), String> {
    let mut diagonal = None;
    let (multigrid, set_up) = measure::set_up(Name::Amg, system, &mut diagonal, settings)
        .map_err(|error| format!("set-up: {error}"))?;
    let solves =
        measure::solve(Method::Cg, system, &*multigrid, settings).map_err(|error| error.to_string())?;
    Ok((set_up, solves))
}

/// Writes a matrix, and its near-null vectors as the columns of another.
fn write(folder: &Path, name: &str, built: &Built) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    io::write_matrix_market(folder.join(format!("{name}.mtx")), built.a.view(), WriteOptions::default())?;
    if built.near_null.is_empty() {
        return Ok(());
    }
    let entries = built.near_null.iter().enumerate().flat_map(|(column, vector)| {
        vector.iter().enumerate().map(move |(row, &value)| (row, column, value))
    });
    let vectors: Csr<f64> = Csr::from_triplets(built.a.nrows(), built.near_null.len(), entries)?;
    Ok(io::write_matrix_market(
        folder.join(format!("{name}.near-null")),
        vectors.view(),
        WriteOptions::default(),
    )?)
}
