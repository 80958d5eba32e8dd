//! Checks of a sparse product.

use evenpath::{Complex, Csr, RealStorage, Scalar, Storage};
use rayon::prelude::*;

use crate::input::random_vector;

/// Approximate number of rows whose columns are compared.
const SAMPLED_ROWS: usize = 256;

/// Conditions for a result C of AB: C·v = A·(B·v) for a random v, computed in f64; and the columns of sampled rows match
/// the definition, because products with v do not reveal missing or extra zeros.
pub(crate) struct Check {
    v: Vec<f64>,
    rows: Vec<Row>,
    /// Rows, ascending, with their columns.
    sample: Vec<(usize, Vec<u32>)>,
}

/// A row of A·(B·v).
#[derive(Default)]
struct Row {
    sum: Complex<f64>,
    /// The sum of the magnitudes of its terms; that of a complex number is the sum of those of its parts.
    magnitude: f64,
    products: u64,
}

impl Check {
    /// Computes the expected result on the host.
    pub(crate) fn new<V: Scalar>(a: &Csr<V>, b: &Csr<V>) -> Self {
        let v: Vec<f64> = random_vector(b.ncols(), 2);
        let rows_of_b: Vec<Row> = (0..b.nrows())
            .into_par_iter()
            .map(|row| {
                let mut sums = Row::default();
                for (column, value) in entries(b, row) {
                    let product = number(value) * v[column as usize];
                    sums.sum += product;
                    sums.magnitude += product.l1_norm();
                    sums.products += 1;
                }
                sums
            })
            .collect();
        let rows = (0..a.nrows()).into_par_iter().map(|row| {
            let mut sums = Row::default();
            for (column, value) in entries(a, row) {
                let (value, factor) = (number(value), &rows_of_b[column as usize]);
                sums.sum += value * factor.sum;
                sums.magnitude += value.l1_norm() * factor.magnitude;
                sums.products += factor.products;
            }
            sums
        });
        let rows: Vec<Row> = rows.collect();
        let sample = sampled_rows(&rows).into_par_iter().map(|row| (row, columns(a, b, row))).collect();
        Self { v, rows, sample }
    }

    /// Checks that a matrix, given by its arrays, is the product: columns ascend in every row, sampled rows have the
    /// correct columns, and a row of n products has an error of at most (n + 2)·ε·Σ|a||b||v|, the bound for rounding in any
    /// order.
    ///
    /// # Errors
    ///
    /// The first wrong row found, as text.
    pub(crate) fn check<V: Scalar>(
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
        let epsilon = if size_of::<V::Real>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        // A part of a complex product has two terms.
        let terms = if V::IS_COMPLEX { 2 } else { 1 };
        let check_row = |row: usize| {
            let range = row_offsets[row] as usize..row_offsets[row + 1] as usize;
            let (Some(columns), Some(values)) = (column_indices.get(range.clone()), values.get(range)) else {
                return Err(format!("row {row} is outside the arrays"));
            };
            if !columns.is_sorted_by(|a, b| a < b) {
                return Err(format!("the columns of row {row} do not ascend"));
            }
            let entries = columns.iter().zip(values);
            let sum: Complex<f64> =
                entries.map(|(&column, &value)| number(value) * self.v[column as usize]).sum();
            let expected = &self.rows[row];
            let bound = (terms * expected.products + 2) as f64 * epsilon * expected.magnitude;
            // Not `>`, because NaN must fail.
            let close = [sum.re - expected.sum.re, sum.im - expected.sum.im].iter().all(|d| d.abs() <= bound);
            if close {
                Ok(())
            } else {
                Err(format!("C·v is {sum} in row {row}, not {} within {bound:.1e}", expected.sum))
            }
        };
        (0..self.rows.len()).into_par_iter().try_for_each(check_row)?;
        self.sample.par_iter().try_for_each(|(row, expected)| {
            let range = row_offsets[*row] as usize..row_offsets[row + 1] as usize;
            check_columns(*row, &column_indices[range], expected)
        })
    }
}

fn number<V: Scalar>(value: V) -> Complex<f64> {
    let (re, im) = value.parts();
    Complex::new(re.to_f64(), im.to_f64())
}

/// Rows throughout the matrix, including the last and the one with the most products.
fn sampled_rows(rows: &[Row]) -> Vec<usize> {
    let most_products = (0..rows.len()).max_by_key(|&row| rows[row].products);
    let step = (rows.len() / SAMPLED_ROWS).max(1);
    let mut sample: Vec<usize> = (0..rows.len()).step_by(step).collect();
    sample.extend(rows.len().checked_sub(1).into_iter().chain(most_products));
    sample.sort_unstable();
    sample.dedup();
    sample
}

/// The columns of a row of AB.
fn columns<V: Storage>(a: &Csr<V>, b: &Csr<V>, row: usize) -> Vec<u32> {
    let mut is_there = vec![false; b.ncols()];
    for (k, _) in entries(a, row) {
        for (column, _) in entries(b, k as usize) {
            is_there[column as usize] = true;
        }
    }
    (0..b.ncols() as u32).filter(|&column| is_there[column as usize]).collect()
}

/// Compares the columns of a row, both ascending.
fn check_columns(row: usize, found: &[u32], expected: &[u32]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let missing = expected.iter().find(|column| found.binary_search(column).is_err());
    Err(match (missing, found.iter().find(|column| expected.binary_search(column).is_err())) {
        (Some(column), _) => format!("row {row} has no entry in column {column}"),
        (None, Some(column)) => format!("row {row} has an entry in column {column}, but no product there"),
        (None, None) => format!("row {row} has {} columns, not {}", found.len(), expected.len()),
    })
}

fn entries<V: Storage>(matrix: &Csr<V>, row: usize) -> impl Iterator<Item = (u32, V)> {
    matrix.row(row).into_iter().flat_map(|row| row.iter())
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

    #[test]
    fn both_parts_of_complex_values_are_checked() {
        let i = Complex::new(0.0, 1.0);
        let a =
            Csr::from_triplets(2, 2, [(0, 0, 1.0 + i), (0, 1, 2.0 * i), (1, 1, 3.0 - i)]).expect("a matrix");
        let check = Check::new(&a, &a);
        // (1 + i)² = 2i; (1 + i)·2i + 2i·(3 - i) = 8i; (3 - i)² = 8 - 6i.
        let right = [2.0 * i, 8.0 * i, 8.0 - 6.0 * i];
        assert_eq!(check.check(&[0, 2, 3], &[0, 1, 1], &right), Ok(()));
        for error in [1e-12 + 0.0 * i, 1e-12 * i] {
            assert!(check.check(&[0, 2, 3], &[0, 1, 1], &[right[0], right[1], right[2] + error]).is_err());
        }
    }

    #[test]
    fn zeros_that_are_missing_or_too_many_are_found() {
        // 1·1 - 1·1 in column 0, and a stored zero in column 1.
        let a: Csr<f64> = Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, -1.0)]).expect("a matrix");
        let b: Csr<f64> =
            Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 0, 1.0), (1, 1, 0.0)]).expect("a matrix");
        let check = Check::new(&a, &b);
        assert_eq!(check.check(&[0, 2], &[0, 1], &[0.0, 0.0]), Ok(()));
        let missing = check.check::<f64>(&[0, 0], &[], &[]).expect_err("two are missing");
        assert!(missing.contains("no entry in column 0"), "{missing}");
        let too_many = check.check(&[0, 3], &[0, 1, 2], &[0.0; 3]).expect_err("one is too many");
        assert!(too_many.contains("column 2"), "{too_many}");
    }

    #[test]
    fn samples_have_the_last_row_and_the_one_with_most_products() {
        let rows = |count: u64| -> Vec<Row> {
            (0..count).map(|row| Row { products: u64::from(row == 1001), ..Row::default() }).collect()
        };
        assert_eq!(sampled_rows(&rows(0)), [0; 0]);
        assert_eq!(sampled_rows(&rows(3)), [0, 1, 2]);
        let sample = sampled_rows(&rows(100_000));
        assert!(sample.contains(&1001) && sample.last() == Some(&99_999));
        assert!((SAMPLED_ROWS..SAMPLED_ROWS + 10).contains(&sample.len()), "{}", sample.len());
    }
}
