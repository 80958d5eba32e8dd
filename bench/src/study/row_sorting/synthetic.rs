//! Synthetic matrices: by density, and by the share of rows that are no longer than a warp.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::error::MatrixError;
use evenpath_lab::EllOptions;
use rayon::prelude::*;

use super::notes::{CPU_NOTE, PADDING, noted};
use crate::operations::Bench;
use crate::operations::row_sorting::Runs;
use crate::sequences::random;
use crate::study::figures::{SPREAD, quotient, spread_note};
use crate::study::name::Study;
use crate::study::published::{SYNTHETIC_BY_DENSITY, SYNTHETIC_BY_SHORT_ROWS, SyntheticTimes};
use crate::study::report::Report;
use crate::study::source::Source;
use crate::study::table::{Cell, Table};

/// Rows with up to this many nonzeros are short.
const WARP: usize = 32;

/// A square matrix with random row lengths and columns.
#[derive(Clone, Copy)]
struct Synthetic {
    order: usize,
    /// The percentage of rows with 1 to 32 nonzeros.
    short_percent: u64,
    /// The length of the others.
    least: usize,
    most: usize,
}

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let by_density = SYNTHETIC_BY_DENSITY.iter().map(|(order, percent, times)| {
        (Synthetic::with_density(*order, *percent), format!("{order} at {percent} %"), times)
    });
    report.table(sweep(bench, "Synthetic matrices by density", DENSITY_SOURCE, by_density)?)?;
    let by_short_rows = SYNTHETIC_BY_SHORT_ROWS.iter().map(|(percent, times)| {
        (Synthetic::with_short_rows(16_384, *percent), format!("16384 with {percent} % short rows"), times)
    });
    report.table(sweep(
        bench,
        "Synthetic matrices by share of rows with up to 32 nonzeros",
        SHORT_SOURCE,
        by_short_rows,
    )?)
}

const DENSITY_SOURCE: &str =
    "Tables 1 (10 %, best block sizes) and 2 (blocks of 32), GTX 295; order and percentage of nonzeros.";
const SHORT_SOURCE: &str =
    "Table 3, GTX 295, blocks of 32; the other rows have 33 to 1638 nonzeros, 10 % of the order.";

impl Synthetic {
    /// Row lengths up to twice the mean. At 10 % they begin at 1 % of the order, and at 1 otherwise, as in the study.
    fn with_density(order: usize, percent: f64) -> Self {
        let share = |percent: f64| ((percent / 100.0 * order as f64) as usize).max(1);
        let least = if percent >= 10.0 { share(1.0) } else { 1 };
        Self { order, short_percent: 0, least, most: share(2.0 * percent) }
    }

    /// The other rows have up to 10 % of the order.
    fn with_short_rows(order: usize, short_percent: u64) -> Self {
        Self { order, short_percent, least: WARP + 1, most: (order / 10).max(WARP + 1) }
    }

    fn row_length(self, row: usize) -> usize {
        let bits = random(1, row);
        let is_short = (bits >> 32) % 100 < self.short_percent;
        let (least, most) = if is_short { (1, WARP) } else { (self.least, self.most) };
        (least + (bits & 0xffff_ffff) as usize % (most - least + 1)).min(self.order)
    }

    /// The number of nonzeros.
    fn nonzeros(self) -> usize {
        (0..self.order).map(|row| self.row_length(row)).sum()
    }

    /// The columns of a row: selection sampling (Knuth, vol. 2, algorithm S).
    fn columns(self, row: usize) -> Vec<u32> {
        let mut wanted = self.row_length(row);
        let mut columns = Vec::with_capacity(wanted);
        for column in 0..self.order {
            if random(2 + row as u64, column) % ((self.order - column) as u64) < wanted as u64 {
                columns.push(column as u32);
                wanted -= 1;
            }
        }
        columns
    }

    fn generate(self) -> Result<Csr<f64>, MatrixError> {
        let rows: Vec<Vec<u32>> = (0..self.order).into_par_iter().map(|row| self.columns(row)).collect();
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(ends).collect();
        let columns = rows.concat();
        let value = |index| random(0, index) as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let values = (0..columns.len()).into_par_iter().map(value).collect();
        Ok(Csr::try_new(self.order, self.order, offsets, columns, values)?)
    }
}

fn sweep<'p>(
    bench: &Bench<'_>,
    title: &str,
    source: &str,
    matrices: impl Iterator<Item = (Synthetic, String, &'p SyntheticTimes)>,
) -> Result<Table, Box<dyn Error>> {
    let mut table = table(title, source);
    let (mut notes, mut all) = (Vec::new(), Vec::new());
    let sources = matrices.map(|(matrix, name, times)| {
        all.push((name.clone(), times));
        Source { name, nonzeros: matrix.nonzeros(), make: Box::new(move || Ok(matrix.generate()?)) }
    });
    let sources: Vec<_> = sources.collect();
    bench.each(sources, &mut notes, |name, matrix| {
        let Some((_, published)) = all.iter().find(|(own, _)| own == name) else {
            return Err("no published figures".into());
        };
        measure(bench, name, &matrix.into_values(), published, &mut table)
    })?;
    table.notes.extend(notes);
    table.note("ELL-R has blocks of 256 threads where the heading does not say 32");
    table.note(CPU_NOTE);
    table.note(spread_note());
    Ok(table)
}

fn table(title: &str, source: &str) -> Table {
    Table::new(
        Study::RowSorting,
        &format!("{title}, milliseconds, f32"),
        source,
        &[
            "matrix",
            "% of nonzeros",
            "longest row",
            "ELL-R",
            "ELL-R sorted",
            "sorted over unsorted",
            "published",
            "CSR, scalar",
            "CSR, scalar sorted",
            "CSR, warp per row",
            "warp over ELL-R sorted",
            "published warp over ELL-R sorted",
            "one CPU thread",
            "CPU over ELL-R",
            "published CPU over ELL-R",
            "sorting",
            "ELL-R, 32 threads",
            "ELL-R sorted, 32 threads",
            "sorted over unsorted, 32 threads",
            SPREAD,
        ],
    )
}

fn measure(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<f32>,
    published: &SyntheticTimes,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let mut runs = Runs::new(bench, name, matrix)?;
    let matrices = noted(runs.ell_matrices(PADDING), name, &mut table.notes);
    let ell = runs.ell(matrices.as_ref())?;
    let on_kernels = matrices.filter(|_| bench.device.kind() != DeviceKind::Cpu);
    let small = on_kernels
        .map(|matrices| runs.ell_with(&matrices, EllOptions::default().with_block_size(WARP as u32)))
        .transpose()?;
    let (small, small_sorted) = small.map(|[_, plain, sorted]| (plain, sorted)).unzip();
    let [csr, sorted_csr] = runs.csr()?;
    let (warp, cpu, sort_ms) = (runs.warp()?, runs.cpu()?, runs.sort_ms());
    let percent = 100.0 * matrix.nnz() as f64 / matrix.nrows() as f64 / matrix.ncols() as f64;
    table.row([
        Cell::from(name),
        percent.into(),
        matrix.statistics().row_length_max.into(),
        ell.ell_r.into(),
        ell.sorted.into(),
        quotient(ell.sorted, ell.ell_r).into(),
        (published.sorted / published.ell_r).into(),
        csr.into(),
        sorted_csr.into(),
        warp.into(),
        quotient(warp, ell.sorted).into(),
        (published.warp / published.sorted).into(),
        cpu.into(),
        quotient(Some(cpu), ell.ell_r).into(),
        quotient(published.cpu, Some(published.ell_r)).into(),
        sort_ms.into(),
        small.into(),
        small_sorted.into(),
        quotient(small_sorted, small).into(),
        runs.spread_percent(0).into(),
    ]);
    table.wrong.extend(runs.wrong);
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;

    use super::*;
    use crate::peers::Peers;

    #[test]
    fn lengths_are_those_of_the_study() {
        // Table 2 has the longest rows.
        for (percent, longest) in [(5.0, 1638), (2.0, 655), (1.0, 327), (0.1, 32)] {
            assert_eq!(Synthetic::with_density(16_384, percent).most, longest);
        }
        let matrix = Synthetic::with_short_rows(16_384, 70);
        let short = (0..16_384).filter(|&row| matrix.row_length(row) <= WARP).count();
        assert!((0.68..0.72).contains(&(short as f64 / 16_384.0)), "{short}");
        // 1.6 % of nonzeros in Table 3.
        let percent = 100.0 * matrix.nonzeros() as f64 / 16_384.0_f64.powi(2);
        assert!((1.5..1.7).contains(&percent), "{percent}");
        let dense = Synthetic::with_density(4096, 10.0);
        let percent = 100.0 * dense.nonzeros() as f64 / 4096.0_f64.powi(2);
        assert!((10.0..11.0).contains(&percent), "{percent}");
    }

    #[test]
    fn matrices_have_the_lengths_that_they_announce() {
        let synthetic = Synthetic::with_short_rows(300, 50);
        let matrix = synthetic.generate().unwrap();
        assert!(matrix.is_canonical());
        assert_eq!(matrix.nnz(), synthetic.nonzeros());
        for (row, entries) in matrix.iter_rows().enumerate() {
            assert_eq!(entries.columns().len(), synthetic.row_length(row), "{row}");
        }
    }

    #[test]
    fn sweeps_run_on_every_device() {
        let published = SyntheticTimes { ell_r: 2.0, sorted: 1.0, warp: 3.0, cpu: Some(8.0) };
        for device in [Device::cpu(), Device::simulated(SimulatedOptions::default())] {
            let bench = Bench {
                device: &device,
                copy_gbps: 1.0,
                peers: &Peers::default(),
                repetitions: 1.into(),
                most_nonzeros: 2000,
                most_products: 1,
            };
            let small = (Synthetic::with_short_rows(70, 50), "small".to_owned(), &published);
            let large = (Synthetic::with_density(256, 10.0), "large".to_owned(), &published);
            let table = sweep(&bench, "a", "b", [small, large].into_iter()).unwrap();
            assert_eq!((table.rows.len(), table.wrong.len()), (1, 0), "{table:?}");
            assert!(table.notes.iter().any(|note| note.ends_with("nonzeros: large")), "{:?}", table.notes);
            let empty = table.rows[0].iter().filter(|cell| **cell == Cell::None).count();
            assert_eq!(empty, if Device::cpu().kind() == device.kind() { 5 } else { 0 }, "{table:?}");
            assert_eq!((&table.rows[0][6], &table.rows[0][14]), (&Cell::Number(0.5), &Cell::Number(4.0)));
        }
    }
}
