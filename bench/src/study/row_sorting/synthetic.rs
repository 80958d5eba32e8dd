//! Synthetic matrices: by density, and by the share of rows that are no longer than a warp.

use evenpath::Csr;
use evenpath::error::MatrixError;
use rayon::prelude::*;

use crate::sequences::random;
use crate::study::source::Source;

/// Rows with up to this many nonzeros are short.
const WARP: usize = 32;

/// A square matrix with random row lengths and columns.
#[derive(Clone, Copy)]
pub(super) struct Synthetic {
    order: usize,
    /// The percentage of rows with 1 to 32 nonzeros.
    short_percent: u64,
    /// The length of the others.
    least: usize,
    most: usize,
}

/// Row lengths up to twice the mean. At 10 % they begin at 1 % of the order, and at 1 otherwise, as in the study.
pub(super) fn with_density(order: usize, percent: f64) -> Synthetic {
    let share = |percent: f64| ((percent / 100.0 * order as f64) as usize).max(1);
    let least = if percent >= 10.0 { share(1.0) } else { 1 };
    Synthetic { order, short_percent: 0, least, most: share(2.0 * percent) }
}

/// The other rows have up to 10 % of the order.
pub(super) fn with_short_rows(order: usize, short_percent: u64) -> Synthetic {
    Synthetic { order, short_percent, least: WARP + 1, most: (order / 10).max(WARP + 1) }
}

impl Synthetic {
    /// The matrix by a name, not generated yet.
    pub(super) fn source(self, name: String) -> Source {
        Source { name, nonzeros: self.nonzeros(), make: Box::new(move || Ok(self.generate()?)) }
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

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::{DeviceKind, SimulatedOptions};

    use super::super::options::of_synthetic as variants;
    use super::super::run::measure;
    use super::super::synthetic_tables::{best_blocks, density_name, of_synthetic};
    use super::*;
    use crate::operations::Bench;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::name::Study;
    use crate::study::published::SyntheticTimes;
    use crate::study::report::Report;
    use crate::study::table::{Cell, Table};

    #[test]
    fn lengths_are_those_of_the_study() {
        // Table 2 has the longest rows.
        for (percent, longest) in [(5.0, 1638), (2.0, 655), (1.0, 327), (0.1, 32)] {
            assert_eq!(with_density(16_384, percent).most, longest);
        }
        let matrix = with_short_rows(16_384, 70);
        let short = (0..16_384).filter(|&row| matrix.row_length(row) <= WARP).count();
        assert!((0.68..0.72).contains(&(short as f64 / 16_384.0)), "{short}");
        // 1.6 % of nonzeros in Table 3.
        let percent = 100.0 * matrix.nonzeros() as f64 / 16_384.0_f64.powi(2);
        assert!((1.5..1.7).contains(&percent), "{percent}");
        let dense = with_density(4096, 10.0);
        let percent = 100.0 * dense.nonzeros() as f64 / 4096.0_f64.powi(2);
        assert!((10.0..11.0).contains(&percent), "{percent}");
    }

    #[test]
    fn matrices_have_the_lengths_that_they_announce() {
        let synthetic = with_short_rows(300, 50);
        let matrix = synthetic.generate().unwrap();
        assert!(matrix.is_canonical());
        assert_eq!(matrix.nnz(), synthetic.nonzeros());
        for (row, entries) in matrix.iter_rows().enumerate() {
            assert_eq!(entries.columns().len(), synthetic.row_length(row), "{row}");
        }
    }

    #[test]
    fn synthetic_matrices_are_measured_on_every_device() {
        let published = SyntheticTimes { ell_r: 2.0, sorted: 1.0, warp: 3.0, cpu: Some(8.0) };
        for device in [Device::cpu(), Device::simulated(SimulatedOptions::default())] {
            let peers = Peers::default();
            let bench = Bench { most_nonzeros: 2000, ..Bench::unlimited(&device, &peers, 1) };
            let setting = Setting::new(&device, 1.0, &[], String::new());
            let mut print = |_: &Table| Ok(());
            let mut report = Report::new(Study::RowSorting, setting, &mut print);
            let name = density_name(4096, 10.0);
            let sources = [
                with_short_rows(70, 50).source(name.clone()),
                with_density(256, 10.0).source("large".into()),
            ];
            let (all, notes) = measure(&bench, &mut report, sources, &variants()).unwrap();
            let table = of_synthetic("a", "b", &all, &[(name, &published)]);
            assert_eq!((table.rows.len(), table.wrong.len()), (1, 0), "{table:?}");
            assert!(notes.iter().any(|note| note.ends_with("nonzeros: large")), "{notes:?}");
            let is_cpu = device.kind() == DeviceKind::Cpu;
            let empty = |table: &Table| table.rows[0].iter().filter(|cell| **cell == Cell::None).count();
            assert_eq!(empty(&table), if is_cpu { 7 } else { 0 }, "{table:?}");
            assert_eq!((&table.rows[0][6], &table.rows[0][14]), (&Cell::Number(0.5), &Cell::Number(4.0)));
            // Of the orders of Table 1, there is one.
            let best = best_blocks(&all);
            assert_eq!((best.rows.len(), empty(&best)), (1, if is_cpu { 6 } else { 0 }), "{best:?}");
            assert_eq!([0, 3, 4].map(|at| best.rows[0][at].clone()), [4096.0, 4.24, 32.0].map(Cell::Number));
        }
    }
}
