//! Correlation of time with work: Figures 6, 8 and 10.

use evenpath::spmv::SpmvMethod;

use super::measure::{BALANCED, GLOBAL};
use crate::operations::spadd::MERGE_PATH;
use crate::results::Row;
use crate::study::figures::{best_cusparse_ms, correlation, cusparse_ms, method_ms};
use crate::study::name::Study;
use crate::study::published::MERGE_PATH_CORRELATION;
use crate::study::table::{Cell, Table};

/// The rows of each operation.
#[derive(Default)]
pub(super) struct Operations<'r> {
    pub(super) spmv: Vec<&'r Row>,
    /// SpMV without scattered loads of x.
    pub(super) control: Vec<&'r Row>,
    pub(super) spadd: Vec<&'r Row>,
    pub(super) spgemm: Vec<&'r Row>,
}

/// The correlations, beside the published ones.
pub(super) fn table(title: &str, rows: &Operations<'_>) -> Table {
    let mut table = Table::new(
        Study::MergePath,
        title,
        "Figures 6, 8 and 10, GTX Titan; work is nonzeros, nonzeros of both matrices, and products.",
        &["operation", "method", "evenpath", "published", "cuSPARSE, beside"],
    );
    let [spmv, spadd, spgemm] = MERGE_PATH_CORRELATION;
    let mut add = |name: &str, method: &str, rows: &[&Row], own: &dyn Fn(&Row) -> Option<f64>, published| {
        let peer = if name == "SpMV" { cusparse_ms } else { best_cusparse_ms };
        let of = |ms: &dyn Fn(&Row) -> Option<f64>| {
            let point = |row: &&Row| Some((row.figures()?.work as f64, ms(row)?));
            correlation(&rows.iter().filter_map(point).collect::<Vec<_>>())
        };
        table.row([name.into(), method.into(), of(own).into(), Cell::from(published), of(&peer).into()]);
    };
    add(spmv.0, "flat", &rows.spmv, &|row| method_ms(row, SpmvMethod::Flat), Some(spmv.1));
    add(spmv.0, "flat, columns in sequence", &rows.control, &|row| method_ms(row, SpmvMethod::Flat), None);
    add(spmv.0, "merge path", &rows.spmv, &|row| method_ms(row, SpmvMethod::MergePath), None);
    add(spadd.0, BALANCED, &rows.spadd, &|row| row.own_ms(BALANCED), Some(spadd.1));
    add(spadd.0, GLOBAL, &rows.spadd, &|row| row.own_ms(GLOBAL), None);
    add(spadd.0, MERGE_PATH, &rows.spadd, &|row| row.own_ms(MERGE_PATH), None);
    add(spgemm.0, "column sort", &rows.spgemm, &|row| row.own_ms("column-sort"), Some(spgemm.1));
    add(spgemm.0, "two-level sort", &rows.spgemm, &|row| row.own_ms("two-level-sort"), None);
    table.note("by these methods, even if others are faster; the source's own are flat, balanced-path and column sort");
    table
}
