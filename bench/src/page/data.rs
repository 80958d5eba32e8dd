//! All rows of an operation, and all cells of a study, as CSV.

use super::rows::{Rows, distinct, libraries};
use crate::results::{Contender, Figures, Row, Setting};
use crate::study::StudyFile;

/// The columns of every operation. Ratios to libraries and further figures follow.
const COLUMNS: [&str; 14] = [
    "case",
    "suite",
    "matrix",
    "type",
    "rows",
    "columns",
    "nonzeros",
    "evenpath",
    "ms",
    "spread widely",
    "GFLOP/s",
    "of copy",
    "by",
    "without a time",
];

/// The rows of an operation in the order of measurement.
pub(super) fn operation(rows: &Rows<'_>) -> String {
    let libraries = libraries(rows);
    let more = distinct(rows.iter().filter_map(|(_, row)| row.figures()).flat_map(|found| found.more.keys()));
    let headings = COLUMNS.into_iter().map(str::to_owned).chain(libraries.iter().cloned());
    let mut lines = vec![headings.chain(more.iter().map(|name| (*name).clone())).collect()];
    for (setting, row) in rows {
        let figures = row.figures();
        let ratio = |library: &String| text(figures.and_then(|found| found.ratio.get(library).copied()));
        let figure = |name: &&String| text(figures.and_then(|found| found.more.get(*name).copied()));
        let mut line = fields(setting, row);
        line.extend(libraries.iter().map(ratio).chain(more.iter().map(figure)));
        lines.push(line);
    }
    csv(lines)
}

/// The fields of [`COLUMNS`].
fn fields(setting: &Setting, row: &Row) -> Vec<String> {
    let figures = row.figures();
    let ms = figures.and_then(|found| found.ms);
    let rate = |amount: &dyn Fn(&Figures) -> f64| {
        text(figures.and_then(|found| Some(amount(found) / found.ms? / 1e6)))
    };
    let size = row.shape.map_or([const { String::new() }; 3], |shape| {
        [shape.rows, shape.cols, shape.nnz].map(|count| count.to_string())
    });
    let wide = figures.and_then(Figures::counted).map(|own| Contender::is_wide(own).to_string());
    let key = &row.key;
    let names = [&key.variant, &key.suite, &key.matrix, &key.value].map(Clone::clone);
    let mut fields = [&names[..], &size, &[setting.evenpath.clone(), text(ms)]].concat();
    fields.extend([
        wide.unwrap_or_default(),
        rate(&|found| found.operations as f64),
        rate(&|found| found.bytes as f64 / setting.copy_gbps),
        figures.and_then(|found| found.method.clone()).unwrap_or_default(),
        missing(row),
    ]);
    fields
}

/// The reasons why evenpath or a library has no time.
fn missing(row: &Row) -> String {
    let mut reasons: Vec<String> =
        row.failure().into_iter().map(|reason| format!("evenpath: {reason}")).collect();
    if let Some(found) = row.figures() {
        for library in found.libraries().iter().filter(|library| found.best_peer(library).is_none()) {
            reasons.push(format!("{library}: {}", found.refusals(library).join("; ")));
        }
    }
    reasons.join("; ")
}

/// The cells of a study: one per line, with its table, the first cell of its row, and its column.
pub(super) fn study(study: &StudyFile) -> String {
    let mut lines = vec![["table", "row", "column", "value"].map(str::to_owned).to_vec()];
    for table in &study.tables {
        for row in &table.rows {
            let first = row.first().map(ToString::to_string).unwrap_or_default();
            for (column, cell) in table.columns.iter().zip(row).skip(1) {
                lines.push(vec![table.title.clone(), first.clone(), column.clone(), cell.to_string()]);
            }
        }
    }
    csv(lines)
}

fn text(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn csv(lines: Vec<Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(line).unwrap_or_else(|error| unreachable!("lines are equally long: {error}"));
    }
    let bytes = writer.into_inner().unwrap_or_else(|error| unreachable!("memory can be written: {error}"));
    String::from_utf8(bytes).unwrap_or_else(|error| unreachable!("the fields are text: {error}"))
}
