use evenpath::{Csr, Value};
use rayon::prelude::*;

use crate::input::random_vector;

/// What any result C of AB must fulfil: C·v = A·(B·v) for a random v, computed in f64.
pub struct Check {
    v: Vec<f64>,
    rows: Vec<Row>,
}

/// A row of A·(B·v).
struct Row {
    sum: f64,
    /// The sum of the magnitudes of all that is added.
    magnitude: f64,
    products: u64,
}

impl Check {
    /// Computes what is to come out, on the host.
    pub fn new<V: Value>(a: &Csr<V>, b: &Csr<V>) -> Self {
        let v: Vec<f64> = random_vector(b.cols(), 2);
        let rows_of_b: Vec<Row> = (0..b.rows())
            .into_par_iter()
            .map(|row| {
                let mut sums = Row { sum: 0.0, magnitude: 0.0, products: 0 };
                for (column, value) in entries(b, row) {
                    let product = value.to_f64() * v[column as usize];
                    sums.sum += product;
                    sums.magnitude += product.abs();
                    sums.products += 1;
                }
                sums
            })
            .collect();
        let rows = (0..a.rows()).into_par_iter().map(|row| {
            let mut sums = Row { sum: 0.0, magnitude: 0.0, products: 0 };
            for (column, value) in entries(a, row) {
                let factor = &rows_of_b[column as usize];
                sums.sum += value.to_f64() * factor.sum;
                sums.magnitude += value.to_f64().abs() * factor.magnitude;
                sums.products += factor.products;
            }
            sums
        });
        let rows = rows.collect();
        Self { v, rows }
    }

    /// Whether a matrix, given by its arrays, is the product: its rows ascend by column, and a row of n products may be
    /// off by (n + 2)·ε·Σ|a||b||v|, what rounding in any order can come to.
    ///
    /// # Errors
    ///
    /// The first row found that is wrong, as text.
    pub fn check<V: Value>(
        &self,
        row_offsets: &[u32],
        column_indices: &[u32],
        values: &[V],
    ) -> Result<(), String> {
        if row_offsets.len() != self.rows.len() + 1 {
            return Err(format!("{} row offsets for {} rows", row_offsets.len(), self.rows.len()));
        }
        if row_offsets.last().map(|&end| end as usize) != Some(values.len())
            || column_indices.len() != values.len()
        {
            return Err(format!("{} columns and {} values", column_indices.len(), values.len()));
        }
        let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let check_row = |row: usize| {
            let range = row_offsets[row] as usize..row_offsets[row + 1] as usize;
            let (Some(columns), Some(values)) = (column_indices.get(range.clone()), values.get(range)) else {
                return Err(format!("row {row} lies outside of the arrays"));
            };
            if !columns.is_sorted_by(|a, b| a < b) {
                return Err(format!("the columns of row {row} do not ascend"));
            }
            let sum: f64 = columns
                .iter()
                .zip(values)
                .map(|(&column, value)| value.to_f64() * self.v[column as usize])
                .sum();
            let expected = &self.rows[row];
            let bound = (expected.products + 2) as f64 * epsilon * expected.magnitude;
            // Not `>`, which NaN would pass.
            let close = (sum - expected.sum).abs() <= bound;
            if close {
                Ok(())
            } else {
                Err(format!("C·v has {sum} in row {row}, not {} within {bound:.1e}", expected.sum))
            }
        };
        (0..self.rows.len()).into_par_iter().try_for_each(check_row)
    }
}

fn entries<V: Value>(matrix: &Csr<V>, row: usize) -> impl Iterator<Item = (u32, V)> {
    let range = matrix.row_offsets()[row] as usize..matrix.row_offsets()[row + 1] as usize;
    let columns = matrix.column_indices()[range.clone()].iter().copied();
    columns.zip(matrix.values()[range].iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_finds_errors() {
        let a: Csr<f64> =
            Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)]).expect("a matrix");
        let check = Check::new(&a, &a);
        assert_eq!(check.check(&[0, 2, 3], &[0, 1, 1], &[1.0, 8.0, 9.0]), Ok(()));
        for (offsets, columns, values) in [
            ([0, 2, 3], [0, 1, 1], [1.0, 8.0, 9.0 + 1e-12]),
            ([0, 2, 3], [0, 1, 1], [1.0, f64::NAN, 9.0]),
            ([0, 2, 3], [1, 0, 1], [8.0, 1.0, 9.0]),
            ([0, 1, 3], [0, 0, 1], [1.0, 8.0, 9.0]),
            ([0, 2, 2], [0, 1, 1], [1.0, 8.0, 9.0]),
        ] {
            assert!(check.check(&offsets, &columns, &values).is_err(), "{offsets:?} {columns:?} {values:?}");
        }
        assert!(check.check(&[0, 2], &[0, 1], &[1.0, 8.0]).is_err());
    }
}
