//! Rows compared with a library.

use super::Row;
use crate::statistics::geometric_mean;

/// Rows of one case and type, compared with one library.
pub(crate) struct Comparison<'r> {
    /// The library's time over evenpath's, for each matrix that both have.
    ratios: Vec<(f64, &'r Row)>,
}

impl<'r> Comparison<'r> {
    /// Compares all rows that have a ratio to the library.
    pub(crate) fn new(rows: impl IntoIterator<Item = &'r Row>, library: &str) -> Self {
        let ratio = |row: &'r Row| Some((*row.figures()?.ratio.get(library)?, row));
        Self::of(rows.into_iter().filter_map(ratio))
    }

    /// Creates a comparison from ratios.
    pub(crate) fn of(ratios: impl Iterator<Item = (f64, &'r Row)>) -> Self {
        Self { ratios: ratios.collect() }
    }

    /// Selects the rows of matrices by their number of nonzeros.
    pub(crate) fn of_nonzeros(&self, is_it: impl Fn(usize) -> bool) -> Self {
        let has = |row: &Row| row.shape.is_some_and(|shape| is_it(shape.nnz));
        Self::of(self.ratios.iter().copied().filter(|(_, row)| has(row)))
    }

    /// Matrices that are compared.
    pub(crate) fn compared(&self) -> usize {
        self.ratios.len()
    }

    /// Matrices for which evenpath takes no longer than the library.
    pub(crate) fn faster(&self) -> usize {
        self.ratios.iter().filter(|(ratio, _)| *ratio >= 1.0).count()
    }

    /// Matrices for which it takes longer.
    pub(crate) fn slower(&self) -> usize {
        self.compared() - self.faster()
    }

    /// The geometric mean of the ratios, as text.
    pub(crate) fn mean(&self) -> String {
        let mean = geometric_mean(self.ratios.iter().map(|(ratio, _)| *ratio));
        mean.map_or_else(|| "-".into(), |mean| format!("{mean:.3}"))
    }

    /// The lowest ratio with its matrix, as text.
    pub(crate) fn lowest(&self) -> String {
        let lowest = self.ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        lowest.map_or_else(|| "-".into(), |(ratio, row)| format!("{ratio:.2} ({})", row.key.matrix))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Times;
    use crate::results::{Contender, Figures, Key, Op};

    fn row(matrix: &str, own_ms: f64, peer_ms: f64) -> Row {
        let (variant, suite, value) = (String::new(), "folder".into(), "f64".into());
        let key = Key { op: Op::Spmv, variant, suite, matrix: matrix.into(), value };
        let ran = |library, name, ms| Contender::ran(library, name, &Times::of_runs(vec![ms]), Ok(()));
        let ours = vec![ran("evenpath", "auto", own_ms)];
        let peers = vec![ran("cusparse", "csr", peer_ms)];
        let figures = Figures::new((1, 2, 3), ours, peers, BTreeMap::new());
        Row::measured(key, None, figures)
    }

    #[test]
    fn wins_losses_and_means_are_counted() {
        // Ratios 4, 1, 1/2 and, of a row without figures, none: their product is 2.
        let failed = Row::failed(row("d", 1.0, 1.0).key, None, "out of memory");
        let rows = [row("a", 1.0, 4.0), row("b", 2.0, 2.0), row("c", 2.0, 1.0), failed];
        let comparison = Comparison::new(&rows, "cusparse");
        assert_eq!((comparison.compared(), comparison.faster(), comparison.slower()), (3, 2, 1));
        assert_eq!((comparison.mean(), comparison.lowest()), ("1.260".into(), "0.50 (c)".into()));
        let none = Comparison::new(&rows, "mkl");
        assert_eq!((none.compared(), none.mean(), none.lowest()), (0, "-".into(), "-".into()));
    }
}
