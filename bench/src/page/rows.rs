//! Rows of one operation, and what is distinct among them.

use std::collections::BTreeSet;

use crate::results::{Figures, Op, Row, Setting, Size};

/// Rows, each with its setting.
pub(super) type Rows<'r> = [(&'r Setting, &'r Row)];

/// The distinct values, sorted.
pub(super) fn distinct<T: Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The name in the summary.
pub(super) fn name(op: Op) -> &'static str {
    match op {
        Op::Spmv => "SpMV",
        Op::SpmvTransposed => "SpMV, transposed",
        Op::Spmm => "SpMM",
        Op::Sddmm => "SDDMM",
        Op::Spadd => "SpAdd",
        Op::Spgemm => "SpGEMM",
        Op::Hisparse => "SpMV with HiSparse",
        Op::Masked => "masked products",
        Op::Graphs => "graphs",
        Op::Assembly => "assembly",
        Op::Triangular => "triangular",
    }
}

/// Joins the parts of a name that are not empty.
pub(super) fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The libraries that the rows are compared with.
pub(super) fn libraries(rows: &Rows<'_>) -> Vec<String> {
    distinct(rows.iter().filter_map(|(_, row)| row.figures()).flat_map(Figures::libraries))
}

/// The versions of evenpath that measured the rows.
pub(super) fn versions(rows: &Rows<'_>) -> String {
    distinct(rows.iter().map(|(setting, _)| setting.evenpath.as_str())).join(", ")
}

/// The rows of an operation in parts, each with what its name ends with: SpMV with small matrices apart.
pub(super) fn parts<'r>(op: Op, rows: &Rows<'r>) -> Vec<(&'static str, Vec<(&'r Setting, &'r Row)>)> {
    if op != Op::Spmv {
        return vec![("", rows.to_vec())];
    }
    let of = |size| rows.iter().copied().filter(|(_, row)| Size::of(row) == size).collect::<Vec<_>>();
    let parts = [("", of(Size::Large)), (Size::Small.name(), of(Size::Small))];
    parts.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}

/// The rows of one case.
pub(super) fn of_case<'r>(rows: &Rows<'r>, variant: &str) -> Vec<(&'r Setting, &'r Row)> {
    rows.iter().copied().filter(|(_, row)| row.key.variant == variant).collect()
}
