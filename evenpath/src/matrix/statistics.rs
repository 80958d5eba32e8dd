//! Statistics of the row lengths of a matrix.

use std::fmt;
use std::ops::Range;

use crate::{Offset, parallel};

/// One class per number of decimal digits of a row length, and one for empty rows.
const CLASSES: usize = 21;

/// Statistics of the row lengths: the figures that merge-spmv (Merrill and Garland, 2016) prints, in the
/// same layout.
///
/// Moments are those of the population: sums divided by the number of rows. Undefined ones are 0, for
/// matrices without rows or nonzeros or with rows of equal length.
///
/// ```
/// let a: evenpath::Csr<f64> = evenpath::Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 1.0)])?;
/// let statistics = a.statistics();
/// assert_eq!((statistics.row_length_mean, statistics.empty_rows), (1.0, 1));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of rows.
    pub nrows: usize,
    /// Number of columns.
    pub ncols: usize,
    /// Number of nonzeros.
    pub nnz: usize,
    /// Mean nonzeros per row.
    pub row_length_mean: f64,
    /// Standard deviation of the row length.
    pub row_length_std_dev: f64,
    /// Coefficient of variation: standard deviation divided by mean.
    pub row_length_variation: f64,
    /// Skewness: third central moment divided by the third power of the standard deviation.
    pub row_length_skewness: f64,
    /// Nonzeros of the longest row.
    pub row_length_max: usize,
    /// Rows without nonzeros.
    pub empty_rows: usize,
    /// Element `d` counts the rows with at least 10ᵈ and less than 10ᵈ⁺¹ nonzeros; it ends with the class
    /// of the longest row, and is empty if all rows are.
    pub degree_histogram: Vec<usize>,
}

/// Sums over part of the rows.
#[derive(Clone, Copy, Default)]
struct LengthSums {
    square: f64,
    cube: f64,
    max: usize,
    /// The number of empty rows, then of rows by digits of their length.
    classes: [usize; CLASSES],
}

impl LengthSums {
    fn of_rows<O: Offset>(mean: f64, row_offsets: &[O]) -> Self {
        let mut sums = Self::default();
        for pair in row_offsets.windows(2) {
            let length = pair[1].to_usize() - pair[0].to_usize();
            let delta = length as f64 - mean;
            sums.square += delta * delta;
            sums.cube += delta * delta * delta;
            sums.max = sums.max.max(length);
            sums.classes[length.checked_ilog10().map_or(0, |digits| digits as usize + 1)] += 1;
        }
        sums
    }

    fn add(mut self, other: Self) -> Self {
        self.square += other.square;
        self.cube += other.cube;
        self.max = self.max.max(other.max);
        for (class, count) in self.classes.iter_mut().zip(other.classes) {
            *class += count;
        }
        self
    }
}

impl Statistics {
    /// Statistics of a valid matrix.
    pub(super) fn new<O: Offset>(rows: usize, cols: usize, row_offsets: &[O]) -> Self {
        const GRAIN: usize = 1 << 15;
        let nnz = row_offsets[rows].to_usize();
        let ratio = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
        let mean = ratio(nnz as f64, rows as f64);
        // Parts of fixed size, added in order, so the sums do not depend on the number of threads.
        let of_rows = |rows: Range<usize>| LengthSums::of_rows(mean, &row_offsets[rows.start..=rows.end]);
        let sums = parallel::reduce(rows, GRAIN, LengthSums::default(), of_rows, LengthSums::add);

        let std_dev = ratio(sums.square, rows as f64).sqrt();
        let classes = sums.classes.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        Self {
            nrows: rows,
            ncols: cols,
            nnz,
            row_length_mean: mean,
            row_length_std_dev: std_dev,
            row_length_variation: ratio(std_dev, mean),
            row_length_skewness: ratio(ratio(sums.cube, rows as f64), std_dev.powi(3)),
            row_length_max: sums.max,
            empty_rows: sums.classes[0],
            degree_histogram: sums.classes[1..classes.max(1)].to_vec(),
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\t num_rows: {}", self.nrows)?;
        writeln!(f, "\t num_cols: {}", self.ncols)?;
        writeln!(f, "\t num_nonzeros: {}", self.nnz)?;
        writeln!(f, "\t row_length_mean: {:.5}", self.row_length_mean)?;
        writeln!(f, "\t row_length_std_dev: {:.5}", self.row_length_std_dev)?;
        writeln!(f, "\t row_length_variation: {:.5}", self.row_length_variation)?;
        writeln!(f, "\t row_length_skewness: {:.5}", self.row_length_skewness)?;
        writeln!(
            f,
            "\nCSR matrix ({} rows, {} columns, {} non-zeros, max-length {}):",
            self.nrows, self.ncols, self.nnz, self.row_length_max
        )?;
        let counts = std::iter::once(&self.empty_rows).chain(&self.degree_histogram);
        for (degree, &count) in (-1..).zip(counts) {
            let percent = 100.0 * count as f64 / self.nrows.max(1) as f64;
            writeln!(f, "\tDegree 1e{degree}: \t{count} ({percent:.2}%)")?;
        }
        Ok(())
    }
}
