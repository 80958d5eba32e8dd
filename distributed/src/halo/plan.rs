//! Communication pattern of a product: the elements sent to and received from each rank.

use std::ops::Range;

use crate::error::Result;
use crate::rows::{by_owner, check_owned};
use crate::{Rank, RowPartition};

/// The elements of a vector that a rank needs from others for its rows of a matrix, and its own that others
/// need.
///
/// Ranks that need nothing from each other exchange no messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halo {
    /// Columns that this rank needs from others, ascending: global numbers.
    columns: Vec<u64>,
    /// Start of each rank's columns in `columns`; one more than ranks.
    receive_offsets: Vec<usize>,
    /// Elements of this rank that others need, rank by rank: positions in its part of a vector.
    send_positions: Vec<u32>,
    /// Start of each rank's positions in `send_positions`; one more than ranks.
    send_offsets: Vec<usize>,
}

impl Halo {
    /// Creates the halo of ascending columns, none of which is the rank's own. A collective operation.
    pub(crate) fn new(rank: &Rank, partition: &RowPartition, columns: Vec<u64>) -> Result<Self> {
        let requests = by_owner(partition, &columns);
        let requested = rank.all_to_all(&requests)?;
        let own = check_owned(rank, partition, requested.iter().map(Vec::as_slice))?;
        let mut send_positions = Vec::new();
        for &column in requested.iter().flatten() {
            // A device's matrix has fewer than 2³² columns.
            send_positions.push((column - own.start) as u32);
        }
        let (receive_offsets, send_offsets) = (offsets(&requests), offsets(&requested));
        Ok(Self { columns, receive_offsets, send_positions, send_offsets })
    }

    /// The columns that this rank needs from others, ascending.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// Number of elements that come from a rank; 0 if `rank` is out of range.
    pub fn received_from(&self, rank: usize) -> usize {
        range(&self.receive_offsets, rank).len()
    }

    /// Number of elements that go to a rank; 0 if `rank` is out of range.
    pub fn sent_to(&self, rank: usize) -> usize {
        range(&self.send_offsets, rank).len()
    }

    pub(super) fn receive_range(&self, rank: usize) -> Range<usize> {
        range(&self.receive_offsets, rank)
    }

    pub(super) fn send_range(&self, rank: usize) -> Range<usize> {
        range(&self.send_offsets, rank)
    }

    pub(super) fn send_positions(&self) -> &[u32] {
        &self.send_positions
    }
}

fn offsets(lists: &[Vec<u64>]) -> Vec<usize> {
    let mut offsets = vec![0];
    for list in lists {
        offsets.push(offsets[offsets.len() - 1] + list.len());
    }
    offsets
}

fn range(offsets: &[usize], rank: usize) -> Range<usize> {
    match offsets.get(rank..rank.saturating_add(2)) {
        Some(&[start, end]) => start..end,
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;
    use crate::error::{Cause, Failure};
    use crate::{Cluster, Error};

    /// The partition of rank 1 differs: it requests column 4 from rank 0, which does not own it.
    #[test]
    fn a_request_for_elements_of_another_rank_names_who_sent_it() {
        let mut cluster = Cluster::local([Device::cpu(), Device::cpu()]).unwrap();
        let results = cluster.run_each(|rank| {
            let partition = RowPartition::from_boundaries(vec![0, 4 + rank.index() as u64, 8])?;
            let columns = if rank.index() == 1 { vec![4] } else { vec![] };
            Halo::new(rank, &partition, columns)?;
            rank.barrier()
        });
        for result in results {
            let Err(Error::Failed(Failure { rank: 1, cause: Cause::Protocol(reason) })) = result else {
                panic!("{result:?}")
            };
            assert_eq!(reason, "row or column 4 is outside 0..4, the range of rank 0");
        }
    }
}
