//! Figures of rows in tables.

use std::error::Error;

use evenpath::Csr;
use evenpath::spmv::SpmvMethod;

use super::table::{Cell, Table};
use crate::operations::Bench;
use crate::operations::spmv::{self, Product, Way};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures};
use crate::statistics::{self, MOST_ROUNDS, WIDE};

/// y = Ax by the methods that the device has, beside the peers.
pub(super) fn measure_spmv<V: PeerValue>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    methods: &[SpmvMethod],
) -> Result<Figures, Box<dyn Error>> {
    let on_device = methods.iter().filter(|method| method.runs_on(bench.device.kind()));
    spmv::measure(bench, matrix, &Product::direct(on_device.map(|&method| Way::method(method)).collect()))
}

/// Milliseconds of a method, if it ran with a correct result; wrong results are listed with the name of the matrix.
pub(super) fn method_ms(figures: &Figures, method: SpmvMethod, name: &str, table: &mut Table) -> Option<f64> {
    right_ms(figures.own(&method.to_string())?, name, table)
}

/// Milliseconds of a contender, if it ran with a correct result; wrong results are listed with the name of the matrix.
pub(super) fn right_ms(own: &Contender, name: &str, table: &mut Table) -> Option<f64> {
    if own.is_wrong() {
        let error = own.error.as_deref().unwrap_or_default();
        table.wrong.push(format!("{name}, {}: {error}", own.name));
    }
    own.right_ms()
}

/// The heading of the column of spreads.
pub(super) const SPREAD: &str = "spread, %";

/// Contents of the column of spreads.
pub(super) fn spread_note() -> String {
    format!(
        "spread: the widest interquartile range of evenpath's times in a row, in percent of the median; times with more than \
         {:.0} % are measured again, in at most {MOST_ROUNDS} rounds, of which the narrowest counts",
        100.0 * WIDE
    )
}

/// The widest of several spreads, in percent; `None` without any.
pub(super) fn widest_percent(spreads: impl IntoIterator<Item = f64>) -> Option<f64> {
    spreads.into_iter().map(|spread| 100.0 * spread).max_by(f64::total_cmp)
}

/// The spreads of evenpath's times.
pub(super) fn spreads(figures: &Figures) -> impl Iterator<Item = f64> {
    figures.ours.iter().filter_map(|own| Some(own.timing?.spread))
}

/// Milliseconds of cuSPARSE's best algorithm for CSR.
pub(super) fn cusparse_ms(figures: &Figures) -> Option<f64> {
    figures.csr_ms("cusparse")
}

/// 10⁹ operations per second, two per nonzero.
pub(super) fn gflops(nonzeros: usize, ms: Option<f64>) -> Option<f64> {
    ms.map(|ms| 2.0 * nonzeros as f64 / ms / 1e6)
}

/// Correlation of time with work, for at least three matrices: two always lie on a line.
pub(super) fn correlation(times: &[(f64, f64)]) -> Option<f64> {
    statistics::correlation(times).filter(|_| times.len() > 2)
}

/// The quotient, if both values exist.
pub(super) fn quotient(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below?)
}

/// Nonzeros per row.
pub(super) fn nonzeros_per_row<V: PeerValue>(matrix: &Csr<V>) -> Cell {
    (matrix.nnz() as f64 / matrix.nrows().max(1) as f64).into()
}
