//! The tables of the stand-ins: evenpath's times beside the published ones.

use super::features::{features, locality, row_lengths};
use super::options::{BLOCK_SIZES, FORMATS, block_sizes, blocks_of, fastest, ms_with, published, spread_of};
use super::times::{global_and_texture, in_sequence, ratios};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{SPREAD, quotient, spread_note};
use crate::study::name::Study;
use crate::study::published::SORTED;
use crate::study::table::Table;

/// The tables of the stand-ins.
pub(super) fn of_stand_ins(rows: &[Measured<Row>]) -> Vec<Table> {
    let mut tables = vec![features(rows), row_lengths(rows), ratios(rows), in_sequence(rows), locality(rows)];
    let halves: Vec<_> = SORTED.iter().filter(|sorted| sorted.is_half).map(|sorted| sorted.name).collect();
    tables[0].note(format!(
        "the source counts the stored half of symmetric matrices, without expanding it: for {} the rows here are those of \
         the stand-in's lower triangle; no matrix is expanded",
        halves.join(", ")
    ));
    // Only GPUs have them, and only where padding is not too much.
    let has_blocks = |row: &&Measured<Row>| ms_with(row, FORMATS[0], &blocks_of(BLOCK_SIZES[0])).is_some();
    let with_blocks: Vec<_> = rows.iter().filter(has_blocks).collect();
    let mut others: Vec<Table> =
        (0..FORMATS.len()).map(|format| by_block_size(&with_blocks, format)).collect();
    others.push(global_and_texture(&with_blocks));
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

/// Tables 6 and 7.
fn by_block_size(rows: &[&Measured<Row>], at: usize) -> Table {
    let format = FORMATS[at];
    let mut table = Table::over(
        Study::RowSorting,
        &format!("{format} by threads per block, milliseconds, f32"),
        "Tables 6 (blocks of 32) and 7 (the block size with the best result), GTX 590.",
        rows,
    )
    .column("matrix", |row| row.name.as_str());
    for threads in BLOCK_SIZES {
        table = table.column(threads.to_string(), |row| ms_with(row, format, &blocks_of(threads)));
    }
    table
        .column("published 32", |row| published(row).small_ms[at])
        .column("fastest", |row| fastest(row, format).map(|(threads, _)| threads))
        .column("published fastest", |row| u64::from(published(row).best_threads))
        .column("published with the fastest", |row| published(row).best_ms[at])
        .column("32 over fastest", |row| {
            quotient(ms_with(row, format, &blocks_of(32)), fastest(row, format).map(|(_, ms)| ms))
        })
        .column("published 32 over fastest", |row| published(row).small_ms[at] / published(row).best_ms[at])
        .column(SPREAD, |row| spread_of(row, &[format], &block_sizes()))
        .done()
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::Kind;

    use super::super::options;
    use super::super::run::measure;
    use super::*;
    use crate::operations::Bench;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::report::Report;
    use crate::study::source::Source;
    use crate::study::table::Cell;

    /// The cell of the first row in a column.
    fn first<'t>(table: &'t Table, column: &str) -> &'t Cell {
        let index = table.columns.iter().position(|heading| heading == column);
        &table.rows[0][index.unwrap_or_else(|| panic!("no column `{column}` in {:?}", table.columns))]
    }

    #[test]
    fn every_option_is_measured() {
        let device = Device::simulated(SimulatedOptions::default());
        let peers = Peers::default();
        let bench = Bench::unlimited(&device, &peers, 1);
        let setting = Setting::new(&device, 1.0, &[], String::new());
        let mut print = |_: &Table| Ok(());
        let mut report = Report::new(Study::RowSorting, setting, &mut print);
        let source = Source { name: "circuit".into(), ..Kind::PowerLaw { rows: 700 }.into() };
        let (rows, _) = measure(&bench, &mut report, [source], &options::of_stand_ins()).unwrap();
        let tables = of_stand_ins(&rows);
        assert_eq!(tables.len(), 9);
        for table in &tables {
            assert_eq!(table.wrong, Vec::<String>::new());
            assert_eq!((table.rows.len(), table.rows[0].len()), (1, table.columns.len()), "{table:?}");
            let is_number = |cell: &Cell| matches!(cell, Cell::Number(number) if *number >= 0.0);
            assert!(table.rows[0][1..].iter().all(is_number), "{table:?}");
        }
        // Rows of at least 4 u^-0.7 columns, some drawn twice.
        let [least, median, longest] =
            ["0 %", "50 %", "longest"].map(|column| match first(&tables[1], column) {
                Cell::Number(length) => *length,
                other => panic!("{other}"),
            });
        assert!((3.0..=4.0).contains(&least) && least < median && median < longest, "{:?}", tables[1]);
        let gains = &tables[2].notes[0];
        assert!(
            gains.contains("of 1 matrices here, for 3 of 10 on the source's GTX 295, and for 0 on"),
            "{gains}"
        );
        // 9.26 and 2.90 ms with ELL; 2.11 and 1.78 ms with ELL-R.
        assert_eq!(first(&tables[5], "published fastest"), &Cell::Number(128.0));
        assert_eq!(first(&tables[5], "published 32 over fastest"), &Cell::Number(9.26 / 2.90));
        let texture = first(&tables[8], "published ELL-R, global over texture");
        assert_eq!(texture, &Cell::Number(2.11 / 1.78));
    }
}
