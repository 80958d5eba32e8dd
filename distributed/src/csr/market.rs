//! Reading of Matrix Market files, of which each rank parses a part.

use std::path::Path;

use evenpath::Value;
use evenpath::io::{
    MatrixMarketErrorKind as Kind, MatrixMarketHeader, MatrixMarketPart, ReadOptions, Symmetry,
    read_matrix_market_part,
};

use super::build::default_columns;
use super::matrix::DistributedCsr;
use crate::error::Result;
use crate::memory::collected;
use crate::rows::{RowBlock, assemble};
use crate::{Rank, RowPartition};

impl<V: Value> DistributedCsr<V> {
    /// Reads a Matrix Market file in coordinate format that every rank can open. Each rank parses the lines
    /// that start in its range of bytes, and the entries are sent to the ranks that own their rows.
    /// Duplicates are summed in the order of the file, so the matrix is the same as that of
    /// [`evenpath::io::read_matrix_market`]. Rows are partitioned by a merge path; the columns of a square
    /// matrix are divided like the rows, those of others evenly. A collective operation.
    ///
    /// # Errors
    ///
    /// The errors of [`evenpath::io::read_matrix_market`] and of [`from_rows`](Self::from_rows), and if the
    /// file is in array format.
    pub fn read_matrix_market(rank: &Rank, path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let part = read_matrix_market_part::<V>(path, options, rank.index(), rank.size())?;
        check_count(rank, &part)?;
        let MatrixMarketHeader { nrows: rows, ncols: cols, symmetry, .. } = part.header;
        let (bytes, limit) = (part.text_bytes, options.row_limit);
        if rows > limit && rows as u64 > bytes {
            let kind = Kind::RowLimit { rows, bytes: bytes as usize, limit };
            return Err(evenpath::io::MatrixMarketError::from(kind).into());
        }
        let even = RowPartition::even(rows as u64, rank.size())?;
        let block = expand(rank, &even, symmetry, &part)?;
        let lengths = collected((0..block.nrows()).map(|row| block.row(row).0.len() as u64))?;
        let rows = RowPartition::by_merge_path_of(rank, &even, &lengths)?;
        let block = crate::rows::redistribute(rank, &block, &even, &rows)?;
        Self::from_rows(rank, &rows, &default_columns(rank, &rows, cols as u64)?, block)
    }
}

/// Checks that the parts together have the number of entries that the header states.
fn check_count<V: Value>(rank: &Rank, part: &MatrixMarketPart<V>) -> Result<()> {
    let counts = rank.all_reduce(&[part.stored.nnz() as u64], |sum, count| sum + count)?;
    let (found, expected) = (counts[0] as usize, part.header.entries);
    let kind = match u128::from(counts[0]).cmp(&expected) {
        std::cmp::Ordering::Less => Kind::Truncated { expected, found },
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Greater => Kind::TooManyEntries { expected },
    };
    Err(evenpath::io::MatrixMarketError::from(kind).into())
}

/// Returns this rank's rows of the matrix, including entries implied by symmetry.
fn expand<V: Value>(
    rank: &Rank,
    rows: &RowPartition,
    symmetry: Symmetry,
    part: &MatrixMarketPart<V>,
) -> Result<RowBlock<V>> {
    let stored = &part.stored;
    let places = || stored.row_indices().iter().zip(stored.column_indices()).zip(stored.values());
    let places = || places().map(|((&row, &column), &value)| (u64::from(row), u64::from(column), value));
    let mut block = assemble(rank, rows, places())?;
    if symmetry == Symmetry::General {
        block.canonicalize();
        return Ok(block);
    }
    let reflect = |value: V| if symmetry == Symmetry::SkewSymmetric { -value } else { value };
    let mirrored = places().filter(|(row, column, _)| row != column);
    let mirrored = assemble(rank, rows, mirrored.map(|(row, column, value)| (column, row, reflect(value))))?;
    check_triangles(rank, rows, symmetry, (&block, &mirrored))?;
    Ok(block.joined(&mirrored))
}

/// Checks that at most one of two mirrored positions is stored; otherwise both would be counted twice.
fn check_triangles<V: Value>(
    rank: &Rank,
    rows: &RowPartition,
    symmetry: Symmetry,
    (stored, mirrored): (&RowBlock<V>, &RowBlock<V>),
) -> Result<()> {
    let first = rows.range(rank.index()).start as usize;
    let mut columns = Vec::new();
    for row in 0..stored.nrows() {
        columns.clear();
        columns.extend_from_slice(mirrored.row(row).0);
        columns.sort_unstable();
        if let Some(&column) = stored.row(row).0.iter().find(|column| columns.binary_search(column).is_ok()) {
            let (row, column) = (first + row + 1, column as usize + 1);
            let kind = Kind::BothTriangles { symmetry, row, column };
            return Err(evenpath::io::MatrixMarketError::from(kind).into());
        }
    }
    Ok(())
}
