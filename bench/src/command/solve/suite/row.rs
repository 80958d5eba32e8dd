//! Rows of the suite's table.

use std::fmt;

use evenpath_solvers::AmgInfo;
use serde_json::{Value, json};

use super::super::measure::{SetUp, Solves};

/// A problem with its figures, or the reason why there are none.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) nonzeros: usize,
    pub(super) figures: Result<(SetUp, Solves), String>,
    /// The verdict on the solution.
    pub(super) verdict: Result<(), String>,
}

/// The head of the table.
pub(super) fn head() -> String {
    format!(
        "{:<18} {:>9} {:>10} {:>6} {:>10} {:>10} {:>10} {:>10} {:>5} {:>8}  outcome",
        "problem",
        "unknowns",
        "nonzeros",
        "levels",
        "complexity",
        "set-up ms",
        "solve ms",
        "total ms",
        "steps",
        "residual"
    )
}

fn sizes(levels: Option<&AmgInfo>) -> (usize, f64) {
    levels.map_or((1, 1.0), |info| (info.levels.len(), info.operator_complexity()))
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<18} {:>9} {:>10}", self.name, self.rows, self.nonzeros)?;
        if let Ok((set_up, solves)) = &self.figures {
            let (levels, complexity) = sizes(set_up.levels.as_ref());
            let (set_up, solve) = (set_up.times.median(), solves.times.median());
            write!(
                f,
                " {levels:>6} {complexity:>10.3} {set_up:>10.2} {solve:>10.2} {:>10.2}",
                set_up + solve
            )?;
            write!(f, " {:>5} {:>8.1e}  {}", solves.steps, solves.residual, solves.outcome)?;
        }
        match &self.verdict {
            Ok(()) => Ok(()),
            Err(reason) => write!(f, "\n      FAIL: {reason}"),
        }
    }
}

impl Row {
    /// The row as a JSON object.
    pub(super) fn to_json(&self) -> Value {
        let Self { name, rows, nonzeros, figures, verdict } = self;
        let mut row = json!({
            "problem": name, "rows": rows, "nonzeros": nonzeros,
            "pass": verdict.is_ok(), "difference": verdict.as_ref().err(),
        });
        if let Ok((set_up, solves)) = figures {
            let (levels, complexity) = sizes(set_up.levels.as_ref());
            row["levels"] = json!(levels);
            row["operator_complexity"] = json!(complexity);
            row["set_up_ms"] = json!(set_up.times.median());
            row["solve_ms"] = json!(solves.times.median());
            row["steps"] = json!(solves.steps);
            row["residual"] = json!(solves.residual);
            row["outcome"] = json!(solves.outcome.to_string());
        }
        row
    }
}
