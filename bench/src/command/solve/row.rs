//! Rows of the output: a line of a table, or a JSON object.

use std::fmt;

use evenpath_solvers::{AmgInfo, AmgSetUpMs, Method};
use serde_json::{Map, Value, json};

use super::measure::{Runs, SetUp, Solves};
use super::preconditioner::Name;
use crate::statistics::{median, spread};

/// A matrix in the output.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) nonzeros: usize,
}

/// A system, a preconditioner and a method with their figures, or the reason why there are none.
pub(super) struct Row<'r> {
    pub(super) subject: &'r Subject,
    pub(super) value: &'static str,
    pub(super) preconditioner: Name,
    pub(super) method: Method,
    pub(super) figures: Result<(&'r SetUp, Solves), String>,
    /// The verdict on the solution.
    pub(super) verdict: Result<(), String>,
}

/// The head of the table.
pub(super) fn head() -> String {
    format!(
        "{:<5} {:<12} {:<12} {:>10} {:>10} {:>10} {:>6} {:>6} {:>10} {:>8} {:>10} {:>9}",
        "value",
        "precond.",
        "method",
        "set-up ms",
        "update ms",
        "solve ms",
        "spread",
        "steps",
        "us a step",
        "residual",
        "complexity",
        "MB"
    )
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rows, nonzeros } = self;
        write!(f, "{name}: {rows} x {rows}, {nonzeros} nonzeros")
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (preconditioner, method) = (self.preconditioner.name(), self.method);
        write!(f, "{:<5} {preconditioner:<12} {method:<12}", self.value)?;
        if let Ok((set_up, solves)) = &self.figures {
            let update = set_up.updates.as_ref().map_or("-".into(), |runs| format!("{:.3}", runs.median()));
            let levels = set_up.levels.as_ref();
            let complexity = levels.map_or("-".into(), |info| format!("{:.3}", info.operator_complexity()));
            write!(f, " {:>10.3} {update:>10} {:>10.3}", set_up.times.median(), solves.times.median())?;
            write!(f, " {:>5.1}% {:>6}", 100.0 * spread(&solves.times.others), solves.steps)?;
            write!(f, " {:>10.2} {:>8.1e} {complexity:>10}", us_per_step(solves), solves.residual)?;
            write!(f, " {:>9.2}", set_up.bytes as f64 / 1e6)?;
        }
        match &self.verdict {
            Ok(()) => Ok(()),
            Err(reason) => write!(f, "\n      FAIL: {reason}"),
        }
    }
}

impl Row<'_> {
    /// The row as a JSON object.
    pub(super) fn to_json(&self) -> Value {
        let Subject { name, rows, nonzeros } = self.subject;
        let mut fields = Map::new();
        add(&mut fields, json!({ "matrix": name, "rows": rows, "nonzeros": nonzeros, "value": self.value }));
        let preconditioner = self.preconditioner.name();
        add(&mut fields, json!({ "preconditioner": preconditioner, "method": self.method.name() }));
        if let Ok((set_up, solves)) = &self.figures {
            add_runs(&mut fields, "set_up", Some(&set_up.times));
            add_runs(&mut fields, "update", set_up.updates.as_ref());
            add_runs(&mut fields, "solve", Some(&solves.times));
            let Solves { outcome, steps, residual, history, bytes, .. } = solves;
            add(
                &mut fields,
                json!({
                    "steps": steps,
                    "us_per_step": us_per_step(solves),
                    "outcome": outcome.to_string(),
                    "residual": residual,
                    "residuals": history,
                    "preconditioner_bytes": set_up.bytes,
                    "set_up_peak_bytes": set_up.peak_bytes,
                    "solver_bytes": bytes,
                }),
            );
            if let Some(info) = &set_up.levels {
                add(&mut fields, levels(info));
            }
        }
        add(&mut fields, json!({ "pass": self.verdict.is_ok(), "difference": self.verdict.as_ref().err() }));
        Value::Object(fields)
    }
}

impl Runs {
    pub(super) fn median(&self) -> f64 {
        median(&self.others)
    }
}

fn us_per_step(solves: &Solves) -> f64 {
    solves.times.median() * 1e3 / solves.steps.max(1) as f64
}

fn add(fields: &mut Map<String, Value>, new: Value) {
    if let Value::Object(new) = new {
        fields.extend(new);
    }
}

fn add_runs(fields: &mut Map<String, Value>, name: &str, runs: Option<&Runs>) {
    if let Some(runs) = runs {
        fields.insert(format!("first_{name}_ms"), json!(runs.first));
        fields.insert(format!("{name}_ms"), json!(runs.median()));
        fields.insert(format!("{name}_spread"), json!(spread(&runs.others)));
    }
}

fn levels(info: &AmgInfo) -> Value {
    let levels = info.levels.iter().map(|level| json!({ "rows": level.rows, "nonzeros": level.nonzeros }));
    let AmgSetUpMs { spectra, aggregates, prolongations, products, plans, coarsest, .. } = info.set_up_ms;
    json!({
        "operator_complexity": info.operator_complexity(),
        "grid_complexity": info.grid_complexity(),
        "levels": levels.collect::<Vec<_>>(),
        "set_up_parts_ms": {
            "spectra": spectra, "aggregates": aggregates, "prolongations": prolongations,
            "products": products, "plans": plans, "coarsest": coarsest,
        },
    })
}
