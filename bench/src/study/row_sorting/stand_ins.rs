//! Stand-ins for the ten matrices of the study.

use evenpath::Csr;
use evenpath::error::MatrixError;
use evenpath::generate::{Kind, Published};

use crate::study::published::SORTED;
use crate::study::source::Source;

/// The stand-ins, which have all entries of symmetric matrices.
pub(super) fn sources() -> impl Iterator<Item = Source> {
    SORTED.iter().filter_map(|sorted| {
        let matrix = Published::all().find(|matrix| matrix.name() == sorted.name)?;
        Some(Kind::Like { matrix }.into())
    })
}

/// The entries of a matrix that its file stores: those on and below the diagonal if it is symmetric.
pub(super) fn stored(name: &str, matrix: Csr<f64>) -> Result<Csr<f64>, MatrixError> {
    let is_half = SORTED.iter().any(|sorted| sorted.name == name && sorted.is_half);
    if is_half { lower_triangle(&matrix) } else { Ok(matrix) }
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
            let own = stored(published.name, generate(Kind::Like { matrix }, 1).unwrap()).unwrap();
            let off = own.nnz() as f64 / published.nonzeros as f64 - 1.0;
            assert!(off.abs() < 0.03, "{}: {} nonzeros", published.name, own.nnz());
        }
    }
}
