//! Partitions, halos, messages and bytes of y = Ax over ranks, from the pattern alone.

use evenpath::{Csr, Offset, Storage, Value};
use evenpath_distributed::{DistributedCsr, RowPartition};

/// A matrix's pattern, row by row.
pub(crate) trait Rows {
    /// Rows.
    fn nrows(&self) -> u64;

    /// Columns.
    fn ncols(&self) -> u64;

    /// Replaces `columns` by those of a row.
    fn columns(&self, row: u64, columns: &mut Vec<u64>);
}

impl<V: Storage, O: Offset> Rows for Csr<V, O> {
    fn nrows(&self) -> u64 {
        self.nrows() as u64
    }

    fn ncols(&self) -> u64 {
        self.ncols() as u64
    }

    fn columns(&self, row: u64, columns: &mut Vec<u64>) {
        columns.clear();
        let row = self.row(row as usize);
        let own = row.as_ref().map_or(&[][..], evenpath::csr::Row::columns);
        columns.extend(own.iter().map(|&column| u64::from(column)));
    }
}

/// Elements that one rank has and exchanges for one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RankVolume {
    pub(crate) rows: u64,
    /// Its columns: elements of x.
    pub(crate) cols: u64,
    /// Nonzeros in its own columns.
    pub(crate) local_nonzeros: u64,
    /// Nonzeros in columns of others.
    pub(crate) non_local_nonzeros: u64,
    /// Rows that have such.
    pub(crate) boundary_rows: u64,
    /// Elements of x that it needs of others, its halo.
    pub(crate) received: u64,
    /// Ranks that these come from.
    pub(crate) sources: u64,
    /// Elements of x that others need of it, counted once for each rank.
    pub(crate) sent: u64,
    /// Ranks that these go to.
    pub(crate) destinations: u64,
}

impl RankVolume {
    /// Counts the elements of a rank that has its part of the matrix.
    pub(crate) fn of<V: Value>(a: &DistributedCsr<V>) -> Self {
        let rank = a.rank();
        let counts = |count: &dyn Fn(usize) -> usize| {
            let counts = (0..rank.size()).map(count);
            counts.fold((0, 0), |(sum, others), count| (sum + count as u64, others + u64::from(count > 0)))
        };
        let (sent, destinations) = counts(&|other| a.halo().sent_to(other));
        let (received, sources) = counts(&|other| a.halo().received_from(other));
        Self {
            rows: a.row_partition().len(rank.index()),
            cols: a.col_partition().len(rank.index()),
            local_nonzeros: a.local().nnz() as u64,
            non_local_nonzeros: a.non_local().nnz() as u64,
            boundary_rows: a.non_local().nrows() as u64,
            received,
            sources,
            sent,
            destinations,
        }
    }
}

/// Elements that all ranks have and exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volumes {
    /// The elements of each rank.
    pub(crate) ranks: Vec<RankVolume>,
}

impl Volumes {
    /// Counts the elements of a matrix whose rows are cut by a merge path. Columns of square matrices are divided like rows, those of
    /// others evenly.
    /// `row_offsets` are the matrix's. Takes 4 bytes of memory per column.
    ///
    /// # Panics
    ///
    /// If the ranks cannot be given rows.
    pub(crate) fn new(matrix: &impl Rows, row_offsets: &[u64], ranks: usize) -> Self {
        let rows = RowPartition::by_merge_path(row_offsets, ranks).expect("memory for a number of each rank");
        let cols = if matrix.nrows() == matrix.ncols() {
            rows.clone()
        } else {
            RowPartition::even(matrix.ncols(), ranks).expect("memory for a number of each rank")
        };
        let mut volumes = vec![RankVolume::default(); ranks];
        // The last rank that was seen to need a column; ranks count from 1.
        let mut seen = vec![0_u32; matrix.ncols() as usize];
        let mut from = vec![0_u64; ranks];
        let mut columns = Vec::new();
        for rank in 0..ranks {
            let own = cols.range(rank);
            let mut volume = RankVolume { rows: rows.len(rank), cols: cols.len(rank), ..volumes[rank] };
            from.fill(0);
            for row in rows.range(rank) {
                matrix.columns(row, &mut columns);
                let others = columns.iter().copied().filter(|column| !own.contains(column));
                let mut count = 0;
                for column in others {
                    count += 1;
                    let seen = &mut seen[column as usize];
                    if *seen != rank as u32 + 1 {
                        *seen = rank as u32 + 1;
                        from[cols.owner(column)] += 1;
                    }
                }
                volume.local_nonzeros += columns.len() as u64 - count;
                volume.non_local_nonzeros += count;
                volume.boundary_rows += u64::from(count > 0);
            }
            volume.received = from.iter().sum();
            volume.sources = from.iter().filter(|&&count| count > 0).count() as u64;
            volumes[rank] = volume;
            for (source, &count) in from.iter().enumerate() {
                volumes[source].sent += count;
                volumes[source].destinations += u64::from(count > 0);
            }
        }
        Self { ranks: volumes }
    }

    /// Messages of one product, from all ranks.
    pub(crate) fn messages(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.sources).sum()
    }

    /// Elements that all ranks send.
    pub(crate) fn elements(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.received).sum()
    }

    /// The largest value of any rank.
    pub(crate) fn most(&self, value: impl Fn(&RankVolume) -> u64) -> u64 {
        self.ranks.iter().map(value).max().unwrap_or(0)
    }

    /// Rows and nonzeros of the rank with the most of both, over the mean.
    pub(crate) fn imbalance(&self) -> f64 {
        let work = |rank: &RankVolume| rank.rows + rank.local_nonzeros + rank.non_local_nonzeros;
        let total: u64 = self.ranks.iter().map(work).sum();
        self.most(work) as f64 * self.ranks.len() as f64 / total.max(1) as f64
    }
}

/// Returns the offset of each row.
pub(crate) fn row_offsets(matrix: &impl Rows) -> Vec<u64> {
    let mut columns = Vec::new();
    let mut offsets = vec![0];
    let mut end = 0;
    for row in 0..matrix.nrows() {
        matrix.columns(row, &mut columns);
        end += columns.len() as u64;
        offsets.push(end);
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Problem;
    use evenpath::Device;
    use evenpath::generate::generate;
    use evenpath_distributed::{Cluster, Error};

    /// Computed volumes are those of ranks that run.
    #[test]
    fn volumes_are_those_of_a_cluster() {
        for name in ["stencil5:20", "rmat:8", "uniform:300", "dense:20x35", "empty-rows:401"] {
            let a: Csr<f64> = generate(name.parse().unwrap(), 1).unwrap();
            for ranks in [1, 2, 5, 8] {
                let volumes = Volumes::new(&a, &row_offsets(&a), ranks);
                let mut cluster = Cluster::local(vec![Device::cpu(); ranks]).unwrap();
                let found = cluster
                    .run(|rank| Ok::<_, Error>(RankVolume::of(&DistributedCsr::scatter(rank, 0, Some(&a))?)));
                assert_eq!(volumes.ranks, found.unwrap(), "{name} on {ranks} ranks");
                assert!(volumes.imbalance() >= 1.0);
            }
        }
    }

    #[test]
    fn rows_of_generators_are_those_of_the_matrix() {
        let grid: Problem = "stencil5:10".parse().unwrap();
        let volumes = Volumes::new(&grid, &row_offsets(&grid), 2);
        assert_eq!((volumes.messages(), volumes.elements()), (2, 20));
        assert_eq!(volumes.most(|rank| rank.boundary_rows), 10);
    }
}
