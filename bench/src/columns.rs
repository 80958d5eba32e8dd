//! Tables in plain text, with a line as soon as it is known.

/// The cell of a line: the heading of its column, its width, and its text. A negative width aligns to the left.
pub(crate) type Cell = (&'static str, i32, String);

/// Formats a number with this many decimals, or a dash.
pub(crate) fn decimal(value: impl Into<Option<f64>>, decimals: usize) -> String {
    value.into().map_or_else(|| "-".into(), |value| format!("{value:.decimals$}"))
}

/// The line of headings above a line.
pub(crate) fn head(cells: &[Cell]) -> String {
    joined(cells.iter().map(|(heading, width, _)| (*heading, *width)))
}

/// A line.
pub(crate) fn line(cells: &[Cell]) -> String {
    joined(cells.iter().map(|(_, width, text)| (text.as_str(), *width)))
}

fn joined<'c>(cells: impl Iterator<Item = (&'c str, i32)>) -> String {
    let aligned = cells.map(|(text, width)| {
        let len = width.unsigned_abs() as usize;
        if width < 0 { format!("{text:<len$}") } else { format!("{text:>len$}") }
    });
    aligned.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_cells_are_aligned() {
        let cells =
            [("name", -6, "a".to_owned()), ("ms", 5, decimal(1.25, 1)), ("GB/s", 5, decimal(None, 1))];
        assert_eq!((head(&cells), line(&cells)), ("name      ms  GB/s".into(), "a        1.2     -".into()));
    }
}
