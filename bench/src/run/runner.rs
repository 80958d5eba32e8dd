//! Measures the cases of all matrices, one after the other.

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use evenpath::{Complex, ConvertTo, Csr, Scalar, bf16, f16};

use super::printer::Printer;
use super::request::{Request, ValueName};
use crate::input::random_vector;
use crate::operations::{Bench, Case};
use crate::results::{Key, Results, ResultsFile, Row, Setting};
use crate::suite::Source;

/// The exit code if some cases are left to measure.
const LEFT: u8 = 3;

/// Measures, prints and writes all rows, then a summary. Exit code: 0 if everything was measured, including recorded failures;
/// 1 if a result is wrong, or nothing could be measured; 3 if cases are left, which the same command then resumes from its file.
///
/// # Errors
///
/// If the file of results cannot be opened or written.
pub(crate) fn run(bench: Bench<'_>, setting: Setting, request: Request) -> Result<ExitCode, Box<dyn Error>> {
    let start = Instant::now();
    let Request { sources, cases, values, out, limit, retry_failed, json } = request;
    let printer = Printer::begin(&setting, json);
    let (file, known) = match out {
        Some(path) => {
            let (file, known) = ResultsFile::open(&path, setting)?;
            (Some(file), known)
        }
        None => (None, Results::default()),
    };
    let mut named = BTreeSet::new();
    let mut matrices = Vec::new();
    for (suite, source) in sources {
        if named.insert((suite, source.to_string())) {
            matrices.push((suite, source));
        }
    }
    let total = matrices.len() * cases.len() * values.len();
    let end = limit.map(|limit| start + limit);
    let rows = Vec::new();
    let mut runner = Runner { bench, cases, values, file, known, retry_failed, end, printer, total, rows };
    let mut interrupted = None;
    for (suite, source) in &matrices {
        interrupted = runner.matrix(suite, source)?;
        if interrupted.is_some() {
            break;
        }
    }
    Ok(runner.conclude(interrupted.as_deref()))
}

/// A run in progress.
struct Runner<'b> {
    bench: Bench<'b>,
    cases: Vec<Case>,
    values: Vec<ValueName>,
    file: Option<ResultsFile>,
    known: Results,
    retry_failed: bool,
    end: Option<Instant>,
    printer: Printer,
    /// The number of all cases.
    total: usize,
    /// Measurements, now or before.
    rows: Vec<Row>,
}

impl Runner<'_> {
    /// Measures the missing cases of a matrix. Returns a reason if nothing more can be measured.
    fn matrix(&mut self, suite: &str, source: &Source) -> Result<Option<String>, Box<dyn Error>> {
        let name = source.to_string();
        let mut missing = Vec::new();
        for &value in &self.values {
            for (index, case) in self.cases.iter().enumerate() {
                let key = case.key(suite, &name, value.name());
                match self.known.get(&key) {
                    Some(row) if !(self.retry_failed && row.failure().is_some()) => {
                        self.rows.push(row.clone());
                    }
                    _ => missing.push((value, index, key)),
                }
            }
        }
        if missing.is_empty() {
            return Ok(None);
        }
        if let Some(reason) = self.over() {
            return Ok(Some(reason));
        }
        let matrix = match source.load() {
            Ok(mut matrix) => {
                matrix.canonicalize();
                matrix
            }
            Err(error) => {
                for (_, _, key) in missing {
                    self.take(Row::failed(key, None, error.to_string()), Duration::ZERO)?;
                }
                return Ok(None);
            }
        };
        for value in self.values.clone() {
            let of_value = |it: &&(ValueName, usize, Key)| it.0 == value;
            let cases: Vec<_> = missing.iter().filter(of_value).map(|it| (it.1, it.2.clone())).collect();
            if let Some(reason) = self.of_value(value, &matrix, cases, source)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Measures cases with values of a type.
    fn of_value(
        &mut self,
        value: ValueName,
        matrix: &Csr<f64>,
        cases: Vec<(usize, Key)>,
        source: &Source,
    ) -> Result<Option<String>, Box<dyn Error>> {
        if cases.is_empty() {
            return Ok(None);
        }
        match value {
            ValueName::F64 => self.cases(cases, source, |case, bench, key| case.measure(bench, key, matrix)),
            ValueName::F32 => {
                let matrix: Csr<f32> = matrix.clone().into_values();
                self.cases(cases, source, |case, bench, key| case.measure(bench, key, &matrix))
            }
            ValueName::F16 => {
                let matrix: Csr<f16> = matrix.clone().into_values();
                let measure = |case: &Case, bench: &Bench<'_>, key| case.measure_half(bench, key, &matrix);
                self.cases(cases, source, measure)
            }
            ValueName::Bf16 => {
                let matrix: Csr<bf16> = matrix.clone().into_values();
                let measure = |case: &Case, bench: &Bench<'_>, key| case.measure_half(bench, key, &matrix);
                self.cases(cases, source, measure)
            }
            ValueName::C32 => {
                let matrix: Csr<Complex<f32>> = complex(matrix);
                let measure = |case: &Case, bench: &Bench<'_>, key| case.measure_complex(bench, key, &matrix);
                self.cases(cases, source, measure)
            }
            ValueName::C64 => {
                let matrix: Csr<Complex<f64>> = complex(matrix);
                let measure = |case: &Case, bench: &Bench<'_>, key| case.measure_complex(bench, key, &matrix);
                self.cases(cases, source, measure)
            }
        }
    }

    fn cases(
        &mut self,
        cases: Vec<(usize, Key)>,
        source: &Source,
        measure: impl Fn(&Case, &Bench<'_>, Key) -> Row,
    ) -> Result<Option<String>, Box<dyn Error>> {
        for (index, key) in cases {
            if let Some(reason) = self.over() {
                return Ok(Some(reason));
            }
            let start = Instant::now();
            let row = measure(&self.cases[index], &self.bench, key).of_structure(source.structure());
            self.take(row, start.elapsed())?;
            // After a fault the device is unusable, and every later row would fail.
            if let Err(lost) = self.bench.device.synchronize() {
                return Ok(Some(format!("the device is lost: {lost}")));
            }
        }
        Ok(None)
    }

    /// The reason to stop, if time is up.
    fn over(&self) -> Option<String> {
        self.end.filter(|end| Instant::now() >= *end).map(|_| "time is up".into())
    }

    /// Writes a row, and prints it with the total time that it took.
    fn take(&mut self, row: Row, took: Duration) -> Result<(), Box<dyn Error>> {
        self.printer.row(&row);
        if let Some(file) = &mut self.file {
            file.append(&row)?;
            let Key { op, variant, matrix, value, .. } = &row.key;
            let separator = if variant.is_empty() { "" } else { ", " };
            let failure = row.failure().map_or_else(String::new, |reason| format!(": {reason}"));
            let (number, total, seconds) = (self.rows.len() + 1, self.total, took.as_secs_f64());
            eprintln!(
                "[{number}/{total}] {op}{separator}{variant} {matrix} {value} ({seconds:.1} s){failure}"
            );
        }
        self.rows.push(row);
        Ok(())
    }

    /// Prints the summaries and the totals. Returns the exit code.
    fn conclude(self, interrupted: Option<&str>) -> ExitCode {
        let Self { rows, total, printer, file, .. } = self;
        printer.summaries(&rows);
        let wrong = rows.iter().filter(|row| row.is_wrong()).count();
        let failed = rows.iter().filter(|row| !row.is_wrong() && row.failure().is_some()).count();
        if file.is_some() {
            eprintln!("{} of {total} cases measured, {failed} failed, {wrong} wrong", rows.len());
        }
        if let Some(reason) = interrupted {
            eprintln!("{} are left: {reason}", total - rows.len());
        }
        if wrong > 0 || (failed > 0 && failed == rows.len()) {
            for row in rows.iter().filter(|row| row.figures().is_none()) {
                eprintln!("error: {}: {}", row.key.matrix, row.failure().unwrap_or_default());
            }
            return ExitCode::FAILURE;
        }
        if interrupted.is_some() { ExitCode::from(LEFT) } else { ExitCode::SUCCESS }
    }
}

/// The matrix with random imaginary parts.
fn complex<V: Scalar>(matrix: &Csr<f64>) -> Csr<V>
where
    f64: ConvertTo<V>,
{
    let imaginary: Vec<V::Real> = random_vector(matrix.nnz(), 3);
    let mut matrix: Csr<V> = matrix.clone().into_values();
    for (value, im) in matrix.values_mut().iter_mut().zip(imaginary) {
        *value = V::from_parts(value.parts().0, im);
    }
    matrix
}
