//! Evenpath's times beside the published ones.

use evenpath_lab::{EllOptions, XLoads};

use crate::operations::row_sorting::{LONGEST_AFTER, LONGEST_BEFORE, NamedOptions, SORTING_MS};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{SPREAD, quotient, spread, spread_note, widest};
use crate::study::name::Study;
use crate::study::published::{SORTED, SortedMatrix, SyntheticTimes};
use crate::study::table::Table;

/// Threads per block, as in the source.
const BLOCK_SIZES: [u32; 5] = [32, 64, 128, 256, 512];
/// The blocks with which the source compares texture memory, and those that are the default here.
const LOAD_BLOCK_SIZES: [u32; 2] = [32, 256];
const FORMATS: [&str; 3] = ["ELL", "ELL-R", "ELL-R sorted"];

pub(super) const DENSITY_SOURCE: &str =
    "Tables 1 (10 %, best block sizes) and 2 (blocks of 32), GTX 295; order and percentage of nonzeros.";
pub(super) const SHORT_SOURCE: &str =
    "Table 3, GTX 295, blocks of 32; the other rows have 33 to 1638 nonzeros, 10 % of the order.";

/// The default block size, in every table of kernels for ELL without options.
const BLOCK_SIZE_NOTE: &str = "ELL has blocks of 256 threads; tables of their own have 32 to 512";
const CPU_NOTE: &str = "the CPU is evenpath's CPU device on one thread, with CSR; sorting runs on the host";

/// Blocks of this many threads.
pub(super) fn blocks_of(threads: u32) -> NamedOptions {
    (format!(", {threads} threads"), EllOptions::default().with_block_size(threads))
}

/// Plain loads of x by blocks of this many threads.
fn plain_loads(threads: u32) -> NamedOptions {
    let (name, options) = blocks_of(threads);
    (format!("{name}, plain"), options.with_x_loads(XLoads::Plain))
}

/// All options that the tables have.
pub(super) fn options() -> Vec<NamedOptions> {
    BLOCK_SIZES.map(blocks_of).into_iter().chain(LOAD_BLOCK_SIZES.map(plain_loads)).collect()
}

/// The published figures of a matrix.
fn published(row: &Measured<Row>) -> &'static SortedMatrix {
    let found = SORTED.iter().find(|sorted| sorted.name == row.name);
    found.unwrap_or_else(|| unreachable!("the stand-ins are for published matrices"))
}

/// A quotient of times by name.
fn over(row: &Row, above: &str, below: &str) -> Option<f64> {
    quotient(row.own_ms(above), row.own_ms(below))
}

/// The tables of the stand-ins.
pub(super) fn of_stand_ins(rows: &[Measured<Row>]) -> Vec<Table> {
    let mut tables = vec![longest(rows), times(rows), in_sequence(rows)];
    let halves: Vec<_> = SORTED.iter().filter(|sorted| sorted.is_half).map(|sorted| sorted.name).collect();
    let sizes = format!(
        "the source counts the stored half of symmetric matrices, without expanding it: for {} the rows here are those of \
         the stand-in's lower triangle; no matrix is expanded",
        halves.join(", ")
    );
    for table in &mut tables[..2] {
        table.note(sizes.clone());
    }
    for table in &mut tables[1..] {
        table.note(BLOCK_SIZE_NOTE);
    }
    tables[1].check(rows.iter().map(|row| &**row));
    tables[1].note(CPU_NOTE);
    tables[1].note(spread_note());
    tables[2].note("reading x in sequence does not give the product; it shows the effect of balance alone");
    // Only GPUs have them, and only where padding is not too much.
    let (end, _) = blocks_of(BLOCK_SIZES[0]);
    let has_blocks = |row: &&Measured<Row>| row.own_ms(&format!("ELL{end}")).is_some();
    let with_blocks: Vec<_> = rows.iter().filter(has_blocks).collect();
    let mut others: Vec<Table> =
        (0..FORMATS.len()).map(|format| by_block_size(&with_blocks, format)).collect();
    others.push(by_x_loads(&with_blocks));
    for table in &mut others {
        if with_blocks.is_empty() {
            table.note("measured on GPUs only: the CPU has neither blocks nor a read-only cache");
        } else {
            table.note(spread_note());
        }
    }
    tables.extend(others);
    tables
}

fn longest(rows: &[Measured<Row>]) -> Table {
    Table::over(
        Study::RowSorting,
        "Longest row of a warp, mean over warps",
        "Table 5. Stand-ins are not samples of the matrices; they have the same sizes and deviations.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("nonzeros", |row| row.nonzeros())
    .column("published nonzeros", |row| published(row).nonzeros)
    .column("before", |row| row.more(LONGEST_BEFORE))
    .column("after", |row| row.more(LONGEST_AFTER))
    .column("ratio", |row| quotient(row.more(LONGEST_AFTER), row.more(LONGEST_BEFORE)))
    .column("published before", |row| published(row).longest.0)
    .column("published after", |row| published(row).longest.1)
    .column("published ratio", |row| published(row).longest.1 / published(row).longest.0)
    .column("sorting, ms", |row| row.more(SORTING_MS))
    .column("published sorting, ms", |row| published(row).sort_ms)
    .done()
}

fn times(rows: &[Measured<Row>]) -> Table {
    let ratio = |times: &[f64], above: usize, below: usize| times[above] / times[below];
    Table::over(
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
    .column("published, GTX 295", |row| ratio(&published(row).first_ms, 2, 1))
    .column("published, GTX 590", |row| ratio(&published(row).best_ms, 2, 1))
    .column("CSR, warp per row", |row| row.own_ms("warp per row"))
    .column("warp over ELL-R", |row| over(row, "warp per row", "ELL-R"))
    .column("published warp over ELL-R, GTX 295", |row| ratio(&published(row).first_ms, 3, 1))
    .column("one CPU thread", |row| row.own_ms("one CPU thread"))
    .column("CPU over ELL-R", |row| over(row, "one CPU thread", "ELL-R"))
    .column("published CPU over ELL-R, GTX 295", |row| ratio(&published(row).first_ms, 0, 1))
    .column("CSR, scalar", |row| row.own_ms("CSR"))
    .column("CSR, scalar sorted", |row| row.own_ms("CSR sorted"))
    .column("HYB", |row| row.own_ms("HYB"))
    .column("HYB sorted", |row| row.own_ms("HYB sorted"))
    .column("sorting", |row| row.more(SORTING_MS))
    .column(SPREAD, |row| widest(row.ours().iter().filter(|own| !own.name.contains(" threads"))))
    .done()
}

fn in_sequence(rows: &[Measured<Row>]) -> Table {
    let [plain, sorted] = ["ELL-R, x in sequence", "ELL-R sorted, x in sequence"];
    Table::over(
        Study::RowSorting,
        "ELL-R reading x in sequence, milliseconds, f32",
        "Table 8, GTX 590, blocks of 256.",
        rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("ELL-R", |row| row.own_ms(plain))
    .column("ELL-R sorted", |row| row.own_ms(sorted))
    .column("sorted over unsorted", |row| over(row, sorted, plain))
    .column("published", |row| published(row).sequence_ms[1] / published(row).sequence_ms[0])
    .done()
}

/// The widest spread of the contenders with these ends of their names.
fn spread_of(row: &Row, ends: &[NamedOptions]) -> Option<f64> {
    widest(row.ours().iter().filter(|own| ends.iter().any(|(end, _)| own.name.ends_with(end))))
}

fn by_block_size(rows: &[&Measured<Row>], format: usize) -> Table {
    let ms = |row: &Row, threads: u32| row.own_ms(&format!("{}{}", FORMATS[format], blocks_of(threads).0));
    let fastest = |row: &Row| {
        let times = BLOCK_SIZES.iter().filter_map(|&threads| Some((threads, ms(row, threads)?)));
        times.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let mut table = Table::over(
        Study::RowSorting,
        &format!("{} by threads per block, milliseconds, f32", FORMATS[format]),
        "Tables 6 (blocks of 32) and 7 (the block size with the best result), GTX 590.",
        rows,
    )
    .column("matrix", |row| row.name.as_str());
    for threads in BLOCK_SIZES {
        table = table.column(threads.to_string(), |row| ms(row, threads));
    }
    table
        .column("fastest", |row| fastest(row).map(|(threads, _)| u64::from(threads)))
        .column("published fastest", |row| u64::from(published(row).best_threads))
        .column("32 over fastest", |row| quotient(ms(row, 32), fastest(row).map(|(_, ms)| ms)))
        .column("published 32 over fastest", |row| {
            published(row).small_ms[format] / published(row).best_ms[format]
        })
        .column(SPREAD, |row| spread_of(row, &BLOCK_SIZES.map(blocks_of)))
        .done()
}

fn by_x_loads(rows: &[&Measured<Row>]) -> Table {
    let mut table = Table::over(
        Study::RowSorting,
        "ELL-R by loads of x, milliseconds, f32",
        "Table 4, GTX 295, blocks of 32: x in global memory, which that GPU does not cache, and in texture memory.",
        rows,
    )
    .column("matrix", |row| row.name.as_str());
    for threads in LOAD_BLOCK_SIZES {
        for (sorted, format) in FORMATS[1..].iter().enumerate() {
            let [read_only, plain] =
                [blocks_of(threads), plain_loads(threads)].map(|(end, _)| format!("{format}{end}"));
            let heading = |what: &str| format!("{format}, {threads} threads: {what}");
            table = table
                .column(heading("plain"), |row| row.own_ms(&plain))
                .column(heading("read-only"), |row| row.own_ms(&read_only))
                .column(heading("plain over read-only"), |row| over(row, &plain, &read_only));
            if threads == LOAD_BLOCK_SIZES[0] {
                table = table.column(format!("{format}: published global over texture"), |row| {
                    published(row).first_ms[1 + sorted] / published(row).texture_ms[sorted]
                });
            }
        }
    }
    let ends: Vec<_> =
        LOAD_BLOCK_SIZES.iter().flat_map(|&threads| [blocks_of(threads), plain_loads(threads)]).collect();
    let mut table = table.column(SPREAD, |row| spread_of(row, &ends)).done();
    table.note(
        "read-only loads are ld.global.nc, by the path that texture memory had; plain ones are ld.global, cached too",
    );
    table
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
    let percent = |row: &Row| {
        let places = row.shape.map(|shape| shape.rows as f64 * shape.cols as f64)?;
        Some(100.0 * row.nonzeros() as f64 / places)
    };
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
        .column(SPREAD, |(row, _)| spread([&***row]))
        .done();
    table.check(rows.iter().map(|row| &**row));
    table.note("ELL-R has blocks of 256 threads where the heading does not say 32");
    table.note(CPU_NOTE);
    table.note(spread_note());
    table
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::Kind;

    use super::super::run::measure;
    use super::*;
    use crate::operations::Bench;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::report::Report;
    use crate::study::source::Source;
    use crate::study::table::Cell;

    #[test]
    fn every_option_is_measured() {
        let device = Device::simulated(SimulatedOptions::default());
        let peers = Peers::default();
        let bench = Bench::unlimited(&device, &peers, 1);
        let setting = Setting::new(&device, 1.0, &[], String::new());
        let mut print = |_: &Table| Ok(());
        let mut report = Report::new(Study::RowSorting, setting, &mut print);
        let source = Source { name: "economics".into(), ..Kind::PowerLaw { rows: 700 }.into() };
        let (rows, _) = measure(&bench, &mut report, [source], &options()).unwrap();
        let tables = of_stand_ins(&rows);
        assert_eq!(tables.len(), 7);
        for table in &tables {
            assert_eq!(table.wrong, Vec::<String>::new());
            assert_eq!((table.rows.len(), table.rows[0].len()), (1, table.columns.len()), "{table:?}");
            let is_number = |cell: &Cell| matches!(cell, Cell::Number(number) if *number >= 0.0);
            assert!(table.rows[0][1..].iter().all(is_number), "{table:?}");
        }
        // 2.14 and 0.669 ms with ELL; 1.60 and 1.21 ms with ELL-R.
        assert_eq!(tables[3].rows[0][7], Cell::Number(256.0));
        assert_eq!(tables[3].rows[0][9], Cell::Number(2.14 / 0.669));
        assert_eq!(tables[6].rows[0][4], Cell::Number(1.60 / 1.21));
    }
}
