//! The beginning of the page: every operation in a few figures, and a plot.

use std::fmt::Write;

use super::Place;
use super::operation::{libraries, name, of_case};
use super::plots::sorted;
use super::text::Markdown;
use super::{distinct, plots::NamedPlot};
use crate::cases::Op;
use crate::plot::{Axis, Mark, Plot, Series};
use crate::results::{Row, Setting};
use crate::statistics::geometric_mean;

/// Rows of one case and type, compared with one library.
pub(super) struct Comparison<'r> {
    /// The library's time over evenpath's, for each matrix that both have.
    ratios: Vec<(f64, &'r Row)>,
}

impl<'r> Comparison<'r> {
    /// Of all rows that have a ratio to the library.
    pub(super) fn new(rows: impl IntoIterator<Item = &'r Row>, library: &str) -> Self {
        let ratio = |row: &'r Row| Some((*row.figures()?.ratio.get(library)?, row));
        Self { ratios: rows.into_iter().filter_map(ratio).collect() }
    }

    /// Matrices that are compared.
    pub(super) fn compared(&self) -> usize {
        self.ratios.len()
    }

    /// Matrices for which evenpath takes no longer than the library.
    pub(super) fn faster(&self) -> usize {
        self.ratios.iter().filter(|(ratio, _)| *ratio >= 1.0).count()
    }

    /// Matrices for which it takes longer.
    pub(super) fn slower(&self) -> usize {
        self.compared() - self.faster()
    }

    /// The geometric mean of the ratios, as text.
    pub(super) fn mean(&self) -> String {
        let mean = geometric_mean(self.ratios.iter().map(|(ratio, _)| *ratio));
        mean.map_or_else(|| "-".into(), |mean| format!("{mean:.3}"))
    }

    /// The lowest ratio with its matrix, as text.
    pub(super) fn lowest(&self) -> String {
        let lowest = self.ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        lowest.map_or_else(|| "-".into(), |(ratio, row)| format!("{ratio:.2} ({})", row.key.matrix))
    }
}

/// A table with a row per operation, case and library; `None` if no library was measured.
pub(super) fn table(place: &Place<'_>) -> Option<String> {
    let values = distinct(place.rows.iter().map(|(_, row)| row.key.value.as_str()));
    let mut headings = vec!["operation".to_owned(), "compared with".to_owned()];
    for value in &values {
        headings.extend([
            format!("{value}: geometric mean"),
            "faster".into(),
            "slower".into(),
            "lowest".into(),
        ]);
    }
    let mut table = Markdown::new(&headings);
    let mut count = 0;
    for op in Op::ALL {
        let rows = of_operation(place, op);
        for variant in distinct(rows.iter().map(|(_, row)| row.key.variant.as_str())) {
            for library in libraries(&of_case(&rows, variant)) {
                let title =
                    if variant.is_empty() { name(op).into() } else { format!("{}, {variant}", name(op)) };
                let mut cells = vec![title, library.clone()];
                for value in &values {
                    let of_case = rows.iter().map(|(_, row)| *row);
                    let of_case = of_case.filter(|row| row.key.variant == variant && row.key.value == *value);
                    let comparison = Comparison::new(of_case, &library);
                    let counts = [comparison.faster(), comparison.slower()].map(|count| count.to_string());
                    cells.push(comparison.mean());
                    cells.extend(counts);
                    cells.push(comparison.lowest());
                }
                table.row(cells);
                count += 1;
            }
        }
    }
    (count > 0).then(|| table.finish())
}

/// Every operation's ratios, sorted, in one plot: types and cases together, beside the fastest library of each.
pub(super) fn plot(place: &Place<'_>) -> NamedPlot {
    let mut series = Vec::new();
    for op in Op::ALL {
        let rows = of_operation(place, op);
        let fastest = |row: &Row| row.figures()?.ratio.values().copied().min_by(f64::total_cmp);
        // The ways of HiSparse are lines of their own: one is a copy in another format.
        let mut groups = vec![(name(op).to_owned(), rows.clone())];
        if op == Op::Hisparse {
            let cases = distinct(rows.iter().map(|(_, row)| row.key.variant.as_str()));
            groups =
                cases.iter().map(|case| (format!("{}, {case}", name(op)), of_case(&rows, case))).collect();
        }
        for (name, rows) in groups {
            let ratios: Vec<f64> = rows.iter().filter_map(|(_, row)| fastest(row)).collect();
            if !ratios.is_empty() {
                series.push(Series { name, mark: Mark::Line, points: sorted(ratios) });
            }
        }
    }
    series.push(Series { name: "equal".into(), mark: Mark::Line, points: vec![(0.0, 1.0), (100.0, 1.0)] });
    let plot = Plot {
        title: format!("{}: the fastest library's time over evenpath's, sorted", place.title()),
        x: Axis::linear("percent of the measurements"),
        y: Axis::log("ratio, above 1 evenpath is faster"),
        series,
    };
    NamedPlot { name: "summary", plot }
}

fn of_operation<'r>(place: &Place<'r>, op: Op) -> Vec<(&'r Setting, &'r Row)> {
    place.rows.iter().copied().filter(|(_, row)| row.key.op == op).collect()
}

/// The summary of a device, with its plot as a file's name and contents.
pub(super) fn of_place(place: &Place<'_>) -> Option<(String, (String, String))> {
    let table = table(place)?;
    let NamedPlot { name, plot } = plot(place);
    let file = format!("{}-{name}.svg", place.name);
    let mut text = format!("## Summary: {}\n\n{table}", place.title());
    // Writing to a String does not fail.
    let _ = writeln!(text, "\n![{}]({file})\n", plot.title);
    Some((text, (file, plot.to_svg())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::results::{Contender, Figures, Key};

    fn row(matrix: &str, own_ms: f64, peer_ms: f64) -> Row {
        let (variant, suite, value) = (String::new(), "folder".into(), "f64".into());
        let key = Key { op: Op::Spmv, variant, suite, matrix: matrix.into(), value };
        let ours = vec![Contender::ran("evenpath", "auto", own_ms, None, None)];
        let peers = vec![Contender::ran("cusparse", "csr", peer_ms, None, None)];
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
