//! Set-ups of multigrid and solves, again and again, of which all bits are compared.

use std::error::Error;

use evenpath::{Csr, Device, DeviceCsr, Value};
use evenpath_solvers::{Cg, Result, SmoothedAggregation};
use serde_json::json;

use super::arguments::Arguments;
use super::measure::Settings;
use super::system::{Parts, RightSide, System};
use crate::arguments::ValueType;
use crate::report::Report;

/// Names and bits of everything that a set-up and a solve compute.
type Bits = Vec<(String, Vec<u8>)>;

/// Sets up and solves `count` times for each matrix and type of values. Prints a row for each, with the first part whose bits differed.
pub(super) fn run(arguments: &Arguments, count: usize) -> Result<Report, Box<dyn Error>> {
    let device = arguments.common.device.open()?;
    let (mut rows, mut failures) = (0, Vec::new());
    for source in &arguments.sources()? {
        let matrix = source.load()?;
        for value in arguments.values() {
            let (value, difference) = match value {
                ValueType::F32 => ("f32", compare::<f32>(&device, &matrix, arguments, count)?),
                ValueType::F64 => ("f64", compare::<f64>(&device, &matrix, arguments, count)?),
            };
            rows += 1;
            if arguments.common.json {
                let pass = difference.is_none();
                let name = source.to_string();
                println!(
                    "{}",
                    json!({ "matrix": name, "value": value, "runs": count, "pass": pass, "difference": difference })
                );
            } else {
                let verdict =
                    difference.as_deref().map_or("the same bits".into(), |part| format!("FAIL: {part}"));
                println!("{source}, {value}: {count} runs, {verdict}");
            }
            failures.extend(difference.map(|part| format!("{source}, {value}: {part}")));
        }
    }
    let verdict = failures.first().map_or(Ok(()), |first| Err(format!("other bits; {first}")));
    let mut report = Report::new(arguments.common.json, verdict);
    report.device(&device);
    report.line("rows", rows, json!({ "rows": rows, "failed": failures.len() }));
    Ok(report)
}

/// Returns the first run whose bits are not those of the first, and the part that differs.
fn compare<V: Value>(
    device: &Device,
    matrix: &Csr<f64>,
    arguments: &Arguments,
    count: usize,
) -> Result<Option<String>, Box<dyn Error>> {
    let right_side = if arguments.ones { RightSide::Ones } else { RightSide::OfOnes };
    let system = System::<V>::new(device, matrix, Parts { right_side, transpose: false })?;
    let settings = arguments.settings();
    let first = bits(&system, &settings)?;
    for run in 1..count {
        let again = bits(&system, &settings)?;
        let other = first.iter().zip(&again).find(|(first, again)| first != again);
        if let Some(((part, _), _)) = other {
            return Ok(Some(format!("run {run}: {part} has other bits than in run 0")));
        }
        if first.len() != again.len() {
            return Ok(Some(format!("run {run}: another number of levels than in run 0")));
        }
    }
    Ok(None)
}

fn bits<V: Value>(system: &System<V>, settings: &Settings) -> Result<Bits> {
    let device = system.a.device();
    let multigrid = SmoothedAggregation::new(&system.a, settings.amg)?;
    let mut all = Vec::new();
    for (at, level) in (0..).map_while(|at| multigrid.level(at)).enumerate() {
        let name = |part: &str| format!("{part} of level {at}");
        add_matrix(&mut all, &name("the matrix"), level.matrix)?;
        let diagonal = level.inverse_diagonal.download()?;
        all.push((name("the inverse diagonal"), bytemuck::cast_slice(&diagonal).to_vec()));
        all.push((name("the spectral radius"), level.spectral_radius.to_bits().to_le_bytes().to_vec()));
        for (part, matrix) in [("the prolongation", level.prolongation), ("the inverse", level.inverse)] {
            if let Some(matrix) = matrix {
                add_matrix(&mut all, &name(part), matrix)?;
            }
        }
    }
    let mut x = device.zeros(system.a.nrows())?;
    let report =
        Cg::new(&system.operator, &multigrid, settings.solver)?.solve(&system.b_on_device, &mut x)?;
    all.push(("the history of residuals".into(), bytemuck::cast_slice(&report.history).to_vec()));
    all.push(("x".into(), bytemuck::cast_slice(&x.download()?).to_vec()));
    Ok(all)
}

fn add_matrix<V: Value>(all: &mut Bits, name: &str, matrix: &DeviceCsr<V>) -> Result<()> {
    let matrix = matrix.download()?;
    all.push((format!("the offsets of {name}"), bytemuck::cast_slice(matrix.row_offsets()).to_vec()));
    all.push((format!("the columns of {name}"), bytemuck::cast_slice(matrix.column_indices()).to_vec()));
    all.push((format!("the values of {name}"), bytemuck::cast_slice(matrix.values()).to_vec()));
    Ok(())
}
