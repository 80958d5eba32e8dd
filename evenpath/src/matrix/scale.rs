//! Changes of a matrix's values: scaled, by row and by column, and mapped.

use super::{Csr, MatrixError, row_blocks, split};
use crate::{Offset, Scalar, parallel};

/// Values per task.
const GRAIN: usize = 1 << 14;

impl<V: Scalar, O: Offset> Csr<V, O> {
    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: V) {
        self.map_values(|value| value * factor);
    }

    /// Replaces every value by its complex conjugate; real values stay.
    ///
    /// ```
    /// use evenpath::{Complex, Csr};
    ///
    /// let mut a = Csr::from_triplets(1, 1, [(0, 0, Complex::new(1.0, 2.0))])?;
    /// a.conjugate();
    /// assert_eq!(a.values(), [Complex::new(1.0, -2.0)]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn conjugate(&mut self) {
        if V::IS_COMPLEX {
            self.map_values(V::conj);
        }
    }

    /// Replaces every value by a function of it, which is called on several threads at once.
    ///
    /// ```
    /// let mut a = evenpath::Csr::from_triplets(1, 2, [(0, 0, -1.0), (0, 1, 4.0_f64)])?;
    /// a.map_values(|value| value.abs().sqrt());
    /// assert_eq!(a.values(), [1.0, 2.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn map_values(&mut self, map: impl Fn(V) -> V + Sync) {
        parallel::parts_mut(self.values_mut(), GRAIN, |_, values| {
            for value in values {
                *value = map(*value);
            }
        });
    }

    /// Multiplies every row by its element of `factors`, which has one per row: A becomes DA, for D with these elements
    /// on the diagonal.
    ///
    /// ```
    /// let mut a = evenpath::Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// a.scale_rows(&[10.0, 1.0])?;
    /// a.scale_columns(&[1.0, 0.5])?;
    /// assert_eq!(a.values(), [10.0, 10.0, 1.5]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not one factor per row; then nothing is changed.
    pub fn scale_rows(&mut self, factors: &[V]) -> Result<(), MatrixError> {
        check("rows", self.nrows(), factors.len())?;
        let (row_offsets, values) = self.offsets_and_values_mut();
        scale_rows(row_offsets, values, |row, value| factors[row] * value);
        Ok(())
    }

    /// Multiplies every column by its element of `factors`, which has one per column: A becomes AD, for D with these
    /// elements on the diagonal.
    ///
    /// # Errors
    ///
    /// If there is not one factor per column; then nothing is changed.
    pub fn scale_columns(&mut self, factors: &[V]) -> Result<(), MatrixError> {
        check("columns", self.ncols(), factors.len())?;
        let (columns, values) = self.columns_and_values_mut();
        scale_columns(columns, factors, values);
        Ok(())
    }
}

fn check(what: &'static str, needed: usize, found: usize) -> Result<(), MatrixError> {
    if found == needed { Ok(()) } else { Err(MatrixError::Factors { what, needed, found }) }
}

/// Replaces each value by a function of its row and itself.
pub(crate) fn scale_rows<V: Scalar, O: Offset>(
    row_offsets: &[O],
    values: &mut [V],
    scaled: impl Fn(usize, V) -> V + Sync,
) {
    let parts = split(&row_blocks(row_offsets), row_offsets, values);
    parallel::for_each(parts, |(rows, values)| {
        let first = row_offsets[rows.start].to_usize();
        for row in rows {
            let range = row_offsets[row].to_usize() - first..row_offsets[row + 1].to_usize() - first;
            values[range].iter_mut().for_each(|value| *value = scaled(row, *value));
        }
    });
}

/// Multiplies each value by the factor of its column.
pub(crate) fn scale_columns<V: Scalar>(columns: &[u32], factors: &[V], values: &mut [V]) {
    parallel::parts_mut(values, GRAIN, |range, values| {
        for (value, &column) in values.iter_mut().zip(&columns[range]) {
            *value = factors[column as usize] * *value;
        }
    });
}
