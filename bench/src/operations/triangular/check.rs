//! Checks of factors and solutions by what they are multiplied to. Errors of rounding are bounded in each row and entry for itself,
//! whatever the growth of the solution.

use evenpath::{Csr, Value};
use rayon::prelude::*;

use super::system::levels;
use crate::peers::PeerValue;

/// Approximate limit on the products that a check computes: for larger factors it samples rows.
const CHECKED: u64 = 1 << 26;
/// Roundings beside those of a sum's terms.
const MORE_ROUNDINGS: usize = 8;

fn epsilon<V: Value>() -> f64 {
    if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// A triangle of a matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Triangle {
    pub(super) is_upper: bool,
    /// True if the diagonal is 1, whatever the matrix has there.
    pub(super) is_unit: bool,
}

impl Triangle {
    /// The factor L of an LU factorization.
    pub(super) const L: Self = Self { is_upper: false, is_unit: true };
    /// The factor U.
    pub(super) const U: Self = Self { is_upper: true, is_unit: false };

    /// The entries of a row.
    fn row<V: Value>(self, matrix: &Csr<V>, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let entries = matrix.row(row).into_iter().flat_map(|row| row.iter());
        let entries = entries.map(|(column, value)| (column as usize, value.to_f64()));
        let beside =
            entries.filter(move |&(column, _)| if self.is_upper { column > row } else { column < row });
        let at = matrix.row(row).and_then(|entries| entries.columns().binary_search(&(row as u32)).ok());
        let place = matrix.row_offsets()[row] as usize;
        let diagonal = at.map(|at| matrix.values()[place + at].to_f64()).filter(|_| !self.is_unit);
        beside.chain([(row, diagonal.unwrap_or(1.0))])
    }

    /// Number of entries.
    pub(super) fn entries<V: Value>(self, matrix: &Csr<V>) -> u64 {
        (0..matrix.nrows()).into_par_iter().map(|row| self.row(matrix, row).count() as u64).sum()
    }

    /// Number of levels.
    pub(super) fn levels<V: Value>(self, matrix: &Csr<V>) -> usize {
        levels(matrix, self.is_upper)
    }

    /// Checks Tx = b row by row.
    pub(super) fn check<V: PeerValue>(self, matrix: &Csr<V>, b: &[V], x: &[V]) -> Result<(), String> {
        if x.len() != matrix.nrows() {
            return Err(format!("{} elements of x, not {}", x.len(), matrix.nrows()));
        }
        (0..matrix.nrows()).into_par_iter().with_min_len(64).try_for_each(|row| {
            let mut sum = Sum::default();
            self.row(matrix, row).for_each(|(column, value)| sum.add(value * x[column].to_f64()));
            let expected = b[row].to_f64();
            sum.magnitude += expected.abs();
            sum.check::<V>(expected).map_err(|found| format!("row {row} of Tx is {found}, not {expected}"))
        })
    }
}

/// A sum of products in f64.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: f64,
    magnitude: f64,
    terms: usize,
}

impl Sum {
    fn add(&mut self, term: f64) {
        *self =
            Self { value: self.value + term, magnitude: self.magnitude + term.abs(), terms: self.terms + 1 };
    }

    /// Checks the sum of rounded factors. Returns it if it is wrong.
    fn check<V: Value>(self, expected: f64) -> Result<(), f64> {
        let bound = (self.terms + MORE_ROUNDINGS) as f64 * epsilon::<V>() * self.magnitude;
        // Not `>`, because NaN must fail.
        let is_close = (self.value - expected).abs() <= bound;
        if is_close { Ok(()) } else { Err(self.value) }
    }
}

/// The sums of a row's columns.
struct Sums {
    of_columns: Vec<Sum>,
    /// The columns that have terms.
    touched: Vec<usize>,
}

impl Sums {
    fn new(columns: usize) -> Self {
        Self { of_columns: vec![Sum::default(); columns], touched: Vec::new() }
    }

    fn add(&mut self, column: usize, term: f64) {
        if self.of_columns[column].terms == 0 {
            self.touched.push(column);
        }
        self.of_columns[column].add(term);
    }

    fn clear(&mut self) {
        for column in self.touched.drain(..) {
            self.of_columns[column] = Sum::default();
        }
    }
}

/// Checks that LU has the entries of `a` where that has any.
pub(super) fn lu<V: PeerValue>(a: &Csr<V>, factors: &Csr<V>) -> Result<(), String> {
    // Row k of U adds to row i for each entry of L.
    let added = |row: usize, sums: &mut Sums| {
        for (k, l) in Triangle::L.row(factors, row) {
            Triangle::U.row(factors, k).for_each(|(column, u)| sums.add(column, l * u));
        }
    };
    check_products(a, factors, added)
}

/// Checks that L·Lᵀ has the entries of `a` on and below the diagonal; those above are ignored.
pub(super) fn cholesky<V: PeerValue>(a: &Csr<V>, l: &Csr<V>) -> Result<(), String> {
    let (a, lower) = (a.tril(0), Triangle { is_upper: false, is_unit: false });
    let upper = l.tril(0).transpose().map_err(|error| error.to_string())?;
    let added = |row: usize, sums: &mut Sums| {
        for (k, value) in lower.row(l, row) {
            Triangle::U.row(&upper, k).for_each(|(column, u)| sums.add(column, value * u));
        }
    };
    check_products(&a, l, added)
}

/// Checks the entries of `a` in all rows, or in sampled ones. `added` adds the products of a row to the sums of columns.
fn check_products<V: PeerValue>(
    a: &Csr<V>,
    factors: &Csr<V>,
    added: impl Fn(usize, &mut Sums) + Sync,
) -> Result<(), String> {
    let rows = a.nrows();
    if factors.shape() != a.shape() {
        return Err(format!("the factors have the shape {:?}, not {:?}", factors.shape(), a.shape()));
    }
    let step = operations(factors).div_ceil(CHECKED).max(1) as usize;
    let check_row = |sums: &mut Sums, row: usize| {
        added(row, sums);
        let mut entries = a.row(row).into_iter().flat_map(|row| row.iter());
        let checked = entries.try_for_each(|(column, expected)| {
            let check = sums.of_columns[column as usize].check::<V>(expected.to_f64());
            check.map_err(|found| format!("entry ({row}, {column}) of LU is {found}, not {expected}"))
        });
        sums.clear();
        checked
    };
    let sampled = (0..rows.div_ceil(step)).into_par_iter().map(|index| index * step);
    sampled.map_init(|| Sums::new(rows), check_row).collect()
}

/// Number of entries of U that factorizing reads: a row for each entry of L.
pub(super) fn operations<V: Value>(matrix: &Csr<V>) -> u64 {
    let length = |row: usize| {
        let columns = matrix.row(row).map_or(&[][..], |row| row.columns());
        columns.len() - columns.partition_point(|&column| (column as usize) < row)
    };
    let of_row = |row: usize| {
        let columns = matrix.row(row).map_or(&[][..], |row| row.columns());
        let needed = columns.iter().map(|&column| column as usize).take_while(|&column| column < row);
        needed.map(|column| length(column) as u64).sum::<u64>()
    };
    (0..matrix.nrows()).into_par_iter().map(of_row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L = [1 . .; 2 1 .; . 3 1], U = [4 1 .; . 5 2; . . 7].
    fn factors() -> Csr<f64> {
        let entries =
            [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 2.0), (1, 1, 5.0), (1, 2, 2.0), (2, 1, 3.0), (2, 2, 7.0)];
        Csr::from_triplets(3, 3, entries).unwrap()
    }

    fn with_values(values: &[f64]) -> Csr<f64> {
        let mut matrix = factors();
        matrix.values_mut().copy_from_slice(values);
        matrix
    }

    #[test]
    fn solutions_are_checked() {
        let (matrix, b) = (factors(), [1.0, 4.0, 2.0]);
        assert_eq!(Triangle::L.check(&matrix, &b, &[1.0, 2.0, -4.0]), Ok(()));
        assert_eq!(Triangle::U.check(&matrix, &[9.0, 12.0, 7.0], &[1.75, 2.0, 1.0]), Ok(()));
        assert!(Triangle::L.check(&matrix, &b, &[1.0, 2.0]).is_err());
        for at in 0..3 {
            for error in [1e-12, f64::NAN] {
                let mut x = [1.0, 2.0, -4.0];
                x[at] += error;
                assert!(Triangle::L.check(&matrix, &b, &x).is_err(), "{at} {error}");
            }
        }
        assert_eq!([Triangle::L, Triangle::U].map(|one| one.entries(&matrix)), [5, 5]);
        assert_eq!(operations(&matrix), 4);
    }

    #[test]
    fn factors_are_checked() {
        let a = with_values(&[4.0, 1.0, 8.0, 7.0, 2.0, 15.0, 13.0]);
        assert_eq!(lu(&a, &factors()), Ok(()));
        for at in 0..7 {
            for error in [1e-12, f64::NAN] {
                let mut wrong = factors();
                wrong.values_mut()[at] += error;
                assert!(lu(&a, &wrong).is_err(), "{at} {error}");
            }
        }
        assert!(lu(&a, &Csr::from_triplets(2, 2, []).unwrap()).is_err());
    }

    #[test]
    fn triangles_are_checked() {
        // L = [2 . .; 1 3 .; . 2 1]; entries above the diagonal do not count.
        let a = with_values(&[4.0, f64::NAN, 2.0, 10.0, 0.0, 6.0, 5.0]);
        let l = with_values(&[2.0, 9.0, 1.0, 3.0, 9.0, 2.0, 1.0]);
        assert_eq!(cholesky(&a, &l), Ok(()));
        for at in [0, 2, 3, 5, 6] {
            let mut wrong = l.clone();
            wrong.values_mut()[at] += 1e-12;
            assert!(cholesky(&a, &wrong).is_err(), "{at}");
        }
    }
}
