//! Stand-ins for the matrices of the study, and others of about the same sizes.

use std::fmt;

use evenpath::Csr;
use evenpath::error::MatrixError;
use evenpath::generate::{Kind, Published};
use rayon::prelude::*;

use crate::sequences::random;
use crate::study::source::Source;

/// A matrix with the published rows and nonzeros. The source does not give row lengths, which are even here.
#[derive(Debug, Clone, Copy)]
pub(super) struct StandIn {
    name: &'static str,
    rows: usize,
    nonzeros: usize,
    /// Nonzeros are at most this far before the diagonal.
    reach: usize,
    /// Consecutive columns with nonzeros.
    run: usize,
}

/// Table 1. It counts the stored half of symmetric matrices: the stand-ins have nonzeros on and below the diagonal only.
pub(super) const STAND_INS: [StandIn; 3] = [
    StandIn { name: "af_shell10", rows: 1_508_065, nonzeros: 27_090_195, reach: 2500, run: 5 },
    StandIn { name: "nlpkkt80", rows: 1_062_400, nonzeros: 14_883_536, reach: 20_000, run: 3 },
    StandIn { name: "StocF-1465", rows: 1_465_137, nonzeros: 11_235_263, reach: 10_000, run: 1 },
];

impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rows, nonzeros, reach, run } = self;
        write!(
            f,
            "{name} is a stand-in with the published {rows} rows and {nonzeros} nonzeros (the stored half), in runs of {run} \
             columns at most {reach} before the diagonal"
        )
    }
}

impl StandIn {
    /// The nonzeros of the rows before this one.
    fn offset(self, row: usize) -> usize {
        (row as u64 * self.nonzeros as u64 / self.rows as u64) as usize
    }

    /// The columns of a row: the window before the diagonal has a part for each run, which begins anywhere in it.
    fn columns(self, row: usize) -> impl Iterator<Item = u32> {
        let count = self.offset(row + 1) - self.offset(row);
        let runs = count.div_ceil(self.run);
        let end = (row + 1).max(runs * self.run);
        let first = end - end.min(self.reach.max(runs * self.run));
        let part = (end - first) / runs.max(1);
        (0..count).map(move |index| {
            let begin = random(row as u64, index / self.run) % (part - self.run + 1) as u64;
            (first + index / self.run * part + begin as usize + index % self.run) as u32
        })
    }

    fn generate(self) -> Result<Csr<f64>, MatrixError> {
        let offsets = (0..=self.rows).map(|row| self.offset(row) as u32).collect();
        let columns: Vec<Vec<u32>> =
            (0..self.rows).into_par_iter().map(|row| self.columns(row).collect()).collect();
        let value = |index| random(0, index) as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let values = (0..self.nonzeros).into_par_iter().map(value).collect();
        Ok(Csr::try_new(self.rows, self.rows, offsets, columns.concat(), values)?)
    }
}

/// The stand-ins, and generated matrices with 27, 16, 5, 16 and 7 nonzeros per row.
pub(super) fn sources() -> impl Iterator<Item = Source> {
    let like = ["cage12", "parabolic-fem"];
    let published = Published::all().filter(move |matrix| like.contains(&matrix.name()));
    let kinds =
        [Kind::Stencil27 { side: 100 }, Kind::Uniform { rows: 1_000_000 }, Kind::Stencil5 { side: 1200 }]
            .into_iter()
            .chain(published.map(|matrix| Kind::Like { matrix }));
    let stand_ins = STAND_INS.into_iter().map(|stand_in| Source {
        name: stand_in.name.into(),
        nonzeros: stand_in.nonzeros,
        make: Box::new(move || Ok(stand_in.generate()?)),
    });
    stand_ins.chain(kinds.map(Source::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::published::ADAPTIVE;

    #[test]
    fn stand_ins_have_the_published_sizes() {
        for (own, published) in STAND_INS.iter().zip(&ADAPTIVE) {
            assert_eq!((own.name, own.rows), (published.name, published.rows));
            let mean = own.nonzeros as f64 / own.rows as f64;
            assert!((mean - published.nonzeros_per_row).abs() < 0.006, "{}: {mean}", own.name);
            assert_eq!(own.offset(own.rows), own.nonzeros);
        }
    }

    #[test]
    fn stand_ins_are_canonical_and_within_reach() {
        for stand_in in STAND_INS {
            let small =
                StandIn { rows: 5000, nonzeros: stand_in.nonzeros / (stand_in.rows / 5000), ..stand_in };
            let matrix = small.generate().unwrap();
            assert!(matrix.is_canonical(), "{}", small.name);
            assert_eq!(matrix.nnz(), small.nonzeros);
            for (row, entries) in matrix.iter_rows().enumerate().skip(100) {
                let columns = entries.columns();
                let (first, last) = (columns[0] as usize, columns[columns.len() - 1] as usize);
                assert!(last <= row && row - first <= small.reach, "{}, row {row}: {columns:?}", small.name);
            }
        }
    }
}
