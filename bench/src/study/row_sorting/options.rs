//! ELL and ELL-R by threads per block, and by how x is loaded.

use std::error::Error;

use evenpath_lab::{EllOptions, XLoads};

use crate::operations::row_sorting::{EllMatrices, Runs};
use crate::study::figures::{SPREAD, spread_note};
use crate::study::name::Study;
use crate::study::published::SortedMatrix;
use crate::study::table::{Cell, Table};

/// Threads per block, as in the source.
const BLOCK_SIZES: [u32; 5] = [32, 64, 128, 256, 512];
/// The blocks with which the source compares texture memory, and those that are the default here.
const LOAD_BLOCK_SIZES: [u32; 2] = [32, 256];

const FORMATS: [&str; 3] = ["ELL", "ELL-R", "ELL-R sorted"];

/// A table for each format, and one on loads.
pub(super) struct OptionTables {
    block_sizes: [Table; FORMATS.len()],
    x_loads: Table,
}

impl OptionTables {
    pub(super) fn new() -> Self {
        Self { block_sizes: FORMATS.map(block_size_table), x_loads: x_loads_table() }
    }

    /// Measures a matrix on a device with kernels.
    pub(super) fn measure(
        &mut self,
        runs: &mut Runs<'_, f32>,
        matrices: &EllMatrices<f32>,
        published: &SortedMatrix,
    ) -> Result<(), Box<dyn Error>> {
        self.by_block_size(runs, matrices, published)?;
        self.by_x_loads(runs, matrices, published)
    }

    fn by_block_size(
        &mut self,
        runs: &mut Runs<'_, f32>,
        matrices: &EllMatrices<f32>,
        published: &SortedMatrix,
    ) -> Result<(), Box<dyn Error>> {
        let before = runs.count();
        let mut times = [[0.0; FORMATS.len()]; BLOCK_SIZES.len()];
        for (threads, times) in BLOCK_SIZES.into_iter().zip(&mut times) {
            *times = runs.ell_with(matrices, EllOptions::default().with_block_size(threads))?;
        }
        let spread = runs.spread_percent(before);
        for (format, table) in self.block_sizes.iter_mut().enumerate() {
            let times = times.map(|times| times[format]);
            let (fastest, best_ms) = fastest(&times);
            let published_ratio = published.small_ms[format] / published.best_ms[format];
            let cells = [
                u64::from(fastest).into(),
                u64::from(published.best_threads).into(),
                (times[0] / best_ms).into(),
                published_ratio.into(),
                spread.into(),
            ];
            table.row([Cell::from(published.name)].into_iter().chain(times.map(Cell::from)).chain(cells));
        }
        Ok(())
    }

    fn by_x_loads(
        &mut self,
        runs: &mut Runs<'_, f32>,
        matrices: &EllMatrices<f32>,
        published: &SortedMatrix,
    ) -> Result<(), Box<dyn Error>> {
        let before = runs.count();
        let mut cells = vec![Cell::from(published.name)];
        for (index, threads) in LOAD_BLOCK_SIZES.into_iter().enumerate() {
            let options = EllOptions::default().with_block_size(threads);
            let [_, plain, plain_sorted] = runs.ell_with(matrices, options.with_x_loads(XLoads::Plain))?;
            let [_, read_only, sorted] = runs.ell_with(matrices, options)?;
            let [_, global, global_sorted, _] = published.first_ms;
            let [texture, texture_sorted] = published.texture_ms;
            let both = [
                (plain, read_only, global / texture),
                (plain_sorted, sorted, global_sorted / texture_sorted),
            ];
            for (plain, read_only, published_ratio) in both {
                cells.extend([plain.into(), read_only.into(), (plain / read_only).into()]);
                cells.extend((index == 0).then(|| Cell::from(published_ratio)));
            }
        }
        cells.push(runs.spread_percent(before).into());
        self.x_loads.row(cells);
        Ok(())
    }

    pub(super) fn finish(self) -> impl Iterator<Item = Table> {
        self.block_sizes.into_iter().chain([self.x_loads]).map(|mut table| {
            if table.rows.is_empty() {
                table.note("measured on GPUs only: the CPU has neither blocks nor a read-only cache");
            } else {
                table.note(spread_note());
            }
            table
        })
    }
}

/// The number of threads with the shortest time, and that time.
fn fastest(times: &[f64; BLOCK_SIZES.len()]) -> (u32, f64) {
    let pairs = BLOCK_SIZES.into_iter().zip(times.iter().copied());
    pairs.fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
}

fn block_size_table(format: &str) -> Table {
    let sizes = BLOCK_SIZES.map(|threads| threads.to_string());
    let columns = ["matrix"].into_iter().chain(sizes.iter().map(String::as_str)).chain([
        "fastest",
        "published fastest",
        "32 over fastest",
        "published 32 over fastest",
        SPREAD,
    ]);
    Table::new(
        Study::RowSorting,
        &format!("{format} by threads per block, milliseconds, f32"),
        "Tables 6 (blocks of 32) and 7 (the block size with the best result), GTX 590.",
        &columns.collect::<Vec<_>>(),
    )
}

fn x_loads_table() -> Table {
    let mut columns = vec!["matrix".to_owned()];
    for (index, threads) in LOAD_BLOCK_SIZES.into_iter().enumerate() {
        for format in &FORMATS[1..] {
            let headings = ["plain", "read-only", "plain over read-only"];
            columns.extend(headings.map(|heading| format!("{format}, {threads} threads: {heading}")));
            columns.extend((index == 0).then(|| format!("{format}: published global over texture")));
        }
    }
    columns.push(SPREAD.into());
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(
        Study::RowSorting,
        "ELL-R by loads of x, milliseconds, f32",
        "Table 4, GTX 295, blocks of 32: x in global memory, which that GPU does not cache, and in texture memory.",
        &columns,
    );
    table.note(
        "read-only loads are ld.global.nc, by the path that texture memory had; plain ones are ld.global, cached too",
    );
    table
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;
    use crate::operations::Bench;
    use crate::peers::Peers;
    use crate::study::published::SORTED;
    use crate::study::row_sorting::notes::PADDING;

    #[test]
    fn every_option_is_measured() {
        let device = Device::simulated(SimulatedOptions::default());
        let peers = Peers::default();
        let bench = Bench::unlimited(&device, &peers, 1);
        let matrix: evenpath::Csr<f32> =
            generate::<f64, u32>(Kind::PowerLaw { rows: 700 }, 1).unwrap().into_values();
        let mut runs = Runs::new(&bench, "a", &matrix).unwrap();
        let mut tables = OptionTables::new();
        let matrices = runs.ell_matrices(PADDING).unwrap();
        tables.measure(&mut runs, &matrices, &SORTED[0]).unwrap();
        assert_eq!(runs.wrong, Vec::<String>::new());
        let tables: Vec<Table> = tables.finish().collect();
        assert_eq!(tables.len(), 4);
        for table in &tables {
            assert_eq!((table.rows.len(), table.rows[0].len()), (1, table.columns.len()), "{table:?}");
            let is_positive = |cell: &Cell| matches!(cell, Cell::Number(number) if *number > 0.0);
            assert!(table.rows[0][1..table.columns.len() - 1].iter().all(is_positive), "{table:?}");
        }
        // economics: 2.14 and 0.669 ms with ELL; 1.60 and 1.21 ms with ELL-R.
        assert_eq!(tables[0].rows[0][7], Cell::Number(256.0));
        assert_eq!(tables[0].rows[0][9], Cell::Number(2.14 / 0.669));
        assert_eq!(tables[3].rows[0][4], Cell::Number(1.60 / 1.21));
    }

    #[test]
    fn the_fastest_block_is_found() {
        assert_eq!(fastest(&[3.0, 2.0, 1.0, 1.5, 1.0]), (128, 1.0));
    }
}
