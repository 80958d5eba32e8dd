//! The first page: every operation in a few figures, and a plot for each device.

use super::operation::title;
use super::places::Place;
use super::plots::sorted;
use super::rows::{distinct, joined, libraries, name, of_case, parts, versions};
use crate::markdown::Markdown;
use crate::plot::{Axis, Mark, Plot, Series};
use crate::results::{Comparison, Op, Row, Setting};

/// A table with a row per operation, case and library, for SpMV also per class of size; `None` if no library was measured.
pub(super) fn table(place: &Place<'_>) -> Option<String> {
    let of_op = |op| parts(op, &place.operation(op)).into_iter().map(move |(size, rows)| (op, size, rows));
    let of_ops: Vec<_> = Op::ALL.into_iter().flat_map(of_op).collect();
    let values = distinct(of_ops.iter().flat_map(|(_, _, rows)| rows).map(|(_, row)| row.key.value.as_str()));
    let mut headings = ["operation", "evenpath", "compared with"].map(str::to_owned).to_vec();
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
    for (op, size, rows) in &of_ops {
        for variant in distinct(rows.iter().map(|(_, row)| row.key.variant.as_str())) {
            for library in libraries(&of_case(rows, variant)) {
                let mut cells = vec![joined(&[name(*op), variant, size]), versions(rows), library.clone()];
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
pub(super) fn plot(place: &Place<'_>) -> Plot {
    let mut series = Vec::new();
    for op in Op::ALL {
        let rows = place.operation(op);
        let fastest = |row: &Row| row.figures()?.ratio.values().copied().min_by(f64::total_cmp);
        // The ways of HiSparse are lines of their own: one is a copy in another format.
        let mut groups = vec![(name(op).to_owned(), rows.clone())];
        if op == Op::Hisparse {
            let cases = distinct(rows.iter().map(|(_, row)| row.key.variant.as_str()));
            groups = cases.iter().map(|case| (joined(&[name(op), case]), of_case(&rows, case))).collect();
        }
        for (name, rows) in groups {
            let ratios: Vec<f64> = rows.iter().filter_map(|(_, row)| fastest(row)).collect();
            if !ratios.is_empty() {
                series.push(Series { name, mark: Mark::Line, points: sorted(ratios) });
            }
        }
    }
    series.push(Series { name: "equal".into(), mark: Mark::Line, points: vec![(0.0, 1.0), (100.0, 1.0)] });
    Plot {
        title: format!("{}: the fastest library's time over evenpath's, sorted", place.device),
        x: Axis::linear("percent of the measurements"),
        y: Axis::log("ratio, above 1 evenpath is faster"),
        series,
    }
}

/// Links to the pages of a place's operations.
pub(super) fn links<'s>(pages: impl Iterator<Item = (Op, String, &'s Setting)>) -> String {
    let link = |(op, page, setting): (Op, String, &Setting)| {
        format!("- [{}](measurements/{page}.md), evenpath {}\n", title(op), setting.evenpath)
    };
    pages.map(link).collect::<Vec<_>>().concat()
}
