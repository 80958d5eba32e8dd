//! The choice of a method of SpMV.

use std::borrow::Cow;
use std::fmt::Write;

use super::rows::Rows;
use crate::results::{AUTO, Figures, MAY_COPY, Row, judgements};

/// The row by the time of the choice, not of the fastest method, if it was measured: of the one that keeps no copy, or else of
/// the one that may.
pub(super) fn counted(row: &Row) -> Cow<'_, Row> {
    let of = |figures: &Figures| {
        [AUTO, MAY_COPY].into_iter().find(|name| figures.own(name).is_some()).map(|name| figures.by(name))
    };
    match row.figures().and_then(of) {
        None => Cow::Borrowed(row),
        Some(figures) => {
            let Row { key, shape, structure, .. } = row.clone();
            Cow::Owned(Row::measured(key, shape, figures).of_structure(structure))
        }
    }
}

/// How far the choice is from the fastest method, by size, type and suite; empty where only one method was measured.
pub(super) fn section(rows: &Rows<'_>) -> String {
    let tables = judgements(rows.iter().map(|(_, row)| *row));
    if tables.is_empty() {
        return String::new();
    }
    let mut text = "\n## The choice of a method\n\nThe time of the chosen method over that of the fastest measured one, \
                    geometric mean and largest: `auto` among methods that keep no copy of the matrix, `may-copy` among all. \
                    Beside it the libraries' time over that of the choice.\n"
        .to_owned();
    for (size, table) in tables {
        // Writing to a String does not fail.
        let _ = write!(text, "\nMatrices of {}:\n\n{table}", size.name());
    }
    text
}
