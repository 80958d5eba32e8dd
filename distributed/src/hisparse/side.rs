//! Numbering of the rows, or the columns, of a rank's subtrees on its device.

use std::sync::Arc;

use evenpath::csr::MAX_DIMENSION;
use evenpath::vector::Positions;

use crate::error::{Error, Result};
use crate::halo::{Halo, expand};
use crate::memory::{filled, reserved};
use crate::{Rank, RowPartition};

/// Rows, or columns, in which a rank has entries, with all others of the same strips: D consecutive ones that
/// a leaf covers. Strips are numbered without gaps, so that leaves are the same as in the tree of the whole
/// matrix.
#[derive(Debug)]
pub(crate) struct Strips<const D: usize> {
    /// Global numbers of the strips, ascending.
    strips: Vec<u64>,
    /// Global numbers of the rows with entries, ascending.
    indices: Vec<u64>,
}

impl<const D: usize> Strips<D> {
    /// Creates the strips of ascending rows with entries.
    fn new(indices: Vec<u64>) -> Self {
        let mut strips: Vec<u64> = indices.iter().map(|index| index / D as u64).collect();
        strips.dedup();
        Self { strips, indices }
    }

    /// Number of rows in the device's tree, including those without entries.
    pub(crate) fn len(&self) -> usize {
        self.strips.len() * D
    }

    /// Creates the strips of rows with entries, in any order and with duplicates.
    pub(crate) fn of(indices: Vec<u64>) -> Result<Self> {
        let strips = Self::new(sorted(indices));
        check_len(strips.len())?;
        Ok(strips)
    }

    /// Returns whether rows with entries have the same tree rows as in other strips.
    pub(super) fn are_numbered_like(&self, other: &Self) -> bool {
        self.strips == other.strips
    }

    /// Global numbers of the rows with entries, ascending.
    pub(crate) fn indices(&self) -> &[u64] {
        &self.indices
    }

    /// Tree row of a global row with entries.
    pub(crate) fn place(&self, index: u64) -> u32 {
        let strip = self.strips.partition_point(|&strip| strip < index / D as u64);
        (strip * D + (index % D as u64) as usize) as u32
    }

    /// Global row of a tree row.
    pub(crate) fn index(&self, place: usize) -> u64 {
        self.strips[place / D] * D as u64 + (place % D) as u64
    }

    fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.indices.iter().map(|&index| self.place(index))
    }

    /// Position in a vector of the element for every tree row, given that of each row with entries. Rows
    /// without entries, whose elements do not matter, use the element of the previous row with entries in
    /// their strip, or the first.
    fn sources(&self, position: impl Fn(usize, u64) -> u32) -> Result<Vec<u32>> {
        let mut sources = reserved(self.len())?;
        let mut at = 0;
        for &strip in &self.strips {
            let mut source = position(at, self.indices[at]);
            for index in 0..D as u64 {
                if self.indices.get(at) == Some(&(strip * D as u64 + index)) {
                    source = position(at, self.indices[at]);
                    at += 1;
                }
                sources.push(source);
            }
        }
        Ok(sources)
    }
}

/// Sorts indices and removes duplicates.
fn sorted(mut indices: Vec<u64>) -> Vec<u64> {
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Returns an error if the trees of a rank have too many rows, or columns.
fn check_len(len: usize) -> Result<()> {
    let (found, limit) = (len as u64, MAX_DIMENSION as u64);
    if found > limit {
        return Err(Error::TooLarge { what: "rows or columns of subtrees", found, limit });
    }
    Ok(())
}

/// Rows, or columns, of a rank's subtrees: those whose elements of a vector this rank owns, and those that
/// others own.
#[derive(Debug)]
pub(crate) struct Side<const D: usize> {
    pub(crate) own: Strips<D>,
    pub(crate) others: Strips<D>,
    /// Halo of those that others own.
    pub(crate) halo: Arc<Halo>,
    /// First element on this rank, and the number of elements.
    first: u64,
    vector_len: usize,
}

impl<const D: usize> Side<D> {
    /// Creates the numbering of rows with entries, in any order and with duplicates, for the partition of
    /// vectors. A collective operation.
    pub(super) fn new(rank: &Rank, partition: &RowPartition, indices: Vec<u64>) -> Result<Self> {
        let range = partition.range(rank.index());
        let (own, others) = sorted(indices).into_iter().partition(|index| range.contains(index));
        let (own, others): (Strips<D>, Strips<D>) = (Strips::new(own), Strips::new(others));
        check_len(own.len() + others.len())?;
        let halo = Arc::new(Halo::new(rank, partition, others.indices.clone())?);
        let vector_len = (range.end - range.start) as usize;
        Ok(Self { own, others, halo, first: range.start, vector_len })
    }

    /// Number of tree rows: those of this rank's strips, then those of others.
    pub(crate) fn len(&self) -> usize {
        self.own.len() + self.others.len()
    }

    /// Number of vector elements on this rank.
    pub(crate) fn vector_len(&self) -> usize {
        self.vector_len
    }

    /// Tree row of a global row with entries.
    pub(super) fn place(&self, index: u64) -> u32 {
        if self.is_own(index) {
            self.own.place(index)
        } else {
            self.own.len() as u32 + self.others.place(index)
        }
    }

    /// Global row of a tree row.
    pub(super) fn index(&self, place: usize) -> u64 {
        match place.checked_sub(self.own.len()) {
            None => self.own.index(place),
            Some(place) => self.others.index(place),
        }
    }

    /// Returns whether an element is on this rank.
    pub(super) fn is_own(&self, index: u64) -> bool {
        index.checked_sub(self.first).is_some_and(|at| at < self.vector_len as u64)
    }

    /// Gathers the rank's elements, of `width` numbers each, for its own rows.
    pub(crate) fn gather_own(&self, rank: &Rank, width: usize) -> Result<Positions> {
        // A device's vector has fewer than 2³² elements if a tree needs any.
        let sources = self.own.sources(|_, index| (index - self.first) as u32)?;
        positions(rank, &sources, self.vector_len, width)
    }

    /// Gathers the elements received from others for their rows.
    pub(crate) fn gather_others(&self, rank: &Rank, width: usize) -> Result<Positions> {
        let sources = self.others.sources(|at, _| at as u32)?;
        positions(rank, &sources, self.halo.columns().len(), width)
    }

    /// Gathers an element for each of the rank's: that of its row if the row has entries, otherwise the zero
    /// that follows the rows of others.
    pub(crate) fn spread(&self, rank: &Rank, width: usize) -> Result<Positions> {
        let zero = self.len();
        let mut sources = filled(&(zero as u32), self.vector_len)?;
        for (&index, place) in self.own.indices.iter().zip(self.own.places()) {
            sources[(index - self.first) as usize] = place;
        }
        positions(rank, &sources, zero + 1, width)
    }

    /// Gathers an element for each that is sent to others: that of its row, from the same elements as
    /// [`spread`](Self::spread).
    pub(crate) fn gather_contributions(&self, rank: &Rank, width: usize) -> Result<Positions> {
        let places: Vec<u32> = self.others.places().map(|place| self.own.len() as u32 + place).collect();
        positions(rank, &places, self.len() + 1, width)
    }
}

/// Positions on a rank's device in a vector of `len` elements of `width` numbers each.
fn positions(rank: &Rank, elements: &[u32], len: usize, width: usize) -> Result<Positions> {
    Ok(Positions::new(rank.device(), &expand(elements, width)?, len.saturating_mul(width))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_are_numbered_without_gaps() {
        let strips: Strips<32> = Strips::new(vec![3, 31, 64, 65, 1 << 40]);
        assert_eq!((strips.strips.as_slice(), strips.len()), (&[0, 2, 1 << 35][..], 96));
        assert_eq!(strips.places().collect::<Vec<_>>(), [3, 31, 32, 33, 64]);
        for &index in &strips.indices {
            assert_eq!(strips.index(strips.place(index) as usize), index);
        }
        let sources = strips.sources(|at, _| at as u32 + 10).unwrap();
        assert_eq!(sources.len(), 96);
        assert_eq!((sources[0], sources[3], sources[30], sources[31]), (10, 10, 10, 11));
        assert_eq!((sources[32], sources[33], sources[63], sources[64]), (12, 13, 13, 14));
    }
}
