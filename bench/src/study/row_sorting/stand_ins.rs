//! Stand-ins for the ten matrices of the study.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::error::MatrixError;
use evenpath::generate::{Kind, Published};

use super::notes::{BLOCK_SIZE_NOTE, CPU_NOTE, PADDING, noted};
use super::options::OptionTables;
use crate::operations::Bench;
use crate::operations::row_sorting::{EllTimes, Runs};
use crate::study::figures::{SPREAD, quotient, spread_note};
use crate::study::name::Study;
use crate::study::published::{SORTED, SortedMatrix};
use crate::study::report::Report;
use crate::study::table::Table;

/// The tables, by source.
struct Tables {
    longest: Table,
    times: Table,
    in_sequence: Table,
    options: OptionTables,
}

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let mut tables = Tables::new();
    let mut notes = Vec::new();
    let kinds = SORTED.iter().filter_map(|sorted| {
        let matrix = Published::all().find(|matrix| matrix.name() == sorted.name)?;
        Some(Kind::Like { matrix })
    });
    bench.each_matrix(kinds, &mut notes, |name, matrix| {
        let Some(published) = SORTED.iter().find(|sorted| sorted.name == name) else {
            return Err("no published figures".into());
        };
        let matrix = if published.is_half { lower_triangle(&matrix)? } else { matrix };
        tables.measure(bench, &matrix.into_values(), published)
    })?;
    for mut table in tables.finish() {
        table.notes.extend(notes.iter().cloned());
        report.table(table)?;
    }
    Ok(())
}

/// The entries on and below the diagonal: what a file stores of a symmetric matrix, whose rows have half of their entries and
/// one half there, on average. Where there is no entry on the diagonal, it gets a one, in odd rows in place of the entry
/// before it, which keeps that average.
fn lower_triangle(matrix: &Csr<f64>) -> Result<Csr<f64>, MatrixError> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for (index, row) in matrix.iter_rows().enumerate() {
        let (diagonal, first) = (index as u32, columns.len());
        for (column, value) in row.iter().filter(|&(column, _)| column <= diagonal) {
            columns.push(column);
            values.push(value);
        }
        if columns[first..].last() != Some(&diagonal) {
            if index % 2 == 1 && columns.len() > first {
                columns.pop();
                values.pop();
            }
            columns.push(diagonal);
            values.push(1.0);
        }
        offsets.push(columns.len() as u32);
    }
    Ok(Csr::try_new(matrix.nrows(), matrix.ncols(), offsets, columns, values)?)
}

impl Tables {
    fn new() -> Self {
        Self {
            longest: longest_table(),
            times: times_table(),
            in_sequence: in_sequence_table(),
            options: OptionTables::new(),
        }
    }

    fn measure(
        &mut self,
        bench: &Bench<'_>,
        matrix: &Csr<f32>,
        published: &SortedMatrix,
    ) -> Result<(), Box<dyn Error>> {
        let name = published.name;
        let mut runs = Runs::new(bench, name, matrix)?;
        let sort_ms = runs.sort_ms();
        let rows = runs.order().longest_rows(matrix)?;
        let (before, after) = published.longest;
        self.longest.row([
            name.into(),
            matrix.nnz().into(),
            published.nonzeros.into(),
            rows.mean_before().into(),
            rows.mean_after().into(),
            rows.ratio().into(),
            before.into(),
            after.into(),
            (after / before).into(),
            sort_ms.into(),
            published.sort_ms.into(),
        ]);
        let matrices = noted(runs.ell_matrices(PADDING), name, &mut self.times.notes);
        let ell = runs.ell(matrices.as_ref())?;
        self.times_row(&mut runs, &ell, published, sort_ms)?;
        let [in_sequence, sorted] = published.sequence_ms;
        self.in_sequence.row([
            name.into(),
            ell.in_sequence.into(),
            ell.sorted_in_sequence.into(),
            quotient(ell.sorted_in_sequence, ell.in_sequence).into(),
            (sorted / in_sequence).into(),
        ]);
        if let Some(matrices) = matrices.filter(|_| bench.device.kind() != DeviceKind::Cpu) {
            self.options.measure(&mut runs, &matrices, published)?;
        }
        self.times.wrong.extend(runs.wrong);
        Ok(())
    }

    fn times_row(
        &mut self,
        runs: &mut Runs<'_, f32>,
        ell: &EllTimes,
        published: &SortedMatrix,
        sort_ms: f64,
    ) -> Result<(), Box<dyn Error>> {
        let [csr, sorted_csr] = runs.csr()?;
        let [hyb, sorted_hyb] = runs.hyb()?;
        let (warp, cpu) = (runs.warp()?, runs.cpu()?);
        let [published_cpu, first_r, first_sorted, published_warp] = published.first_ms;
        let [_, best_r, best_sorted] = published.best_ms;
        self.times.row([
            published.name.into(),
            ell.ell.into(),
            ell.ell_r.into(),
            ell.sorted.into(),
            quotient(ell.sorted, ell.ell_r).into(),
            (first_sorted / first_r).into(),
            (best_sorted / best_r).into(),
            warp.into(),
            quotient(warp, ell.ell_r).into(),
            (published_warp / first_r).into(),
            cpu.into(),
            quotient(Some(cpu), ell.ell_r).into(),
            (published_cpu / first_r).into(),
            csr.into(),
            sorted_csr.into(),
            hyb.into(),
            sorted_hyb.into(),
            sort_ms.into(),
            runs.spread_percent(0).into(),
        ]);
        Ok(())
    }

    fn finish(mut self) -> Vec<Table> {
        let halves: Vec<_> =
            SORTED.iter().filter(|sorted| sorted.is_half).map(|sorted| sorted.name).collect();
        let sizes = format!(
            "the source counts the stored half of symmetric matrices, without expanding it: for {} the rows here are those of \
             the stand-in's lower triangle; no matrix is expanded",
            halves.join(", ")
        );
        self.longest.note(sizes.clone());
        self.times.note(sizes);
        self.times.note(BLOCK_SIZE_NOTE);
        self.times.note(CPU_NOTE);
        self.times.note(spread_note());
        self.in_sequence
            .note("reading x in sequence does not give the product; it shows the effect of balance alone");
        self.in_sequence.note(BLOCK_SIZE_NOTE);
        let mut tables = vec![self.longest, self.times, self.in_sequence];
        tables.extend(self.options.finish());
        tables
    }
}

fn longest_table() -> Table {
    Table::new(
        Study::RowSorting,
        "Longest row of a warp, mean over warps",
        "Table 5. Stand-ins are not samples of the matrices; they have the same sizes and deviations.",
        &[
            "matrix",
            "nonzeros",
            "published nonzeros",
            "before",
            "after",
            "ratio",
            "published before",
            "published after",
            "published ratio",
            "sorting, ms",
            "published sorting, ms",
        ],
    )
}

fn times_table() -> Table {
    Table::new(
        Study::RowSorting,
        "One thread per row, with and without sorting, milliseconds, f32",
        "Tables 4 (GTX 295, blocks of 32) and 7 (GTX 590, best block size). The published columns are ratios; the CPU's is of \
         a Core 2 Quad.",
        &[
            "matrix",
            "ELL",
            "ELL-R",
            "ELL-R sorted",
            "sorted over unsorted",
            "published, GTX 295",
            "published, GTX 590",
            "CSR, warp per row",
            "warp over ELL-R",
            "published warp over ELL-R, GTX 295",
            "one CPU thread",
            "CPU over ELL-R",
            "published CPU over ELL-R, GTX 295",
            "CSR, scalar",
            "CSR, scalar sorted",
            "HYB",
            "HYB sorted",
            "sorting",
            SPREAD,
        ],
    )
}

fn in_sequence_table() -> Table {
    Table::new(
        Study::RowSorting,
        "ELL-R reading x in sequence, milliseconds, f32",
        "Table 8, GTX 590, blocks of 256.",
        &["matrix", "ELL-R", "ELL-R sorted", "sorted over unsorted", "published"],
    )
}

#[cfg(test)]
mod tests {
    use evenpath::generate::generate;

    use super::*;

    #[test]
    fn a_lower_triangle_has_the_diagonal() {
        let entries =
            [(0, 1, 5.0), (1, 0, 2.0), (1, 1, 3.0), (1, 2, 4.0), (2, 0, 6.0), (3, 0, 7.0), (3, 1, 8.0)];
        let lower = lower_triangle(&Csr::from_triplets(4, 4, entries).unwrap()).unwrap();
        let rows = [[1.0, 0.0, 0.0, 0.0], [2.0, 3.0, 0.0, 0.0], [6.0, 0.0, 1.0, 0.0], [7.0, 0.0, 0.0, 1.0]];
        assert_eq!(lower.to_dense().unwrap(), rows.concat());
        assert!(lower.is_canonical());
    }

    #[test]
    fn stand_ins_have_the_published_sizes() {
        for published in SORTED.iter().filter(|sorted| sorted.nonzeros < 2_300_000) {
            let matrix = Published::all().find(|matrix| matrix.name() == published.name).unwrap();
            let mut own: Csr<f64> = generate(Kind::Like { matrix }, 1).unwrap();
            if published.is_half {
                own = lower_triangle(&own).unwrap();
            }
            let off = own.nnz() as f64 / published.nonzeros as f64 - 1.0;
            assert!(off.abs() < 0.03, "{}: {} nonzeros", published.name, own.nnz());
        }
    }
}
