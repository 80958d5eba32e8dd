//! Times with and without sorting.

use super::options::{
    BLOCK_SIZE_NOTE, CPU_NOTE, FORMATS, blocks_of, fastest_in_sequence, ms_with, over, plain_loads,
    published, spread_of,
};
use crate::operations::row_sorting::{IN_SEQUENCE, SORTING_MS, WARP_PER_ROW};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{SPREAD, quotient, spread_note, widest};
use crate::study::name::Study;
use crate::study::published::SORTED;
use crate::study::table::Table;

/// Tables 4 and 7 as ratios.
pub(super) fn ratios(rows: &[Measured<Row>]) -> Table {
    let ratio = |times: &[f64], above: usize, below: usize| times[above] / times[below];
    let mut table = Table::over(
        Study::RowSorting,
        "One thread per row, with and without sorting, milliseconds, f32",
        "Tables 4 (GTX 295, blocks of 32) and 7 (GTX 590, best block size). The published columns are ratios; the CPU's is of \
         a Core 2 Quad.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("ELL", |row| row.own_ms("ELL"))
    .column("ELL-R", |row| row.own_ms("ELL-R"))
    .column("ELL-R sorted", |row| row.own_ms("ELL-R sorted"))
    .column("sorted over unsorted", |row| over(row, "ELL-R sorted", "ELL-R"))
    .column("published, GTX 295", |row| ratio(&published(row).first_ms, 3, 2))
    .column("published, GTX 590", |row| ratio(&published(row).best_ms, 2, 1))
    .column("CSR, warp per row", |row| row.own_ms("warp per row"))
    .column("warp over ELL-R", |row| over(row, "warp per row", "ELL-R"))
    .column("published warp over ELL-R, GTX 295", |row| ratio(&published(row).first_ms, 4, 2))
    .column("one CPU thread", |row| row.own_ms("one CPU thread"))
    .column("CPU over ELL-R", |row| over(row, "one CPU thread", "ELL-R"))
    .column("published CPU over ELL-R, GTX 295", |row| ratio(&published(row).first_ms, 0, 2))
    .column("CSR, scalar", |row| row.own_ms("CSR"))
    .column("CSR, scalar sorted", |row| row.own_ms("CSR sorted"))
    .column("HYB", |row| row.own_ms("HYB"))
    .column("HYB sorted", |row| row.own_ms("HYB sorted"))
    .column("sorting", |row| row.more(SORTING_MS))
    .column(SPREAD, |row| widest(row.ours().iter().filter(|own| !own.name.contains(" threads"))))
    .done();
    table.check(rows.iter().map(|row| &**row));
    table.note(gains(rows));
    table.note(
        "the longest x of these matrices has 2.1 MB: the second-level caches of newer GPUs hold it, so scattered reads of x after sorting \
         cost little there; the GTX 590 has 768 KB, and loses more in x than balance gains (in sequence, it gains)",
    );
    table.note(BLOCK_SIZE_NOTE);
    table.note(CPU_NOTE);
    table.note(spread_note());
    table
}

/// Says how many matrices gain by sorting.
fn gains(rows: &[Measured<Row>]) -> String {
    let ours: Vec<f64> = rows.iter().filter_map(|row| over(row, "ELL-R sorted", "ELL-R")).collect();
    let count = |ratios: &[f64]| ratios.iter().filter(|&&ratio| ratio < 1.0).count();
    let [first, best] = [
        SORTED.map(|sorted| sorted.first_ms[3] / sorted.first_ms[2]),
        SORTED.map(|sorted| sorted.best_ms[2] / sorted.best_ms[1]),
    ];
    format!(
        "sorting makes ELL-R faster for {} of {} matrices here, for {} of {} on the source's GTX 295, and for {} on its GTX 590",
        count(&ours),
        ours.len(),
        count(&first),
        first.len(),
        count(&best),
    )
}

/// Table 4 with all its times.
pub(super) fn global_and_texture(rows: &[&Measured<Row>]) -> Table {
    let (plain, read_only) = (plain_loads(32), blocks_of(32));
    let mut table = Table::over(
        Study::RowSorting,
        "Blocks of 32 threads, x by plain and by read-only loads, milliseconds, f32",
        "Table 4, GTX 295 and a Core 2 Quad: x in global memory, which that GPU does not cache, and in texture memory.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("order", |row| row.shape.map(|shape| shape.rows))
    .column("one CPU thread", |row| row.own_ms("one CPU thread"))
    .column("published CPU", |row| published(row).first_ms[0]);
    for (at, format) in FORMATS.into_iter().enumerate() {
        table = table
            .column(format, |row| ms_with(row, format, &plain))
            .column(format!("published {format}"), |row| published(row).first_ms[1 + at]);
    }
    table = table
        .column("CSR, warp per row", |row| ms_with(row, WARP_PER_ROW, &read_only))
        .column("published CSR, warp per row", |row| published(row).first_ms[4]);
    for (at, format) in FORMATS[1..].iter().enumerate() {
        table = table
            .column(format!("{format}, read-only"), |row| ms_with(row, format, &read_only))
            .column(format!("published {format}, texture"), |row| published(row).texture_ms[at])
            .column(format!("{format}, plain over read-only"), |row| {
                quotient(ms_with(row, format, &plain), ms_with(row, format, &read_only))
            })
            .column(format!("published {format}, global over texture"), |row| {
                published(row).first_ms[2 + at] / published(row).texture_ms[at]
            })
            .column(format!("{format}, plain over read-only, 256 threads"), |row| {
                let [plain, read_only] = [plain_loads(256), blocks_of(256)];
                quotient(ms_with(row, format, &plain), ms_with(row, format, &read_only))
            });
    }
    let ends = [plain_loads(32), blocks_of(32), plain_loads(256), blocks_of(256)];
    let [ell, ell_r, sorted] = FORMATS;
    let shown = [ell, ell_r, sorted, WARP_PER_ROW];
    let mut table = table.column(SPREAD, |row| spread_of(row, &shown, &ends)).done();
    table.note(
        "read-only loads are ld.global.nc, by the path that texture memory had; plain ones are ld.global, cached too; CSR has read-only ones",
    );
    table
}

/// Table 8.
pub(super) fn in_sequence(rows: &[Measured<Row>]) -> Table {
    let formats = ["ELL-R", "ELL-R sorted"];
    let [plain, sorted] = formats.map(|format| format!("{format}{IN_SEQUENCE}"));
    let mut table = Table::over(
        Study::RowSorting,
        "ELL-R reading x in sequence, milliseconds, f32",
        "Table 8, GTX 590, blocks of 256, the fastest there of 32, 64, 128, 256, 384 and 512; here also the fastest of these.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("ELL-R", |row| row.own_ms(&plain))
    .column("published ELL-R", |row| published(row).sequence_ms[0])
    .column("ELL-R sorted", |row| row.own_ms(&sorted))
    .column("published ELL-R sorted", |row| published(row).sequence_ms[1])
    .column("sorted over unsorted", |row| over(row, &sorted, &plain))
    .column("published", |row| published(row).sequence_ms[1] / published(row).sequence_ms[0]);
    for format in formats {
        table = table
            .column(format!("fastest block size, {format}"), |row| {
                fastest_in_sequence(row, format).map(|(threads, _)| threads)
            })
            .column(format!("{format} with the fastest"), |row| {
                fastest_in_sequence(row, format).map(|(_, ms)| ms)
            });
    }
    let mut table = table
        .column("sorted over unsorted with the fastest", |row| {
            let [plain, sorted] = formats.map(|format| fastest_in_sequence(row, format).map(|(_, ms)| ms));
            quotient(sorted, plain)
        })
        .done();
    table.note("reading x in sequence does not give the product; it shows the effect of balance alone");
    table
}
