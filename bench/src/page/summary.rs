//! The beginning of the page: every operation in a few figures, and a plot.

use std::fmt::Write;

use super::places::Place;
use super::plots::{NamedPlot, sorted};
use super::rows::{distinct, libraries, name, of_case};
use crate::markdown::Markdown;
use crate::plot::{Axis, Mark, Plot, Series};
use crate::results::{Comparison, Op, Row, Setting};

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
