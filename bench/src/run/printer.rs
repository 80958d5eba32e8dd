//! Rows on stdout: a table, or lines of JSON as files of results have them.

use std::fmt::Write;

use super::summary::Summary;
use crate::results::{Contender, Figures, Row, Setting, SettingLine, Size, judgements, to_line};

/// Prints rows as they arrive.
pub(crate) struct Printer {
    json: bool,
    copy_gbps: f64,
    l2_bytes: Option<u64>,
}

impl Printer {
    /// Prints the setting, and the head of a table.
    pub(crate) fn begin(setting: &Setting, json: bool) -> Self {
        if json {
            print!("{}", to_line(&SettingLine { setting }));
        } else {
            let Setting { copy_gbps, peers, .. } = setting;
            let device = setting.device_name();
            let beside =
                if peers.is_empty() { String::new() } else { format!(", beside {}", peers.join(", ")) };
            println!("{device}, copies at {copy_gbps:.0} GB/s{beside}; * fits in L2; ~ spread widely");
            println!("{}", head());
        }
        Self { json, copy_gbps: setting.copy_gbps, l2_bytes: setting.l2_bytes }
    }

    /// Prints a row.
    pub(crate) fn row(&self, row: &Row) {
        if self.json {
            print!("{}", to_line(row));
        } else {
            print!("{}", self.lines(row));
        }
    }

    /// Prints summaries of all rows, and judgements of the choice: below a table on stdout, beside JSON on stderr.
    pub(crate) fn summaries(&self, rows: &[Row]) {
        let summaries = Summary::all(rows).into_iter().map(|summary| summary.to_string());
        let judgement = |(size, table): (Size, String)| {
            let table = table.trim_end();
            format!(
                "choice of a method of spmv, matrices of {}, times over the fastest measured method:\n{table}",
                size.name()
            )
        };
        for summary in summaries.chain(judgements(rows).into_iter().map(judgement)) {
            if self.json {
                eprintln!("{summary}");
            } else {
                println!("{summary}");
            }
        }
    }

    /// A line for the case, one for each contender of evenpath, one for the fastest of each library, and the further figures.
    fn lines(&self, row: &Row) -> String {
        let key = &row.key;
        let separator = if key.variant.is_empty() { "" } else { ", " };
        let mut text = format!("{} {}, {}{separator}{}", key.matrix, key.value, key.op, key.variant);
        // Writing to a String does not fail, here and below.
        if let Some(shape) = row.shape {
            let _ = write!(text, ": {} x {}, {} nonzeros", shape.rows, shape.cols, shape.nnz);
        }
        if let Some(structure) = &row.structure {
            let _ = write!(text, "; {structure}");
        }
        text.push('\n');
        let Some(figures) = row.figures() else {
            let _ = writeln!(text, "  {}", row.failure().unwrap_or_default());
            return text;
        };
        let fastest = figures.peers.iter().filter_map(Contender::right_ms).min_by(f64::total_cmp);
        for own in &figures.ours {
            text += &self.line((row, figures), own, fastest.zip(own.ms).map(|(peer, ms)| peer / ms));
        }
        for library in figures.libraries() {
            if let Some((peer, ms)) = figures.best_peer(&library) {
                text += &self.line((row, figures), peer, figures.ms.map(|own| ms / own));
            } else {
                let reasons = figures.refusals(&library).join("; ");
                let _ = writeln!(text, "  {library}: no correct result: {reasons}");
            }
        }
        if !figures.more.is_empty() {
            let more = figures.more.iter().map(|(name, value)| format!("{name} {}", short(*value)));
            let _ = writeln!(text, "  {}", more.collect::<Vec<_>>().join("; "));
        }
        text
    }

    /// The line of a contender. The ratio is that of a library's time to evenpath's.
    fn line(&self, (row, figures): (&Row, &Figures), one: &Contender, ratio: Option<f64>) -> String {
        let chosen = one.chosen.as_ref().filter(|chosen| **chosen != one.name);
        let name = match (chosen, &one.format) {
            (Some(chosen), _) => format!("{} {} ({chosen})", one.full_name(), one.name),
            (None, Some(format)) => format!("{} {} ({format})", one.full_name(), one.name),
            (None, None) => format!("{} {}", one.full_name(), one.name),
        };
        let Some(ms) = one.ms else {
            return format!("  {name:<44} {}\n", one.error.as_deref().unwrap_or_default());
        };
        let (spread, wide) = one
            .timing
            .map_or((f64::NAN, ""), |timing| (100.0 * timing.spread, if timing.wide { "~" } else { "" }));
        let star = if self.l2_bytes.is_some_and(|l2| figures.bytes <= l2) { "*" } else { "" };
        let bytes = one.matrix_bytes.map_or(figures.bytes, |bytes| bytes + row.vector_bytes());
        let megabytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e6);
        let gbps = |bytes: f64| bytes / ms / 1e6;
        let cells = [
            number(one.setup_ms, 4, 9),
            number(one.values_ms, 4, 9),
            number(megabytes(one.bytes), 2, 9),
            number(megabytes(one.matrix_bytes), 2, 9),
            number(figures.break_even(one).map(|runs| runs as f64), 0, 6),
            number(ratio, 3, 7),
        ];
        let error = one.error.as_ref().map_or_else(String::new, |error| format!("  FAIL: {error}"));
        let line = format!(
            "  {name:<44} {ms:>9.4}{wide:<1} {spread:>5.1}% {:>8.2} {:>8.1}{star:<1} {:>7.3} {}{error}",
            gbps(figures.operations as f64),
            gbps(bytes as f64),
            gbps(bytes as f64) / self.copy_gbps,
            cells.join(" ")
        );
        format!("{}\n", line.trim_end())
    }
}

fn head() -> String {
    format!(
        "  {:<44} {:>9}  {:>6} {:>8} {:>8}  {:>7} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7}",
        "method",
        "ms",
        "spread",
        "GFLOP/s",
        "GB/s",
        "of copy",
        "setup ms",
        "values ms",
        "work MB",
        "matrix MB",
        "even",
        "ratio"
    )
}

fn number(value: Option<f64>, decimals: usize, width: usize) -> String {
    value.map_or_else(|| format!("{:>width$}", "-"), |value| format!("{value:>width$.decimals$}"))
}

/// A figure of any size.
fn short(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.4}") }
}
