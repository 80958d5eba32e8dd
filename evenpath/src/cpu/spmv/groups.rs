//! Consecutive rows with the same columns, or with columns that move along the diagonal.
//!
//! They are common in matrices with several unknowns per node, dense parts and lattices. Only the first row's
//! column indices are read: the product reads less, and loads an element of x once for several rows, or
//! several with one load.

use super::scattered::has_scattered_columns;
use crate::Offset;

/// Treatment of rows whose columns follow from those of the previous row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpmvGroups {
    /// They are not searched: that takes as long as one or two products.
    Ignored,
    /// The columns of such rows are read once.
    Found,
    /// The columns are copied, once for all rows that share them: the other rows' columns then do not pass
    /// through the caches. Products are the same to the last bit.
    Copied,
}

/// Relation of a row's columns to those of the previous row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// They are unrelated.
    None,
    /// They are the same.
    Equal,
    /// They are the same plus one, as in a lattice.
    Shifted,
}

/// Consecutive rows of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AlikeRows {
    rows: u16,
    /// Relation of each row except the first to the previous row.
    pub(super) relation: Relation,
}

/// Minimum number of shifted rows in a group: fewer are not worth a transposition.
const LEAST_SHIFTED: u16 = 16;
/// Sampling interval for deciding if groups pay off: not a divisor of block sizes.
const SAMPLED: usize = 17;
/// Number of columns after a row's last that a vector load may read.
const PADDING: usize = 3;
/// Number of rows that may use the same lines of x if columns count as scattered.
const SHARED_LINES: usize = 2;
/// Minimum percentage of sampled rows that follow from the previous one for groups to be formed.
const RELATED_PERCENT: usize = 30;

impl AlikeRows {
    pub(super) fn rows(self) -> usize {
        self.rows.into()
    }

    /// Returns whether the rows are shifted, but too few.
    fn is_short(self) -> bool {
        self.relation == Relation::Shifted && self.rows < LEAST_SHIFTED
    }
}

/// Rows of a tile in groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupedRows {
    pub(super) groups: Vec<AlikeRows>,
    /// Columns of each group of equal rows once, one group after another, and `PADDING` more; empty if they
    /// are not copied.
    pub(super) columns: Vec<u32>,
    /// True if elements of x are prefetched.
    pub(super) are_scattered: bool,
}

impl GroupedRows {
    /// Finds the groups of a tile's rows, if they pay off. The first row starts at the nonzero `start`;
    /// `columns` has their columns, and possibly those of a part of the row after them.
    pub(super) fn find<O: Offset>(start: usize, ends: &[O], columns: &[u32], copies: bool) -> Option<Self> {
        let end = |row: usize| ends[row].to_usize() - start;
        let (mut all, mut related) = (0, 0);
        for row in (1..ends.len()).step_by(SAMPLED) {
            let before = if row == 1 { 0 } else { end(row - 2) };
            let (before, columns) = (&columns[before..end(row - 1)], &columns[end(row - 1)..end(row)]);
            all += columns.len();
            related += if Relation::of(before, columns) == Relation::None { 0 } else { columns.len() };
        }
        (related * 100 > all * RELATED_PERCENT).then(|| Self::all(start, ends, columns, copies))
    }

    /// Finds the groups of all rows, even if they do not pay off.
    pub(super) fn all<O: Offset>(start: usize, ends: &[O], columns: &[u32], copies: bool) -> Self {
        let groups = groups(start, ends, columns);
        let copied = if copies { equal_columns(&groups, start, ends, columns) } else { Vec::new() };
        let are_scattered = has_scattered_columns(ends.len(), columns, SHARED_LINES);
        Self { groups, columns: copied, are_scattered }
    }

    /// Returns whether the columns of most rows are those of the row before, plus one.
    pub(super) fn are_shifted(&self) -> bool {
        let (mut all, mut shifted) = (0, 0);
        for group in &self.groups {
            all += group.rows();
            shifted += if group.relation == Relation::Shifted { group.rows() } else { 0 };
        }
        shifted * 2 > all
    }

    /// Number of bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.groups.as_slice()) + size_of_val(self.columns.as_slice())
    }
}

fn groups<O: Offset>(start: usize, ends: &[O], columns: &[u32]) -> Vec<AlikeRows> {
    let Some((first, ends)) = ends.split_first() else { return Vec::new() };
    let mut groups = Groups { closed: Vec::new(), open: AlikeRows { rows: 1, relation: Relation::None } };
    let mut end = first.to_usize() - start;
    let mut before = &columns[..end];
    for next in ends {
        let row = &columns[end..next.to_usize() - start];
        groups.add(Relation::of(before, row));
        end += row.len();
        before = row;
    }
    groups.close();
    groups.closed
}

/// Computes [`GroupedRows::columns`].
fn equal_columns<O: Offset>(groups: &[AlikeRows], start: usize, ends: &[O], columns: &[u32]) -> Vec<u32> {
    let (mut equal, mut row, mut at) = (Vec::new(), 0, 0);
    for group in groups {
        if group.relation == Relation::Equal {
            equal.extend_from_slice(&columns[at..ends[row].to_usize() - start]);
        }
        row += group.rows();
        at = ends[row - 1].to_usize() - start;
    }
    if !equal.is_empty() {
        equal.extend([0; PADDING]);
    }
    equal
}

impl Relation {
    /// Relation of a row with these columns to the previous one.
    #[inline]
    fn of(before: &[u32], columns: &[u32]) -> Self {
        if before.len() != columns.len() {
            return Self::None;
        }
        let Some((first, first_before)) = columns.first().zip(before.first()) else { return Self::Equal };
        let shift = first.wrapping_sub(*first_before);
        if shift > 1 {
            return Self::None;
        }
        // Without an early exit, so that the loop is compiled to vectors.
        let differs = |differs, (column, before): (&u32, &u32)| {
            differs | (column.wrapping_sub(*before) ^ shift) | u32::from(column < before)
        };
        match (columns.iter().zip(before).fold(0, differs), shift) {
            (0, 0) => Self::Equal,
            (0, _) => Self::Shifted,
            _ => Self::None,
        }
    }
}

/// Groups under construction.
struct Groups {
    closed: Vec<AlikeRows>,
    /// The last group. A single row has no relation yet.
    open: AlikeRows,
}

impl Groups {
    /// Adds a row by its relation to the previous one.
    #[inline]
    fn add(&mut self, relation: Relation) {
        let open = &mut self.open;
        if open.rows > 1 && open.relation == relation {
            open.rows += 1;
            return;
        }
        let is_over = open.rows > 1 && !open.is_short();
        // The last of too few shifted rows may start a group of another relation.
        let rest = u16::from(!is_over && relation != Relation::None);
        open.rows -= rest;
        self.close();
        self.open.rows += rest;
        if rest > 0 {
            self.open.relation = relation;
        }
    }

    /// Ends the open group; the next one starts with one row.
    fn close(&mut self) {
        let mut group = std::mem::replace(&mut self.open, AlikeRows { rows: 1, relation: Relation::None });
        if group.is_short() {
            group.relation = Relation::None;
        }
        match self.closed.last_mut() {
            Some(last) if group.relation == Relation::None && last.relation == Relation::None => {
                // A tile has fewer rows than a `u16` can count.
                last.rows += group.rows;
            }
            _ if group.rows > 0 => self.closed.push(group),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(rows: &[&[u32]]) -> Vec<(usize, Relation)> {
        let mut end = 10;
        let ends: Vec<u32> = rows
            .iter()
            .map(|row| {
                end += row.len() as u32;
                end
            })
            .collect();
        let groups = GroupedRows::all(10, &ends, &rows.concat(), false);
        groups.groups.iter().map(|group| (group.rows(), group.relation)).collect()
    }

    #[test]
    fn rows_are_grouped_by_their_relation() {
        use Relation::{Equal, None, Shifted};
        assert_eq!(groups(&[]), []);
        assert_eq!(groups(&[&[3, 4]]), [(1, None)]);
        assert_eq!(groups(&[&[3, 4], &[3, 4], &[3, 5], &[3], &[], &[]]), [(2, Equal), (2, None), (2, Equal)]);
        let lattice: Vec<[u32; 2]> = (0..20).map(|row| [row, row + 4]).collect();
        let mut lattice: Vec<&[u32]> = lattice.iter().map(|row| &row[..]).collect();
        assert_eq!(groups(&lattice), [(20, Shifted)]);
        let least = usize::from(LEAST_SHIFTED);
        assert_eq!(groups(&lattice[..least]), [(least, Shifted)]);
        assert_eq!(groups(&lattice[..least - 1]), [(least - 1, None)]);
        // Too few shifted rows, the last of which begins a group.
        lattice.truncate(5);
        lattice.push(lattice[4]);
        assert_eq!(groups(&lattice), [(4, None), (2, Equal)]);
    }

    #[test]
    fn columns_that_wrap_around_are_not_shifted() {
        let rows: Vec<[u32; 1]> = (0..40_u32).map(|row| [row.wrapping_sub(20)]).collect();
        let rows: Vec<&[u32]> = rows.iter().map(|row| &row[..]).collect();
        assert_eq!(groups(&rows), [(20, Relation::Shifted), (20, Relation::Shifted)]);
    }

    #[test]
    fn groups_are_formed_if_many_rows_are_related() {
        let blocks: Vec<u32> = (0..900).flat_map(|row| (0..10).map(move |at| row / 3 * 7 + at * 5)).collect();
        let ends: Vec<u32> = (1..=900).map(|row| row * 10).collect();
        assert_eq!(GroupedRows::find(0, &ends, &blocks, false).map(|rows| rows.groups.len()), Some(300));
        let scattered: Vec<u32> = (0..9000).map(|at| at * 7919 % 5003).collect();
        assert_eq!(GroupedRows::find(0, &ends, &scattered, true), None);
        assert_eq!(GroupedRows::find::<u32>(0, &[], &[], true), None);
        assert_eq!(GroupedRows::find::<u32>(0, &[0; 50], &[], true), None);
    }

    #[test]
    fn columns_of_equal_rows_are_copied_once() {
        let columns = |rows: &[&[u32]], copies| {
            let ends: Vec<u64> = rows
                .iter()
                .scan(7, |end, row| {
                    *end += row.len() as u64;
                    Some(*end)
                })
                .collect();
            GroupedRows::all(7, &ends, &rows.concat(), copies).columns
        };
        let rows: [&[u32]; 7] = [&[1], &[2, 5], &[2, 5], &[2, 5], &[4], &[9], &[9]];
        assert_eq!(columns(&rows, true), [2, 5, 9, 0, 0, 0]);
        assert_eq!(columns(&rows, false), []);
        assert_eq!(columns(&rows[..2], true), []);
        assert_eq!(columns(&[&[], &[]], true), []);
    }
}
