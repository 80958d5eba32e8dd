//! Distributed vectors.

use std::fmt;
use std::sync::Arc;

use evenpath::{DeviceSlice, DeviceVec, Factor, Value, vector};

use crate::error::{Error, Result};
use crate::memory::zeros;
use crate::rows::{RowBlock, redistribute};
use crate::{Rank, RowPartition, parallel};

/// A vector over ranks. Each rank has a part on its device.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, DistributedVec, Error, RowPartition};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let dots = cluster.run(|rank| {
///     let partition = RowPartition::even(5, rank.size())?;
///     let x = DistributedVec::from_fn(rank, &partition, |index| index as f64)?;
///     let ones = DistributedVec::from_fn(rank, &partition, |_| 1.0)?;
///     x.dot(&ones)
/// })?;
/// assert_eq!(dots, [10.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
pub struct DistributedVec<V: Value> {
    rank: Rank,
    partition: Arc<RowPartition>,
    local: DeviceVec<V>,
}

impl<V: Value> DistributedVec<V> {
    /// Creates a vector of zeros.
    ///
    /// # Errors
    ///
    /// If the partition has a different number of ranks, or there is too little memory.
    pub fn zeros(rank: &Rank, partition: &RowPartition) -> Result<Self> {
        let len = local_len(rank, partition)?;
        Ok(Self::from_parts(rank, partition, rank.device().zeros(len)?))
    }

    /// Creates a vector with `value(i)` as element `i`; each rank computes its own, on the threads of rayon.
    ///
    /// # Errors
    ///
    /// The same as for [`zeros`](Self::zeros).
    pub fn from_fn(rank: &Rank, partition: &RowPartition, value: impl Fn(u64) -> V + Sync) -> Result<Self> {
        let (len, first) = (local_len(rank, partition)?, partition.range(rank.index()).start);
        let mut values: Vec<V> = zeros(len)?;
        parallel::fill(&mut values, |at| value(first + at as u64));
        Self::from_local(rank, partition, &values)
    }

    /// Creates a vector from each rank's part in host memory.
    ///
    /// # Errors
    ///
    /// If the part's length is not that of the rank's range; also the errors of [`zeros`](Self::zeros).
    pub fn from_local(rank: &Rank, partition: &RowPartition, values: &[V]) -> Result<Self> {
        check_len(local_len(rank, partition)?, values.len())?;
        Ok(Self::from_parts(rank, partition, rank.device().upload(values)?))
    }

    /// Creates a vector from each rank's part in its device's memory.
    ///
    /// # Errors
    ///
    /// If the part's length is not that of the rank's range, or it is on another device.
    pub fn from_device(rank: &Rank, partition: &RowPartition, local: DeviceVec<V>) -> Result<Self> {
        check_len(local_len(rank, partition)?, local.len())?;
        rank.check_device(local.device())?;
        Ok(Self::from_parts(rank, partition, local))
    }

    /// Distributes a vector of rank `root`; those of the others are ignored. A collective operation.
    ///
    /// # Errors
    ///
    /// If the root's vector does not have the partition's length; also the errors of [`zeros`](Self::zeros).
    pub fn scatter(rank: &Rank, partition: &RowPartition, root: usize, values: &[V]) -> Result<Self> {
        let all = RowPartition::all_on(root, partition.nrows(), rank.size())?;
        let own = if rank.index() == root { values } else { &[] };
        check_len(all.len(rank.index()) as usize, own.len())?;
        let part = redistribute(rank, &column(own), &all, partition)?;
        Self::from_local(rank, partition, part.values())
    }

    fn from_parts(rank: &Rank, partition: &RowPartition, local: DeviceVec<V>) -> Self {
        Self { rank: rank.clone(), partition: Arc::new(partition.clone()), local }
    }

    /// The rank that owns this part.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Partition of the elements.
    pub fn partition(&self) -> &RowPartition {
        &self.partition
    }

    /// Number of elements, on all ranks.
    pub fn len(&self) -> u64 {
        self.partition.nrows()
    }

    /// Returns whether no rank has elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// This rank's elements.
    pub fn local(&self) -> &DeviceSlice<V> {
        &self.local
    }

    /// This rank's elements, mutably.
    pub fn local_mut(&mut self) -> &mut DeviceSlice<V> {
        &mut self.local
    }

    /// Computes self = `alpha`·`x` + `beta`·self. If `beta` is zero, self is overwritten without being read.
    ///
    /// # Errors
    ///
    /// If the vectors have different partitions, or a factor is not one element on the rank's device; then
    /// nothing is written. If the device was lost.
    pub fn axpby<'f>(
        &mut self,
        alpha: impl Into<Factor<'f, V>>,
        x: &Self,
        beta: impl Into<Factor<'f, V>>,
    ) -> Result<()> {
        self.check_like("x", x)?;
        Ok(vector::axpby(alpha, &x.local, beta, &mut self.local)?)
    }

    /// Copies `x` to self.
    ///
    /// # Errors
    ///
    /// If the vectors have different partitions; then nothing is written. If the device was lost.
    pub fn copy_from(&mut self, x: &Self) -> Result<()> {
        self.check_like("x", x)?;
        Ok(self.local.copy_from(&x.local)?)
    }

    /// Computes self = `x` ∘ `y`, the elementwise product.
    ///
    /// # Errors
    ///
    /// If the vectors have different partitions; then nothing is written. If the device was lost.
    pub fn multiply_elements(&mut self, x: &Self, y: &Self) -> Result<()> {
        self.check_like("x", x)?;
        self.check_like("y", y)?;
        Ok(vector::multiply_elements(&x.local, &y.local, &mut self.local)?)
    }

    /// Returns the inner product on all ranks. The ranks' sums are added in the order of the ranks, so it is
    /// the same in every run with the same partition and devices. A collective operation.
    ///
    /// # Errors
    ///
    /// If the vectors have different partitions, or a rank failed.
    pub fn dot(&self, other: &Self) -> Result<V> {
        self.check_like("the other vector", other)?;
        self.rank.sum(vector::dot(&self.local, &other.local)?)
    }

    /// Returns the Euclidean norm on all ranks, reproducible like [`dot`](Self::dot). Its squares neither
    /// overflow nor underflow, as in [`vector::norm2`]. A collective operation.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn norm2(&self) -> Result<V> {
        let parts = self.rank.all_gather(&[vector::norm2(&self.local)?.to_f64()])?;
        Ok(V::from_f64(norm_of(parts.iter().flatten().copied())))
    }

    /// Returns all elements on rank `root`, `None` on the others. A collective operation.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, the host has too little memory, or a rank failed.
    pub fn gather(&self, root: usize) -> Result<Option<Vec<V>>> {
        Ok(self.rank.gather(root, &self.local.download()?)?.map(|parts| parts.concat()))
    }

    /// Returns the same vector with another partition. A collective operation.
    ///
    /// # Errors
    ///
    /// If the partition has a different number of ranks or elements, there is too little memory, or a rank
    /// failed.
    pub fn repartition(&self, partition: &RowPartition) -> Result<Self> {
        local_len(&self.rank, partition)?;
        if partition.nrows() != self.len() {
            self.partition.check_same("the new vector", partition)?;
        }
        let part = redistribute(&self.rank, &column(&self.local.download()?), &self.partition, partition)?;
        Self::from_local(&self.rank, partition, part.values())
    }

    fn check_like(&self, operand: &'static str, other: &Self) -> Result<()> {
        self.check_operand(operand, &self.rank, &self.partition)?;
        other.check_operand(operand, &self.rank, &self.partition)
    }

    /// Returns an error unless the vector is of this rank and has the given partition.
    pub(crate) fn check_operand(
        &self,
        operand: &'static str,
        rank: &Rank,
        partition: &RowPartition,
    ) -> Result<()> {
        rank.check_run(operand, &self.rank)?;
        partition.check_same(operand, &self.partition)
    }
}

/// Norm of a vector whose parts have these norms, in order.
fn norm_of(parts: impl Iterator<Item = f64> + Clone) -> f64 {
    // `max` ignores NaN, but the sum does not.
    let largest = parts.clone().fold(0.0, f64::max);
    if largest == 0.0 || largest == f64::INFINITY {
        return parts.sum();
    }
    largest * parts.map(|part| (part / largest) * (part / largest)).sum::<f64>().sqrt()
}

/// Number of this rank's elements, which must fit a device.
fn local_len(rank: &Rank, partition: &RowPartition) -> Result<usize> {
    partition.check_ranks(rank)?;
    let (found, limit) = (partition.len(rank.index()), usize::MAX as u64);
    usize::try_from(found).map_err(|_| Error::TooLarge { what: "elements of a vector", found, limit })
}

fn check_len(needed: usize, len: usize) -> Result<()> {
    if len == needed {
        return Ok(());
    }
    Err(evenpath::error::OpError::Length { operand: "this rank's part", len, needed }.into())
}

/// Converts a vector to a matrix of one column.
fn column<V: Value>(values: &[V]) -> RowBlock<V> {
    let mut block = RowBlock::empty();
    for &value in values {
        block.push([(0, value)]);
    }
    block
}

impl<V: Value> fmt::Debug for DistributedVec<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DistributedVec<{}>({} elements, {} on {:?})",
            V::NAME,
            self.len(),
            self.local.len(),
            self.rank
        )
    }
}
