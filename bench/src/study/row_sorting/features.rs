//! Features of the matrices.

use super::options::{blocks_of, ms_with, over, published};
use crate::operations::row_sorting::{
    FEWEST_BYTES, FOR_WARPS, LENGTH_PERCENTS, LONGEST_AFTER, LONGEST_BEFORE, SECTORS_AFTER, SECTORS_BEFORE,
    SORTED_BYTES, SORTING_MS, length_at,
};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{gflops, quotient};
use crate::study::name::Study;
use crate::study::table::Table;

/// The name of a further figure: the nonzeros per row, before a half is left out.
pub(super) const WHOLE_PER_ROW: &str = "nonzeros per row of the whole matrix";

/// The matrices of Figures 2 and 3.
const PLOTTED: [&str; 2] = ["circuit", "wind-tunnel"];

/// Percentage of the places with a nonzero.
pub(super) fn percent(row: &Row) -> Option<f64> {
    let places = row.shape.map(|shape| shape.rows as f64 * shape.cols as f64)?;
    Some(100.0 * row.nonzeros() as f64 / places)
}

/// Table 5.
pub(super) fn features(rows: &[Measured<Row>]) -> Table {
    let small = |row: &Row, format| gflops(row.nonzeros(), ms_with(row, format, &blocks_of(32)));
    let mut table = Table::over(
        Study::RowSorting,
        "Longest row of a warp, mean over warps",
        "Table 5. Stand-ins are not samples of the matrices: they have the same sizes and deviations, and rows of similar length \
         are together in windows, of the size for which the longest row of a warp before sorting is nearest to the published one.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("nonzeros", |row| row.nonzeros())
    .column("published nonzeros", |row| published(row).nonzeros)
    .column("% of nonzeros", |row| percent(row))
    .column("published % of nonzeros", |row| published(row).percent)
    .column("nonzeros per row", |row| row.more(WHOLE_PER_ROW))
    .column("published nonzeros per row", |row| published(row).per_row)
    .column("before", |row| row.more(LONGEST_BEFORE))
    .column("after", |row| row.more(LONGEST_AFTER))
    .column("ratio", |row| quotient(row.more(LONGEST_AFTER), row.more(LONGEST_BEFORE)))
    .column("published before", |row| published(row).longest.0)
    .column("published after", |row| published(row).longest.1)
    .column("published ratio", |row| published(row).longest.1 / published(row).longest.0)
    .column("sorting, ms", |row| row.more(SORTING_MS))
    .column("published sorting, ms", |row| published(row).sort_ms)
    .column("ELL-R, GFLOP/s", |row| small(row, "ELL-R"))
    .column("published ELL-R, GFLOP/s", |row| published(row).gflops[0])
    .column("ELL-R sorted, GFLOP/s", |row| small(row, "ELL-R sorted"))
    .column("published ELL-R sorted, GFLOP/s", |row| published(row).gflops[1])
    .done();
    table.note(
        "GFLOP/s are those of blocks of 32 threads with read-only loads of x, texture memory in the source; nonzeros per row are those \
         of the whole matrix, but the source's for ship are those of the stored half; two of its percentages do not follow from \
         its nonzeros and orders: 0.0008 for epidemiology and 0.020 for ship do",
    );
    table
}

/// Figures 2 and 3.
pub(super) fn row_lengths(rows: &[Measured<Row>]) -> Table {
    let plotted: Vec<_> = rows.iter().filter(|row| PLOTTED.contains(&row.name.as_str())).collect();
    let mut table = Table::over(
        Study::RowSorting,
        "Row lengths of two matrices",
        "Figures 2 and 3, which are plots of the nonzeros per row of circuit and of wind-tunnel: lengths that a percentage of the rows \
         has at most.",
        &plotted,
    )
    .column("matrix", |row| row.name.as_str());
    for percent in LENGTH_PERCENTS {
        table = table.column(format!("{percent} %"), |row| row.more(&length_at(percent)));
    }
    table
        .column("longest", |row| row.more("longest row"))
        .column("deviation", |row| row.more("deviation of row lengths"))
        .column("longest of a warp, mean", |row| row.more(LONGEST_BEFORE))
        .done()
}

/// Sections VI and VII: the loss of locality, counted, beside the time.
pub(super) fn locality(rows: &[Measured<Row>]) -> Table {
    Table::over(
        Study::RowSorting,
        "Bytes of warps, counted before any product, and time of ELL-R, f32",
        "Sections VI and VII: to decide whether to sort, the loss of locality has to be measured beforehand, and an order has to weigh it \
         against the work of warps. Bytes are those of the slots of a warp up to its longest row, and of the different sectors of x that it \
         reads, divided by those in the original order. Sorted for warps: within windows of the length that gives the fewest.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("sectors of x", |row| row.more(SECTORS_BEFORE))
    .column("sectors of x, sorted", |row| row.more(SECTORS_AFTER))
    .column("bytes, sorted over unsorted", |row| row.more(SORTED_BYTES))
    .column("time, sorted over unsorted", |row| over(row, "ELL-R sorted", "ELL-R"))
    .column("bytes, sorted for warps over unsorted", |row| row.more(FEWEST_BYTES))
    .column("time, sorted for warps over unsorted", |row| over(row, FOR_WARPS, "ELL-R"))
    .done()
}
