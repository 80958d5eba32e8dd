//! The command: matrices, types of values, preconditioners and methods, one row each.

use std::error::Error;

use evenpath::{Csr, Device};
use serde_json::json;

use super::arguments::{Arguments, Case};
use super::bits;
use super::measure::{self, Settings};
use super::preconditioner::SolverValue;
use super::row::{Row, Subject, head};
use super::suite;
use super::system::{Parts, RightSide, System};
use crate::arguments::ValueType;
use crate::plot::{Axis, Mark, Plot, Series};
use crate::report::Report;

/// Prints a row for each case as soon as it is measured. The report has the verdict on all of them.
pub(crate) fn run(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    if arguments.suite.is_some() {
        return suite::run(arguments);
    }
    if let Some(count) = arguments.repeat_bits {
        return bits::run(arguments, count);
    }
    let (sources, cases) = (arguments.sources()?, arguments.cases());
    let device = arguments.common.device.open()?;
    let mut printer =
        Printer { as_json: arguments.common.json, rows: 0, failures: Vec::new(), series: Vec::new() };
    if !printer.as_json {
        println!("{}", head());
    }
    for source in &sources {
        let matrix = source.load()?;
        let subject = Subject { name: source.to_string(), rows: matrix.nrows(), nonzeros: matrix.nnz() };
        if !printer.as_json {
            println!("{subject}");
        }
        for value in arguments.values() {
            let solving = Solving { device: &device, cases: &cases, arguments, subject: &subject };
            match value {
                ValueType::F32 => solving.run::<f32>(&matrix, &mut printer)?,
                ValueType::F64 => solving.run::<f64>(&matrix, &mut printer)?,
            }
        }
    }
    let mut report = Report::new(arguments.common.json, printer.verdict());
    report.device(&device);
    if let Some(path) = &arguments.plot {
        let plot = Plot {
            title: "Residuals by step".into(),
            x: Axis::linear("step"),
            y: Axis::log("residual, relative to b"),
            series: printer.series,
        };
        report.drawing("plot", path, &plot.to_svg())?;
    }
    report.line("rows", printer.rows, json!({ "rows": printer.rows, "failed": printer.failures.len() }));
    Ok(report)
}

/// The cases over one matrix.
struct Solving<'s> {
    device: &'s Device,
    cases: &'s [Case],
    arguments: &'s Arguments,
    subject: &'s Subject,
}

impl Solving<'_> {
    fn run<V: SolverValue>(&self, matrix: &Csr<f64>, printer: &mut Printer) -> Result<(), Box<dyn Error>> {
        let right_side = if self.arguments.ones { RightSide::Ones } else { RightSide::OfOnes };
        let parts = Parts { right_side, transpose: self.arguments.has_lsqr() };
        let system = System::<V>::new(self.device, matrix, parts)?;
        let settings = self.arguments.settings();
        for case in self.cases {
            self.case(case, &system, &settings, printer);
        }
        Ok(())
    }

    /// Sets a preconditioner up and solves by each method. A failure is a row too.
    fn case<V: SolverValue>(
        &self,
        case: &Case,
        system: &System<V>,
        settings: &Settings,
        printer: &mut Printer,
    ) {
        let mut diagonal = None;
        let ready = measure::set_up(case.preconditioner, system, &mut diagonal, settings)
            .map_err(|error| format!("set-up: {error}"));
        for &method in &case.methods {
            let figures = match &ready {
                Ok((preconditioner, set_up)) => {
                    let solves = measure::solve(method, system, &**preconditioner, settings);
                    solves.map(|solves| (set_up, solves)).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.clone()),
            };
            let verdict = match &figures {
                Ok((_, solves)) => solves.verdict(settings.tolerance),
                Err(error) => Err(error.clone()),
            };
            let (subject, preconditioner) = (self.subject, case.preconditioner);
            printer.row(Row { subject, value: V::NAME, preconditioner, method, figures, verdict });
        }
    }
}

/// Rows so far.
struct Printer {
    as_json: bool,
    rows: usize,
    failures: Vec<String>,
    /// Residuals by step, one series a row.
    series: Vec<Series>,
}

impl Printer {
    fn row(&mut self, row: Row<'_>) {
        if self.as_json {
            println!("{}", row.to_json());
        } else {
            println!("{row}");
        }
        self.rows += 1;
        let Row { subject, value, preconditioner, method, figures, verdict } = row;
        let name = format!("{}, {value}, {}, {method}", subject.name, preconditioner.name());
        if let Err(reason) = verdict {
            self.failures.push(format!("{name}: {reason}"));
        }
        if let Ok((_, solves)) = figures {
            let points = solves.history.iter().enumerate().map(|(step, &residual)| (step as f64, residual));
            self.series.push(Series { name, mark: Mark::Line, points: points.collect() });
        }
    }

    /// The first failure, and the number of them.
    fn verdict(&self) -> Result<(), String> {
        match self.failures.first() {
            Some(first) => Err(format!("{} of {} rows; {first}", self.failures.len(), self.rows)),
            None => Ok(()),
        }
    }
}
