//! Records as CSV.

use std::io::Write;

use super::{Figures, METHODS, Record};

/// The columns of the matrix, as merge-spmv calls them.
const MATRIX_COLUMNS: [&str; 8] = [
    "file",
    "num_rows",
    "num_cols",
    "num_nonzeros",
    "row_length_mean",
    "row_length_std_dev",
    "row_length_variation",
    "row_length_skewness",
];

/// The columns of each method, after its name: merge-spmv's, then the share of the copy rate and the check.
const METHOD_COLUMNS: [&str; 8] = [
    "method_name",
    "setup_ms",
    "avg_spmv_ms",
    "gflops",
    "effective_GBs",
    "copy_percent",
    "max_difference",
    "within_bound",
];

/// A writer of records. Each row is flushed, so that an interrupted run leaves whole rows.
pub(crate) struct Table<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> Table<W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn new(out: W) -> csv::Result<Self> {
        let mut table = Self { writer: csv::Writer::from_writer(out) };
        let of_method = |method| METHOD_COLUMNS.iter().map(move |column| format!("{method}_{column}"));
        table.line(
            MATRIX_COLUMNS.map(str::to_owned).into_iter().chain(METHODS.into_iter().flat_map(of_method)),
        )?;
        Ok(table)
    }

    /// Writes the row of a matrix. The fields of a method that has no figures are empty.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn row(&mut self, record: &Record) -> csv::Result<()> {
        let statistics = &record.statistics;
        let matrix = [
            record.file.clone(),
            statistics.rows.to_string(),
            statistics.cols.to_string(),
            statistics.nnz.to_string(),
            format!("{:.5}", statistics.row_length_mean),
            format!("{:.5}", statistics.row_length_std_dev),
            format!("{:.5}", statistics.row_length_variation),
            format!("{:.5}", statistics.row_length_skewness),
        ];
        let of_method = |figures: &Option<Result<Figures, String>>| match figures {
            Some(Ok(figures)) => fields(figures),
            _ => Default::default(),
        };
        self.line(matrix.into_iter().chain(record.figures.iter().flat_map(of_method)))
    }

    fn line(&mut self, fields: impl Iterator<Item = String>) -> csv::Result<()> {
        self.writer.write_record(fields.map(String::into_bytes))?;
        Ok(self.writer.flush()?)
    }
}

fn fields(figures: &Figures) -> [String; METHOD_COLUMNS.len()] {
    [
        figures.method.clone(),
        format!("{:.5}", figures.setup_ms),
        format!("{:.5}", figures.measured.ms),
        rate(figures.measured.gflops, 6),
        rate(figures.measured.effective_gbps, 3),
        rate(figures.copy_percent, 2),
        format!("{:e}", figures.largest_difference),
        figures.wrong.is_none().to_string(),
    ]
}

/// A rate, or nothing if the time was too short for the clock.
fn rate(rate: f64, decimals: usize) -> String {
    if rate.is_finite() { format!("{rate:.decimals$}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Measurement, Times, Work};

    #[test]
    fn a_field_is_empty_rather_than_no_number() {
        let work = Work { operations: 0, bytes: 0, effective_bytes: 8, counted_by: "merge-spmv" };
        let figures = Figures {
            method: "a, \"b\"".into(),
            value: "f64",
            setup_ms: 0.25,
            measured: Measurement::new(work, &Times::of_runs(vec![0.0])),
            copy_percent: f64::INFINITY,
            largest_difference: 0.5,
            wrong: Some("wrong".into()),
        };
        let statistics = evenpath::Csr::<f64>::from_triplets(1, 1, []).unwrap().statistics();
        let record = Record { file: "a".into(), statistics, figures: [Some(Ok(figures)), None, None, None] };
        let mut out = Vec::new();
        Table::new(&mut out).unwrap().row(&record).unwrap();
        let mut rows = csv::Reader::from_reader(&out[..]).into_records();
        let row = rows.next().unwrap().unwrap();
        let fields: Vec<&str> = row.iter().skip(MATRIX_COLUMNS.len()).take(METHOD_COLUMNS.len()).collect();
        assert_eq!(fields, ["a, \"b\"", "0.25000", "0.00000", "", "", "", "5e-1", "false"]);
        assert!(!record.is_right() && rows.next().is_none());
    }
}
