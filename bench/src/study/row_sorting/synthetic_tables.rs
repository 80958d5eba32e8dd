//! The tables of synthetic matrices.

use super::features::percent;
use super::options::{CPU_NOTE, blocks_of, fastest, over};
use crate::operations::row_sorting::{SORTING_MS, WARP_PER_ROW};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{SPREAD, quotient, spread, spread_note};
use crate::study::name::Study;
use crate::study::published::{BEST_BLOCKS, BestBlocks, SyntheticTimes};
use crate::study::table::Table;

pub(super) const DENSITY_SOURCE: &str =
    "Tables 1 (10 %, best block sizes) and 2 (blocks of 32), GTX 295; order and percentage of nonzeros.";
pub(super) const SHORT_SOURCE: &str =
    "Table 3, GTX 295, blocks of 32; the other rows have 33 to 1638 nonzeros, 10 % of the order.";

/// The name of a synthetic matrix by its order and percentage of nonzeros.
pub(super) fn density_name(order: usize, percent: f64) -> String {
    format!("{order} at {percent} %")
}

/// Table 1. On the CPU, which has no blocks, CSR and ELL-R have one time.
pub(super) fn best_blocks(rows: &[Measured<Row>]) -> Table {
    let all: Vec<(&Measured<Row>, &BestBlocks)> = BEST_BLOCKS
        .iter()
        .filter_map(|best| {
            let name = density_name(best.order, 10.0);
            Some((rows.iter().find(|row| row.name == name)?, best))
        })
        .collect();
    let mut table = Table::over(
        Study::RowSorting,
        "Synthetic matrices of 10 % nonzeros by the best block size, milliseconds, f32",
        "Table 1, GTX 295, best of 32, 64 and 128 threads per block; here the best of 32 to 512.",
        &all,
    )
    .column("order", |(_, best)| best.order);
    let kinds = [("", 0), (" sorted", 1)];
    let best_ms = |row: &Row, name: &str| fastest(row, name).map(|(_, ms)| ms).or_else(|| row.own_ms(name));
    let block_size = |row: &Row, name: &str| fastest(row, name).map(|(threads, _)| threads);
    for (sorted, at) in kinds {
        let format = format!("CSR{sorted}");
        table = table
            .column(format!("CSR, scalar{sorted}"), |(row, _)| best_ms(row, &format))
            .column(format!("block size, CSR, scalar{sorted}"), |(row, _)| block_size(row, &format))
            .column(format!("published CSR{sorted}"), |(_, best)| best.csr[at].0)
            .column(format!("its block size, CSR{sorted}"), |(_, best)| best.csr[at].1);
    }
    for (sorted, at) in kinds {
        let format = format!("ELL-R{sorted}");
        table = table
            .column(format.clone(), |(row, _)| best_ms(row, &format))
            .column(format!("block size, {format}"), |(row, _)| block_size(row, &format))
            .column(format!("published {format}"), |(_, best)| best.ell_r[at].0)
            .column(format!("its block size, {format}"), |(_, best)| best.ell_r[at].1);
    }
    table
        .column("CSR, warp per row", |(row, _)| best_ms(row, WARP_PER_ROW))
        .column("block size, CSR, warp per row", |(row, _)| block_size(row, WARP_PER_ROW))
        .column("published CSR, warp per row", |(_, best)| best.warp.0)
        .column("its block size, CSR, warp per row", |(_, best)| best.warp.1)
        .column(SPREAD, |(row, _)| spread([&***row]))
        .done()
}

/// The table of synthetic matrices, beside the published times of each by name.
pub(super) fn of_synthetic(
    title: &str,
    source: &str,
    rows: &[Measured<Row>],
    published: &[(String, &SyntheticTimes)],
) -> Table {
    let all: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row, published.iter().find(|(name, _)| *name == row.name)?.1)))
        .collect();
    let small = |format: &str| format!("{format}{}", blocks_of(32).0);
    let mut table = Table::over(Study::RowSorting, &format!("{title}, milliseconds, f32"), source, &all)
        .column("matrix", |(row, _)| row.name.as_str())
        .column("% of nonzeros", |(row, _)| percent(row))
        .column("longest row", |(row, _)| row.more("longest row"))
        .column("ELL-R", |(row, _)| row.own_ms("ELL-R"))
        .column("ELL-R sorted", |(row, _)| row.own_ms("ELL-R sorted"))
        .column("sorted over unsorted", |(row, _)| over(row, "ELL-R sorted", "ELL-R"))
        .column("published", |(_, times)| times.sorted / times.ell_r)
        .column("CSR, scalar", |(row, _)| row.own_ms("CSR"))
        .column("CSR, scalar sorted", |(row, _)| row.own_ms("CSR sorted"))
        .column("CSR, warp per row", |(row, _)| row.own_ms("warp per row"))
        .column("warp over ELL-R sorted", |(row, _)| over(row, "warp per row", "ELL-R sorted"))
        .column("published warp over ELL-R sorted", |(_, times)| times.warp / times.sorted)
        .column("one CPU thread", |(row, _)| row.own_ms("one CPU thread"))
        .column("CPU over ELL-R", |(row, _)| over(row, "one CPU thread", "ELL-R"))
        .column("published CPU over ELL-R", |(_, times)| quotient(times.cpu, Some(times.ell_r)))
        .column("sorting", |(row, _)| row.more(SORTING_MS))
        .column("ELL-R, 32 threads", |(row, _)| row.own_ms(&small("ELL-R")))
        .column("ELL-R sorted, 32 threads", |(row, _)| row.own_ms(&small("ELL-R sorted")))
        .column("sorted over unsorted, 32 threads", |(row, _)| {
            over(row, &small("ELL-R sorted"), &small("ELL-R"))
        })
        .column("CSR, warp per row, 32 threads", |(row, _)| row.own_ms(&small(WARP_PER_ROW)))
        .column("warp over ELL-R sorted, 32 threads", |(row, _)| {
            over(row, &small(WARP_PER_ROW), &small("ELL-R sorted"))
        })
        .column(SPREAD, |(row, _)| spread([&***row]))
        .done();
    table.check(rows.iter().map(|row| &**row));
    table.note("blocks have 256 threads where the heading does not say 32");
    table.note(CPU_NOTE);
    table.note(spread_note());
    table
}
