//! Measurements as rows, and figures of rows in tables.

use evenpath::Csr;
use evenpath::spmv::SpmvMethod;

use crate::operations::spmv::{Product, Way};
use crate::operations::{Bench, Case};
use crate::peers::PeerValue;
use crate::results::{Contender, Row};
use crate::statistics::{self, MOST_ROUNDS, WIDE};

impl Bench<'_> {
    /// Measures a case with a matrix.
    pub(super) fn row<V: PeerValue>(&self, case: &Case, name: &str, matrix: &Csr<V>) -> Row {
        case.measure(self, case.key("-", name, V::NAME), matrix)
    }

    /// y = Ax by the methods that the device has, beside the peers.
    pub(super) fn spmv<V: PeerValue>(&self, name: &str, matrix: &Csr<V>, methods: &[SpmvMethod]) -> Row {
        let on_device = methods.iter().filter(|method| method.runs_on(self.device.kind()));
        self.spmv_in(name, matrix, on_device.map(|&method| Way::method(method)).collect())
    }

    /// y = Ax in these ways, beside the peers.
    pub(super) fn spmv_in<V: PeerValue>(&self, name: &str, matrix: &Csr<V>, ways: Vec<Way>) -> Row {
        self.row(&Case::Spmv(Product::direct(ways)), name, matrix)
    }
}

/// Milliseconds of a method, if it ran with a correct result.
pub(super) fn method_ms(row: &Row, method: SpmvMethod) -> Option<f64> {
    row.own_ms(&method.to_string())
}

/// Milliseconds of cuSPARSE's best algorithm for CSR.
pub(super) fn cusparse_ms(row: &Row) -> Option<f64> {
    row.figures()?.csr_ms("cusparse")
}

/// Milliseconds of MKL's best algorithm.
pub(super) fn mkl_ms(row: &Row) -> Option<f64> {
    row.figures()?.csr_ms("mkl")
}

/// Milliseconds of cuSPARSE's best algorithm.
pub(super) fn best_cusparse_ms(row: &Row) -> Option<f64> {
    row.figures()?.best_peer("cusparse").map(|(_, ms)| ms)
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

/// The widest spread of evenpath's times in some rows, in percent; `None` without any.
pub(super) fn spread<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Option<f64> {
    widest(rows.into_iter().flat_map(Row::ours))
}

/// The widest spread of some contenders, in percent; `None` without any.
pub(super) fn widest<'c>(contenders: impl IntoIterator<Item = &'c Contender>) -> Option<f64> {
    let spreads = contenders.into_iter().filter_map(|one| Some(100.0 * one.timing?.spread));
    spreads.max_by(f64::total_cmp)
}

/// Contents of columns in GB/s.
pub(super) const GBPS_NOTE: &str = "GB/s: the bytes of the values, column indices and row offsets of the matrix, of x and of y, each \
                                    array counted once, over the time of a product";

/// GB/s of a product that takes this long, as [`GBPS_NOTE`] says.
pub(super) fn gbps(row: &Row, ms: Option<f64>) -> Option<f64> {
    Some(row.figures()?.bytes as f64 / ms? / 1e6)
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
pub(super) fn nonzeros_per_row(row: &Row) -> Option<f64> {
    row.shape.map(|shape| shape.nnz as f64 / shape.rows.max(1) as f64)
}
