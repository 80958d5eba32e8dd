//! Numbers and tables in Markdown.

use std::fmt::Write;

/// Below this, numbers are written with an exponent.
const SMALL: f64 = 1e-6;

/// A number with four significant digits, without trailing zeros: `0.1235`, `98765`, `4.441e-15`.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    if value.abs() < SMALL {
        let text = format!("{value:.3e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (3 - magnitude).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

/// A decimal number without trailing zeros after the point.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Text escaped for a table cell.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

/// A table in Markdown, with the first column aligned left and the others right.
pub(crate) struct Markdown {
    text: String,
    columns: usize,
}

impl Markdown {
    /// An empty table with these headings.
    pub(crate) fn new(headings: &[String]) -> Self {
        let mut table = Self { text: String::new(), columns: headings.len() };
        table.row(headings.iter().cloned());
        table.text += "|---|";
        for _ in 1..headings.len() {
            table.text += "---:|";
        }
        table.text.push('\n');
        table
    }

    /// Adds a row; cells are escaped.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.text.push('|');
        let mut count = 0;
        for cell in cells {
            // Writing to a String does not fail.
            let _ = write!(self.text, " {} |", escaped(&cell));
            count += 1;
        }
        debug_assert_eq!(count, self.columns, "a row has a cell for every heading");
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let numbers = [0.0, 1.0, 0.123_456, 1234.56, 0.5, 98_765.4, 1.25e-6, f64::NAN];
        let texts = ["0", "1", "0.1235", "1235", "0.5", "98765", "0.00000125", "-"];
        assert_eq!(numbers.map(number), texts);
    }

    #[test]
    fn small_numbers_are_not_zero() {
        assert_eq!([1.5e-7, -4.440_892e-15, 9.999_99e-7].map(number), ["1.5e-7", "-4.441e-15", "1e-6"]);
    }

    #[test]
    fn tables_escape_what_is_in_them() {
        let mut table = Markdown::new(&["a".into(), "b".into()]);
        table.row(["x|y".into(), "<z>".into()]);
        assert_eq!(table.finish(), "| a | b |\n|---|---:|\n| x\\|y | &lt;z> |\n");
    }
}
