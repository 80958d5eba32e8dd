//! All tables.

use super::over::Named;
use super::sizes::sizes;
use super::{bytes, means, nodes, times};
use crate::study::table::Table;

/// The tables of a type.
pub(super) fn of_type(rows: &[Named<'_>], value: &str) -> Vec<Table> {
    // The thesis has figures of this type, and only plots of the other.
    let is_published = value == "f32";
    let mut tables = vec![nodes::nodes(rows, value)];
    if is_published {
        tables.extend([nodes::rows_beside_figure(rows, value), nodes::nodes_beside_figure(rows, value)]);
    }
    tables.extend([
        bytes::bytes(rows, value, is_published),
        sizes(rows, value),
        times::products(rows, value),
        times::rates(rows, value),
        times::sums(rows, value),
        means::means(rows, value, means::CUSPARSE, is_published),
    ]);
    if rows.iter().any(|(_, row)| row.more("spmv ms, mkl").is_some()) {
        tables.extend([times::beside_mkl(rows, value), means::means(rows, value, means::MKL, is_published)]);
    }
    tables
}
