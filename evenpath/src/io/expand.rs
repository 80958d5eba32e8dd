//! Expands the stored entries: adds those implied by symmetry, and converts arrays to entries.

use std::cmp::Ordering;
use std::ops::Range;

use evenpath_simt::Element;
use rayon::slice::ParallelSliceMut;

use super::body::{Body, ParsedEntries};
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind, MatrixMarketHeader, Symmetry};
use crate::memory::{try_collect, try_extend};
use crate::{Coo, MatrixError, Scalar, parallel};

/// Entries per task.
const GRAIN: usize = 1 << 15;

/// All entries of a coordinate file: the stored ones in their order, then their mirror images.
pub(super) fn coordinates<V: Scalar>(
    body: &Body<'_>,
    mut stored: ParsedEntries<V>,
) -> Result<Coo<V>, MatrixMarketError> {
    let MatrixMarketHeader { nrows: rows, ncols: cols, symmetry, .. } = *body.header;
    if symmetry != Symmetry::General {
        check_triangles(body, &stored)?;
        check_diagonal(body, &stored)?;
        mirror(&mut stored, symmetry).map_err(|()| out_of_memory(rows, &stored))?;
    }
    Ok(Coo::from_valid(rows, cols, stored.rows, stored.columns, stored.values))
}

fn out_of_memory<V>(rows: usize, stored: &ParsedEntries<V>) -> MatrixError {
    MatrixError::OutOfMemory { rows, nnz: stored.values.len() }
}

/// Appends the mirror image of every entry that is not on the diagonal. Fails if there is too little memory
/// for them.
fn mirror<V: Scalar>(stored: &mut ParsedEntries<V>, symmetry: Symmetry) -> Result<(), ()> {
    let ParsedEntries { rows, columns, values } = stored;
    let len = values.len();
    let off_diagonal = |range: Range<usize>| range.filter(|&entry| rows[entry] != columns[entry]).count();
    let images = parallel::reduce(rows.len(), GRAIN, 0, off_diagonal, |sum, part| sum + part);
    rows.try_reserve_exact(images).map_err(drop)?;
    columns.try_reserve_exact(images).map_err(drop)?;
    values.try_reserve_exact(images).map_err(drop)?;
    for entry in 0..len {
        let (row, column) = (rows[entry], columns[entry]);
        if row != column {
            rows.push(column);
            columns.push(row);
            values.push(reflect(symmetry, values[entry]));
        }
    }
    Ok(())
}

/// The value at the mirrored position.
fn reflect<V: Scalar>(symmetry: Symmetry, value: V) -> V {
    match symmetry {
        Symmetry::SkewSymmetric => -value,
        Symmetry::Hermitian => value.conj(),
        Symmetry::General | Symmetry::Symmetric => value,
    }
}

/// Checks that at most one of two mirrored positions is stored. Otherwise both would be counted twice.
fn check_triangles<V: Scalar>(body: &Body<'_>, stored: &ParsedEntries<V>) -> Result<(), MatrixMarketError> {
    let has = |order: Ordering| {
        let is_in = |&entry: &usize| stored.rows[entry].cmp(&stored.columns[entry]) == order;
        parallel::first(stored.rows.len(), GRAIN, |mut range| range.find(is_in)).is_some()
    };
    if !has(Ordering::Less) || !has(Ordering::Greater) {
        return Ok(());
    }
    // Both triangles are used, which is rare. Sort mirrored positions together.
    let off_diagonal = stored.rows.iter().zip(&stored.columns).enumerate();
    let off_diagonal = off_diagonal.filter(|(_, (row, column))| row != column);
    let sorted =
        off_diagonal.map(|(entry, (&row, &column))| (row.max(column), row.min(column), row < column, entry));
    let mut sorted: Vec<(u32, u32, bool, usize)> =
        try_collect(sorted).map_err(|_| out_of_memory(body.header.nrows, stored))?;
    sorted.par_sort_unstable();
    let both = |range: Range<usize>| {
        let pairs = sorted[range.start..=range.end].windows(2);
        let pairs =
            pairs.filter(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) && pair[0].2 != pair[1].2);
        pairs.map(|pair| pair[0].3.max(pair[1].3)).min()
    };
    let least = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
    let Some(entry) = parallel::reduce(sorted.len() - 1, GRAIN, None, both, least) else {
        return Ok(());
    };
    let (row, column) = (stored.rows[entry] as usize + 1, stored.columns[entry] as usize + 1);
    let kind = Kind::BothTriangles { symmetry: body.header.symmetry, row, column };
    Err(MatrixMarketError::at_line(body.line_of_entry(entry), kind))
}

/// Checks the diagonal: of a skew-symmetric matrix it is zero, of a Hermitian one real.
pub(super) fn check_diagonal<V: Scalar>(
    body: &Body<'_>,
    stored: &ParsedEntries<V>,
) -> Result<(), MatrixMarketError> {
    let symmetry = body.header.symmetry;
    let mut entries = stored.rows.iter().zip(&stored.columns).zip(&stored.values);
    let is_refused =
        |((row, column), &value): ((&u32, &u32), &V)| row == column && !may_be_diagonal(symmetry, value);
    let Some(entry) = entries.position(is_refused) else {
        return Ok(());
    };
    let row = stored.rows[entry] as usize + 1;
    let is_skew = symmetry == Symmetry::SkewSymmetric;
    let kind = if is_skew { Kind::SkewDiagonal { row } } else { Kind::HermitianDiagonal { row } };
    Err(MatrixMarketError::at_line(body.line_of_entry(entry), kind))
}

/// Returns whether a matrix may have the value on its diagonal.
fn may_be_diagonal<V: Scalar>(symmetry: Symmetry, value: V) -> bool {
    match symmetry {
        Symmetry::SkewSymmetric => value == V::ZERO,
        Symmetry::Hermitian => value.parts().1 == V::Real::ZERO,
        Symmetry::General | Symmetry::Symmetric => true,
    }
}

/// The nonzero entries of an array file. `values` has as many as the header announces.
pub(super) fn array<V: Scalar>(body: &Body<'_>, values: &[V]) -> Result<Coo<V>, MatrixMarketError> {
    let MatrixMarketHeader { nrows: rows, ncols: cols, symmetry, .. } = *body.header;
    let mut all = ParsedEntries { rows: Vec::new(), columns: Vec::new(), values: Vec::new() };
    // Skip columns without rows.
    let columns = if values.is_empty() { 0 } else { cols };
    let places = (0..columns).flat_map(|column| {
        let first = match symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => column,
            Symmetry::SkewSymmetric => column + 1,
        };
        (first..rows).map(move |row| (row as u32, column as u32))
    });
    for (element, ((row, column), &value)) in places.zip(values).enumerate() {
        if row == column && !may_be_diagonal(symmetry, value) {
            let kind = Kind::HermitianDiagonal { row: row as usize + 1 };
            return Err(MatrixMarketError::at_line(body.line_of_entry(element), kind));
        }
        if value != V::ZERO {
            let no_memory = |_| MatrixError::OutOfMemory { rows, nnz: values.len() };
            try_extend(&mut all.rows, &[row]).map_err(no_memory)?;
            try_extend(&mut all.columns, &[column]).map_err(no_memory)?;
            try_extend(&mut all.values, &[value]).map_err(no_memory)?;
        }
    }
    if symmetry != Symmetry::General {
        mirror(&mut all, symmetry).map_err(|()| out_of_memory(rows, &all))?;
    }
    Ok(Coo::from_valid(rows, cols, all.rows, all.columns, all.values))
}
