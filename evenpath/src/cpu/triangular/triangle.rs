use std::ops::Range;

use crate::{Offset, Scalar, parallel};

/// Minimum number of rows of a task.
const ROWS: usize = 1 << 12;
/// Minimum number of rows of a level, in the mean, for which several threads solve them.
const WIDE_LEVEL: usize = 1 << 12;

/// The entries of a triangle in each row, the diagonal left out, and the levels of the rows.
pub(crate) struct Triangle<O> {
    pub(crate) is_upper: bool,
    /// True if the diagonal is taken to be 1.
    pub(crate) is_unit: bool,
    /// Number of partial sums of a row.
    pub(crate) lanes: usize,
    /// Number of levels.
    pub(crate) levels: usize,
    /// The first entry of each row, and how many it has.
    begins: Vec<O>,
    lengths: Vec<u32>,
    /// If levels are wide.
    by_level: Option<Levels>,
}

/// Rows sorted by level.
struct Levels {
    rows: Vec<u32>,
    /// The first row of each level, and the number of rows.
    offsets: Vec<usize>,
}

impl<O: Offset> Triangle<O> {
    /// Finds the triangle of a square, canonical pattern. `lanes` returns the number of partial sums of a row from the numbers of rows and
    /// entries.
    ///
    /// # Errors
    ///
    /// The first row without an entry on the diagonal, unless that is taken to be 1.
    pub(crate) fn find(
        (row_offsets, column_indices): (&[O], &[u32]),
        (is_upper, is_unit): (bool, bool),
        lanes: impl Fn(usize, u64) -> u32,
    ) -> Result<Self, usize> {
        let rows = row_offsets.len().saturating_sub(1);
        let diagonal = |row: usize| {
            let (start, end) = (row_offsets[row].to_usize(), row_offsets[row + 1].to_usize());
            let at = start + column_indices[start..end].partition_point(|&column| (column as usize) < row);
            (at, at < end && column_indices[at] as usize == row)
        };
        let diagonals = parallel::map(rows, ROWS, diagonal);
        if !is_unit && let Some(row) = diagonals.iter().position(|&(_, is_there)| !is_there) {
            return Err(row);
        }
        let entries = |row: usize| {
            let (at, is_there) = diagonals[row];
            if is_upper {
                at + usize::from(is_there)..row_offsets[row + 1].to_usize()
            } else {
                row_offsets[row].to_usize()..at
            }
        };
        let lengths: Vec<u32> = (0..rows).map(|row| entries(row).len() as u32).collect();
        // None exceeds the number of nonzeros, which `O` counts.
        let begins = (0..rows).filter_map(|row| O::try_from_usize(entries(row).start)).collect();
        let entries = lengths.iter().map(|&len| u64::from(len)).sum();
        let lanes = lanes(rows, entries) as usize;
        let mut triangle = Self { is_upper, is_unit, lanes, levels: 0, begins, lengths, by_level: None };
        let levels = triangle.find_levels(column_indices);
        triangle.levels = levels.iter().copied().max().unwrap_or(0) as usize;
        if triangle.levels > 0 && rows / triangle.levels >= WIDE_LEVEL {
            triangle.by_level = Some(Levels::sort(&levels, triangle.levels));
        }
        Ok(triangle)
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let sorted =
            self.by_level.as_ref().map_or(0, |levels| 4 * levels.rows.len() + 8 * levels.offsets.len());
        size_of_val(&self.begins[..]) + size_of_val(&self.lengths[..]) + sorted
    }

    /// The entries of a row, the diagonal left out.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        let begin = self.begins[row].to_usize();
        begin..begin + self.lengths[row] as usize
    }

    /// The place of a row's diagonal, if there is one.
    pub(in crate::cpu) fn diagonal(&self, row: usize) -> usize {
        let entries = self.entries(row);
        if self.is_upper { entries.start - 1 } else { entries.end }
    }

    /// Returns the first row whose diagonal is zero, unless that is taken to be 1.
    pub(crate) fn zero_pivot<V: Scalar>(&self, values: &[V]) -> Option<usize> {
        if self.is_unit {
            return None;
        }
        (0..self.rows()).find(|&row| values[self.diagonal(row)] == V::ZERO)
    }

    /// The rows in an order in which each comes after those that it needs.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + use<O> {
        let (rows, is_upper) = (self.rows(), self.is_upper);
        (0..rows).map(move |at| if is_upper { rows - 1 - at } else { at })
    }

    /// The rows of each level, in order, if levels are wide.
    pub(in crate::cpu) fn wide_levels(&self) -> Option<impl Iterator<Item = &[u32]>> {
        let Levels { rows, offsets } = self.by_level.as_ref()?;
        Some(offsets.windows(2).map(|bounds| &rows[bounds[0]..bounds[1]]))
    }

    /// Returns the level of each row, from 1.
    fn find_levels(&self, column_indices: &[u32]) -> Vec<u32> {
        let mut levels = vec![0; self.rows()];
        for row in self.order() {
            let needed = column_indices[self.entries(row)].iter().map(|&column| levels[column as usize]);
            levels[row] = needed.max().unwrap_or(0) + 1;
        }
        levels
    }
}

impl Levels {
    /// Sorts rows by level, stably.
    fn sort(levels: &[u32], count: usize) -> Self {
        let mut offsets = vec![0; count + 1];
        for &level in levels {
            offsets[level as usize] += 1;
        }
        for level in 0..count {
            offsets[level + 1] += offsets[level];
        }
        let (mut places, mut rows) = (offsets.clone(), vec![0; levels.len()]);
        for (row, &level) in (0..).zip(levels) {
            let place = &mut places[level as usize - 1];
            rows[*place] = row;
            *place += 1;
        }
        Self { rows, offsets }
    }
}
