//! Tables by the size of blocks.

use super::results::{BLOCK_SIZES, BY_BLOCK_SIZE, CHOSEN, Results, name};
use super::row_blocks::{self, LIMITS};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{GBPS_NOTE, SPREAD, gbps, nonzeros_per_row, quotient, spread};
use crate::study::name::Study;
use crate::study::published::adaptive_ms;
use crate::study::table::Table;

/// The results with all matrices in f32 and f64.
type All = [Measured<[Results; 2]>];

/// The rows by blocks.
fn blocks(all: &All, index: usize) -> Vec<(&str, &[Row; 2])> {
    all.iter().filter_map(|matrix| Some((matrix.name.as_str(), matrix[index].blocks.as_ref()?))).collect()
}

/// Figures 1 and 2.
pub(super) fn block_sizes(all: &All, index: usize, value: &str) -> Table {
    let rows = blocks(all, index);
    let rate = |row: &Row, method: &str, threads| gbps(row, row.own_ms(&name(method, threads)));
    let mut table = Table::over(
        Study::CsrAdaptive,
        &format!("Both methods by threads per block, GB/s, {value}"),
        "Figures 1 and 2, 128 to 1024 threads; the source has only plots, in which both methods are slower with 1024 threads \
         than with 512. Its rates with 512 follow from Table 2.",
        &rows,
    )
    .column("matrix", |(name, _)| *name)
    .column("nonzeros per row", |(_, [row, _])| nonzeros_per_row(row));
    for method in BY_BLOCK_SIZE {
        for threads in BLOCK_SIZES {
            table = table.column(format!("{method}, {threads}"), |(_, [row, _])| rate(row, method, threads));
        }
    }
    for method in BY_BLOCK_SIZE {
        table = table.column(format!("{method}, 1024 over {CHOSEN}"), |(_, [row, _])| {
            quotient(rate(row, method, 1024), rate(row, method, CHOSEN))
        });
    }
    for (at, method) in BY_BLOCK_SIZE.into_iter().take(2).enumerate() {
        table = table.column(format!("published {method}, {CHOSEN}"), |(name, [row, _])| {
            gbps(row, Some(adaptive_ms(name, index)?[1 + at]))
        });
    }
    let mut table = table.column(SPREAD, |(_, [row, _])| spread([row])).done();
    table.check(rows.iter().map(|(_, [row, _])| row));
    table.note("as in the source, a row block of CSR-Adaptive has as many nonzeros as the block has threads");
    table.note(
        "as in the source, LightSpMV has a block for as many rows as the block has threads; the publication of the method, and the \
         library, have as many blocks as run at once, and the library draws several rows at a time",
    );
    table.note(GBPS_NOTE);
    table
}

/// CSR-Adaptive by the limit on the nonzeros of a row block, with one number of threads.
pub(super) fn limits(all: &All, index: usize, value: &str) -> Table {
    let rows = blocks(all, index);
    let mut table = Table::over(
        Study::CsrAdaptive,
        &format!("CSR-Adaptive by nonzeros per row block, GB/s, {value}"),
        "With 128 threads per block. In the source, a block has as many threads as its row block has nonzeros: see the \
         table by threads per block.",
        &rows,
    )
    .column("matrix", |(name, _)| *name)
    .column("nonzeros per row", |(_, [_, row])| nonzeros_per_row(row));
    for limit in LIMITS {
        table =
            table.column(limit.to_string(), |(_, [_, row])| gbps(row, row.own_ms(&row_blocks::name(limit))));
    }
    let mut table = table.column(SPREAD, |(_, [_, row])| spread([row])).done();
    table.check(rows.iter().map(|(_, [_, row])| row));
    table.note(GBPS_NOTE);
    table
}
