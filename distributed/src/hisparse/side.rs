//! Numbering of the rows, or the columns, of a rank's subtrees on its device.

use std::sync::Arc;

use evenpath::csr::MAX_DIMENSION;
use evenpath::vector::Positions;

use crate::error::{Error, Result};
use crate::halo::Halo;
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

    /// Tree row of a global row with entries.
    pub(super) fn place(&self, index: u64) -> u32 {
        let strip = self.strips.partition_point(|&strip| strip < index / D as u64);
        (strip * D + (index % D as u64) as usize) as u32
    }

    /// Global row of a tree row.
    pub(super) fn index(&self, place: usize) -> u64 {
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
    len: usize,
}

impl<const D: usize> Side<D> {
    /// Creates the numbering of rows with entries, in any order and with duplicates, for the partition of
    /// vectors. A collective operation.
    pub(super) fn new(rank: &Rank, partition: &RowPartition, indices: &[u64]) -> Result<Self> {
        let mut indices = indices.to_vec();
        indices.sort_unstable();
        indices.dedup();
        let range = partition.range(rank.index());
        let (own, others) = indices.into_iter().partition(|index| range.contains(index));
        let (own, others): (Strips<D>, Strips<D>) = (Strips::new(own), Strips::new(others));
        let (found, limit) = ((own.len() + others.len()) as u64, MAX_DIMENSION as u64);
        if found > limit {
            return Err(Error::TooLarge { what: "rows or columns of subtrees", found, limit });
        }
        let halo = Arc::new(Halo::new(rank, partition, others.indices.clone())?);
        let len = (range.end - range.start) as usize;
        Ok(Self { own, others, halo, first: range.start, len })
    }

    /// Number of vector elements on this rank.
    pub(crate) fn vector_len(&self) -> usize {
        self.len
    }

    /// Returns whether an element is on this rank.
    pub(super) fn is_own(&self, index: u64) -> bool {
        index.checked_sub(self.first).is_some_and(|at| at < self.len as u64)
    }

    /// Gathers the rank's elements for its own rows.
    pub(crate) fn gather_own(&self, rank: &Rank) -> Result<Positions> {
        // A device's vector has fewer than 2³² elements if a tree needs any.
        let sources = self.own.sources(|_, index| (index - self.first) as u32)?;
        Ok(Positions::new(rank.device(), &sources, self.len)?)
    }

    /// Gathers the elements received from others for their rows.
    pub(crate) fn gather_others(&self, rank: &Rank) -> Result<Positions> {
        let sources = self.others.sources(|at, _| at as u32)?;
        Ok(Positions::new(rank.device(), &sources, self.halo.columns().len())?)
    }

    /// Gathers an element for each of the rank's: that of its row if the row has entries, otherwise the zero
    /// that follows the rows of others.
    pub(crate) fn spread(&self, rank: &Rank) -> Result<Positions> {
        let zero = self.own.len() + self.others.len();
        let mut sources = filled(&(zero as u32), self.len)?;
        for (&index, place) in self.own.indices.iter().zip(self.own.places()) {
            sources[(index - self.first) as usize] = place;
        }
        Ok(Positions::new(rank.device(), &sources, zero + 1)?)
    }

    /// Gathers an element for each that is sent to others: that of its row, from the same elements as
    /// [`spread`](Self::spread).
    pub(crate) fn gather_contributions(&self, rank: &Rank) -> Result<Positions> {
        let places: Vec<u32> = self.others.places().map(|place| self.own.len() as u32 + place).collect();
        Ok(Positions::new(rank.device(), &places, self.own.len() + self.others.len() + 1)?)
    }
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
