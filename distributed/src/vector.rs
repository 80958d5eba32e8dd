//! Vectors over ranks.

use std::fmt;
use std::sync::Arc;

use evenpath::{DeviceSlice, DeviceVec, Value, vector};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::memory::collected_in_parallel;
use crate::rows::{RowBlock, redistribute};
use crate::{Rank, RowPartition};

/// Elements that a task computes, at least.
const ELEMENTS_OF_A_TASK: usize = 4096;

/// A vector of which each rank has a part on its device.
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
    /// A vector of zeros.
    ///
    /// # Errors
    ///
    /// If the partition is for another number of ranks, or there is no memory.
    pub fn zeros(rank: &Rank, partition: &RowPartition) -> Result<Self> {
        let len = local_len(rank, partition)?;
        Ok(Self::from_parts(rank, partition, rank.device().zeros(len)?))
    }

    /// A vector whose element `i` is `value(i)`; each rank computes its own, by the threads of rayon.
    ///
    /// # Errors
    ///
    /// As for [`zeros`](Self::zeros).
    pub fn from_fn(rank: &Rank, partition: &RowPartition, value: impl Fn(u64) -> V + Sync) -> Result<Self> {
        let (len, first) = (local_len(rank, partition)?, partition.range(rank.index()).start);
        let elements = (0..len).into_par_iter().with_min_len(ELEMENTS_OF_A_TASK);
        let values = collected_in_parallel(elements.map(|at| value(first + at as u64)))?;
        Self::from_local(rank, partition, &values)
    }

    /// A vector of which each rank gives its part, from host memory.
    ///
    /// # Errors
    ///
    /// If the part has not as many elements as the partition gives the rank, and as for [`zeros`](Self::zeros).
    pub fn from_local(rank: &Rank, partition: &RowPartition, values: &[V]) -> Result<Self> {
        check_len(local_len(rank, partition)?, values.len())?;
        Ok(Self::from_parts(rank, partition, rank.device().upload(values)?))
    }

    /// A vector of which each rank gives its part, in its device's memory.
    ///
    /// # Errors
    ///
    /// If the part has not as many elements as the partition gives the rank, or is on another device.
    pub fn from_device(rank: &Rank, partition: &RowPartition, local: DeviceVec<V>) -> Result<Self> {
        check_len(local_len(rank, partition)?, local.len())?;
        if !local.device().is_same(rank.device()) {
            let (left, right) = (local.device().to_string(), rank.device().to_string());
            return Err(evenpath::error::DeviceError::DifferentDevices { left, right }.into());
        }
        Ok(Self::from_parts(rank, partition, local))
    }

    /// A vector that rank `root` has as a whole; what the others give does not matter. A collective operation.
    ///
    /// # Errors
    ///
    /// If the root's vector has not the partition's length, and as for [`zeros`](Self::zeros).
    pub fn scatter(rank: &Rank, partition: &RowPartition, root: usize, values: &[V]) -> Result<Self> {
        let all = RowPartition::all_on(root, partition.rows(), rank.size())?;
        let own = if rank.index() == root { values } else { &[] };
        check_len(all.len(rank.index()) as usize, own.len())?;
        let part = redistribute(rank, &column(own), &all, partition)?;
        Self::from_local(rank, partition, part.values())
    }

    fn from_parts(rank: &Rank, partition: &RowPartition, local: DeviceVec<V>) -> Self {
        Self { rank: rank.clone(), partition: Arc::new(partition.clone()), local }
    }

    /// The rank whose part this is.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Which elements are on which rank.
    pub fn partition(&self) -> &RowPartition {
        &self.partition
    }

    /// Elements of all ranks.
    pub fn len(&self) -> u64 {
        self.partition.rows()
    }

    /// Whether there are no elements on any rank.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// This rank's elements.
    pub fn local(&self) -> &DeviceSlice<V> {
        &self.local
    }

    /// This rank's elements, to be changed.
    pub fn local_mut(&mut self) -> &mut DeviceSlice<V> {
        &mut self.local
    }

    /// self = `alpha`·`x` + `beta`·self. Where `beta` is zero, what the vector held does not matter.
    ///
    /// # Errors
    ///
    /// If the vectors are divided differently; then nothing is written. If the device was lost.
    pub fn axpby(&mut self, alpha: V, x: &Self, beta: V) -> Result<()> {
        self.check_like("x", x)?;
        Ok(vector::axpby(alpha, &x.local, beta, &mut self.local)?)
    }

    /// self = `x`.
    ///
    /// # Errors
    ///
    /// As for [`axpby`](Self::axpby).
    pub fn copy_from(&mut self, x: &Self) -> Result<()> {
        self.check_like("x", x)?;
        Ok(self.local.copy_from(&x.local)?)
    }

    /// self = `x` ∘ `y`, the product of each two elements.
    ///
    /// # Errors
    ///
    /// As for [`axpby`](Self::axpby).
    pub fn multiply_elements(&mut self, x: &Self, y: &Self) -> Result<()> {
        self.check_like("x", x)?;
        self.check_like("y", y)?;
        Ok(vector::multiply_elements(&x.local, &y.local, &mut self.local)?)
    }

    /// The inner product, on all ranks. The parts' are added in the order of the ranks, so it is the same in every run with the same
    /// partition on the same devices. A collective operation.
    ///
    /// # Errors
    ///
    /// If the vectors are divided differently, or a rank failed.
    pub fn dot(&self, other: &Self) -> Result<V> {
        self.check_like("the other vector", other)?;
        self.rank.sum(vector::dot(&self.local, &other.local)?)
    }

    /// The Euclidean norm, on all ranks; repeatable as [`dot`](Self::dot). Its squares neither overflow nor underflow, as in
    /// [`vector::norm2`]. A collective operation.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn norm2(&self) -> Result<V> {
        let parts = self.rank.all_gather(&[vector::norm2(&self.local)?.to_f64()])?;
        Ok(V::from_f64(norm_of(parts.iter().flatten().copied())))
    }

    /// All elements, on rank `root`; nothing elsewhere. A collective operation.
    ///
    /// # Errors
    ///
    /// If there is no such rank, the host has no memory, or a rank failed.
    pub fn gather(&self, root: usize) -> Result<Option<Vec<V>>> {
        Ok(self.rank.gather(root, &self.local.download()?)?.map(|parts| parts.concat()))
    }

    /// The same vector, divided by another partition. A collective operation.
    ///
    /// # Errors
    ///
    /// If the partition is for another number of ranks or elements, there is no memory, or a rank failed.
    pub fn repartition(&self, partition: &RowPartition) -> Result<Self> {
        local_len(&self.rank, partition)?;
        if partition.rows() != self.len() {
            self.partition.check_same("the new vector", partition)?;
        }
        let part = redistribute(&self.rank, &column(&self.local.download()?), &self.partition, partition)?;
        Self::from_local(&self.rank, partition, part.values())
    }

    fn check_like(&self, operand: &'static str, other: &Self) -> Result<()> {
        self.check_operand(operand, &self.rank, &self.partition)?;
        other.check_operand(operand, &self.rank, &self.partition)
    }

    /// An error unless it is of this rank and divided so.
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

/// The norm of a vector whose parts have these norms, in their order.
fn norm_of(parts: impl Iterator<Item = f64> + Clone) -> f64 {
    // `max` ignores NaN, which the sum then has.
    let largest = parts.clone().fold(0.0, f64::max);
    if largest == 0.0 || largest == f64::INFINITY {
        return parts.sum();
    }
    largest * parts.map(|part| (part / largest) * (part / largest)).sum::<f64>().sqrt()
}

/// This rank's elements, which a device can count.
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

/// A vector as a matrix of one column.
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
