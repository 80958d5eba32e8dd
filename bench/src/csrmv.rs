//! Rows of y = αAx + βy as CSV, with the columns of the tool of Merrill, Garland, "Merge-based parallel sparse matrix-vector
//! multiplication", 2016.

use std::fmt::Write as _;
use std::io::Write;

use evenpath::csr::Statistics;

use crate::results::{Contender, Figures, Row};

/// The methods side by side, as they are called in the header.
const METHODS: [&str; 5] = ["merge", "direct", "default", "hyb", "peer"];

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

/// A writer of rows. Each is flushed, so that an interrupted run leaves whole ones.
pub(crate) struct Table<W: Write> {
    writer: csv::Writer<W>,
    copy_gbps: f64,
}

impl<W: Write> Table<W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn new(out: W, copy_gbps: f64) -> csv::Result<Self> {
        let mut table = Self { writer: csv::Writer::from_writer(out), copy_gbps };
        let of_method = |method| METHOD_COLUMNS.iter().map(move |column| format!("{method}_{column}"));
        table.line(
            MATRIX_COLUMNS.map(str::to_owned).into_iter().chain(METHODS.into_iter().flat_map(of_method)),
        )?;
        Ok(table)
    }

    /// Writes the row of a matrix. The fields of a method that has no times are empty.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn row(&mut self, file: &str, statistics: &Statistics, figures: &Figures) -> csv::Result<()> {
        let matrix = [
            file.to_owned(),
            statistics.nrows.to_string(),
            statistics.ncols.to_string(),
            statistics.nnz.to_string(),
            format!("{:.5}", statistics.row_length_mean),
            format!("{:.5}", statistics.row_length_std_dev),
            format!("{:.5}", statistics.row_length_variation),
            format!("{:.5}", statistics.row_length_skewness),
        ];
        let ours = figures.ours.iter().map(Some).chain([None; METHODS.len()]).take(METHODS.len() - 1);
        let copy_gbps = self.copy_gbps;
        let of_method = |one: Option<&Contender>| {
            one.map_or_else(Default::default, |one| fields(figures, one, copy_gbps))
        };
        self.line(matrix.into_iter().chain(ours.chain([peer(figures)]).flat_map(of_method)))
    }

    fn line(&mut self, fields: impl Iterator<Item = String>) -> csv::Result<()> {
        self.writer.write_record(fields.map(String::into_bytes))?;
        Ok(self.writer.flush()?)
    }
}

/// The fastest algorithm of the libraries for CSR, preferably one with a correct result.
fn peer(figures: &Figures) -> Option<&Contender> {
    let timed = figures.peers.iter().filter(|peer| peer.format.is_none() && peer.ms.is_some());
    timed.min_by(|a, b| {
        let time = |peer: &Contender| peer.ms.unwrap_or(f64::INFINITY);
        a.is_wrong().cmp(&b.is_wrong()).then(time(a).total_cmp(&time(b)))
    })
}

/// The mean time of a run, and its rates: operations, effective bytes as merge-spmv counts them, and these over a copy's.
fn rates(figures: &Figures, one: &Contender, copy_gbps: f64) -> Option<[f64; 4]> {
    let ms = one.timing?.mean_ms?;
    let per_second = |amount: f64| amount / ms / 1e6;
    let effective = per_second(figures.more.get("effective bytes").copied()?);
    Some([ms, per_second(figures.operations as f64), effective, 100.0 * effective / copy_gbps])
}

fn name(one: &Contender) -> String {
    match one.library.as_str() {
        "evenpath" => one.method().to_owned(),
        "mkl" => format!("MKL {}", one.name),
        _ => format!("{} {}", one.full_name().replace("cusparse", "cuSPARSE"), one.name),
    }
}

fn fields(figures: &Figures, one: &Contender, copy_gbps: f64) -> [String; METHOD_COLUMNS.len()] {
    let Some([ms, gflops, effective, copy_percent]) = rates(figures, one, copy_gbps) else {
        return Default::default();
    };
    [
        name(one),
        one.setup_ms.map_or_else(String::new, |ms| format!("{ms:.5}")),
        format!("{ms:.5}"),
        rate(gflops, 6),
        rate(effective, 3),
        rate(copy_percent, 2),
        one.largest_difference.map_or_else(|| "inf".into(), |difference| format!("{difference:e}")),
        one.error.is_none().to_string(),
    ]
}

/// A rate, or nothing if the time was too short for the clock.
fn rate(rate: f64, decimals: usize) -> String {
    if rate.is_finite() { format!("{rate:.decimals$}") } else { String::new() }
}

/// Lines that merge-spmv prints beside the table: the statistics of the rows, then two lines per method.
pub(crate) fn notes(file: &str, statistics: &Statistics, row: &Row, copy_gbps: f64) -> String {
    let mut text = format!("{file}\n{statistics}");
    let Some(figures) = row.figures() else { return text };
    for one in figures.ours.iter().chain(peer(figures)) {
        let Some([ms, gflops, effective, copy_percent]) = rates(figures, one, copy_gbps) else { continue };
        let verdict = if one.error.is_none() { "PASS" } else { "FAIL" };
        let _ = writeln!(
            text,
            "\n{}, {verdict}\n{}: {:.4} setup ms, {ms:.4} avg ms, {gflops:.5} gflops, {effective:.3} effective GB/s \
             ({copy_percent:.2}% of the copy rate)",
            name(one),
            row.key.value,
            one.setup_ms.unwrap_or_default()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Times;

    #[test]
    fn a_field_is_empty_rather_than_no_number() {
        let times = Times::of_runs(vec![0.0]);
        let own = Contender {
            setup_ms: Some(0.25),
            largest_difference: Some(0.5),
            ..Contender::ran("evenpath", "a, \"b\"", &times, Err("wrong".into()))
        };
        let more = BTreeMap::from([("effective bytes".to_owned(), 8.0)]);
        let figures = Figures::new((0, 0, 0), vec![own], vec![], more);
        let statistics = evenpath::Csr::<f64>::from_triplets(1, 1, []).unwrap().statistics();
        let mut out = Vec::new();
        Table::new(&mut out, 10.0).unwrap().row("a", &statistics, &figures).unwrap();
        let mut rows = csv::Reader::from_reader(&out[..]).into_records();
        let row = rows.next().unwrap().unwrap();
        let fields: Vec<&str> = row.iter().skip(MATRIX_COLUMNS.len()).take(METHOD_COLUMNS.len()).collect();
        assert_eq!(fields, ["a, \"b\"", "0.25000", "0.00000", "", "", "", "5e-1", "false"]);
        assert!(
            rows.next().is_none() && row.len() == MATRIX_COLUMNS.len() + METHODS.len() * METHOD_COLUMNS.len()
        );
    }
}
