//! A + A, by evenpath and by cuSPARSE.

use std::error::Error;

use evenpath::Csr;

use crate::operations::{Bench, spadd};
use crate::results::Contender;
use crate::study::figures::right_ms;
use crate::study::table::Table;

/// The sum of a matrix and itself.
pub(super) struct Sum {
    /// Evenpath's.
    pub(super) own: Contender,
    /// Its milliseconds, if the result is right.
    pub(super) ms: Option<f64>,
    /// Those of the fastest algorithm of cuSPARSE.
    pub(super) cusparse_ms: Option<f64>,
}

/// Measures the sum. Notes the algorithms that failed, and what is wrong.
pub(super) fn sum(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<f64>,
    table: &mut Table,
) -> Result<Sum, Box<dyn Error>> {
    let mut figures = spadd::measure(bench, (1.0, matrix), (1.0, matrix))?;
    for peer in figures.peers.iter().filter(|peer| peer.error.is_some()) {
        table.note(format!(
            "{}, {}: {}",
            peer.full_name(),
            peer.name,
            peer.error.as_deref().unwrap_or_default()
        ));
    }
    let cusparse_ms = figures.best_peer("cusparse").map(|(_, ms)| ms);
    let own = figures.ours.pop().ok_or("a sum has one way")?;
    Ok(Sum { ms: right_ms(&own, &format!("{name}, sum"), table), own, cusparse_ms })
}
