//! Matrices of a kind of which a few rows are full.

use std::fmt;
use std::str::FromStr;

use evenpath::coo::Duplicates;
use evenpath::error::MatrixError;
use evenpath::generate::{Kind, ParseKindError, generate};
use evenpath::{Coo, Csr, Offset, Value};
use thiserror::Error;

/// Begins its name.
const NAME: &str = "full-rows";

/// A matrix of a kind of which some rows are full: `full-rows:COUNT:KIND`, such as `full-rows:3:fem:60000`. Those of
/// finite elements with constraints that all unknowns share look so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullRows {
    count: usize,
    kind: Kind,
}

/// Text that is not the name of such a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseFullRowsError {
    /// The count is missing, or not a number.
    #[error("`{0}` is not full-rows:COUNT:KIND, with a whole number")]
    Count(String),
    /// The kind.
    #[error(transparent)]
    Kind(#[from] ParseKindError),
}

impl FullRows {
    /// Returns whether a name is that of such a matrix, or is meant to be one.
    pub fn is_name(text: &str) -> bool {
        text.split(':').next() == Some(NAME)
    }

    /// Generates the matrix. Full rows are at equal distances; where the kind has no entry they have ½.
    ///
    /// # Errors
    ///
    /// Those of [`generate`], and if there is not enough memory, or `O` cannot count the nonzeros.
    pub fn generate<V: Value, O: Offset>(&self, seed: u64) -> Result<Csr<V, O>, MatrixError> {
        let matrix: Csr<V> = generate(self.kind, seed)?;
        let (rows, cols) = matrix.shape();
        let is_full = |row: usize| self.count > 0 && row.is_multiple_of(rows.div_ceil(self.count));
        let others = matrix.iter().filter(|&(row, ..)| !is_full(row));
        let value = |row, column| matrix.get(row, column).unwrap_or_else(|| V::from_f64(0.5));
        let full = (0..rows).filter(|&row| is_full(row));
        let full = full.flat_map(|row| (0..cols).map(move |column| (row, column)));
        let entries = others.chain(full.map(|(row, column)| (row, column, value(row, column))));
        let coo = Coo::from_triplets(rows, cols, entries)?;
        coo.to_csr_with_offsets(Duplicates::Refuse)
    }
}

impl fmt::Display for FullRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}:{}:{}", self.count, self.kind)
    }
}

impl FromStr for FullRows {
    type Err = ParseFullRowsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':'));
        let parts = parts.and_then(|rest| rest.split_once(':'));
        let count = parts.and_then(|(count, kind)| Some((count.parse().ok()?, kind)));
        let (count, kind) = count.ok_or_else(|| ParseFullRowsError::Count(text.into()))?;
        Ok(Self { count, kind: kind.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_are_full() {
        let full: FullRows = "full-rows:3:stencil5:4".parse().unwrap();
        let (a, plain): (Csr<f64, u64>, Csr<f64>) =
            (full.generate(1).unwrap(), generate("stencil5:4".parse().unwrap(), 1).unwrap());
        for (index, (row, plain)) in a.iter_rows().zip(plain.iter_rows()).enumerate() {
            let expected = if [0, 6, 12].contains(&index) { 16 } else { plain.len() };
            assert_eq!(row.len(), expected, "row {index}");
            assert!(plain.iter().all(|(column, value)| a.get(index, column as usize) == Some(value)));
        }
        let none: FullRows = "full-rows:0:stencil5:4".parse().unwrap();
        assert_eq!(none.generate::<f64, u32>(1).unwrap(), plain);
        for name in ["full-rows", "full-rows:3", "full-rows:x:fem:9"] {
            assert!(name.parse::<FullRows>().unwrap_err().to_string().contains("COUNT"), "{name}");
        }
        assert!(matches!("full-rows:3:x".parse::<FullRows>(), Err(ParseFullRowsError::Kind(_))));
    }
}
