//! Numbers and tables in Markdown.

use std::fmt::Write;

/// A number with four significant digits and at most nine decimals, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (3 - magnitude).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
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
        let numbers = [0.0, 1.0, 0.123_456, 1234.56, 0.5, 98_765.4, 1.5e-7, f64::NAN];
        let texts = ["0", "1", "0.1235", "1235", "0.5", "98765", "0.00000015", "-"];
        assert_eq!(numbers.map(number), texts);
        assert_eq!(number(1.5e-7), "0.00000015");
    }

    #[test]
    fn tables_escape_what_is_in_them() {
        let mut table = Markdown::new(&["a".into(), "b".into()]);
        table.row(["x|y".into(), "<z>".into()]);
        assert_eq!(table.finish(), "| a | b |\n|---|---:|\n| x\\|y | &lt;z> |\n");
    }
}
