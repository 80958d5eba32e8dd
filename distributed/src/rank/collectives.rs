//! Collective operations, on top of messages between two ranks.
//!
//! Each rank sends its message directly to every rank that needs it: one step, which matters most with few
//! ranks.

use bytemuck::Pod;
use evenpath::Value;
use evenpath::error::OpError;

use super::member::Rank;
use crate::error::{Operation, Result};

/// The number of elements is computed from the bytes of a message.
const fn check_size<T>() {
    assert!(size_of::<T>() > 0, "elements of a message have a size");
}

/// # Collective operations
///
/// Every rank must call the same operation. It fails if a rank failed or does not arrive in time. The element
/// type must not be zero-sized; otherwise the program does not compile:
///
/// ```compile_fail
/// # fn exchange(rank: &evenpath_distributed::Rank) {
/// let _ = rank.all_gather(&[(), ()]);
/// # }
/// # let mut cluster = evenpath_distributed::Cluster::local([evenpath::Device::cpu()]).unwrap();
/// # cluster.run(|rank| Ok(exchange(rank))).unwrap();
/// ```
impl Rank {
    /// Waits until every rank has called this.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn barrier(&self) -> Result<()> {
        self.exchange_all::<u8>(Operation::Barrier, |_| &[])?;
        Ok(())
    }

    /// Sends the values of rank `root` to all ranks; those of the others are ignored.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, or a rank failed.
    pub fn broadcast<T: Pod>(&self, root: usize, values: &[T]) -> Result<Vec<T>> {
        self.check_rank(root)?;
        const { check_size::<T>() };
        let exchange = self.begin(Operation::Broadcast);
        if self.index() != root {
            return self.receive(exchange, root);
        }
        for to in self.others() {
            self.send(exchange, to, values)?;
        }
        Ok(values.to_vec())
    }

    /// Returns the values of every rank on rank `root`, `None` on the others.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, or a rank failed.
    pub fn gather<T: Pod>(&self, root: usize, values: &[T]) -> Result<Option<Vec<Vec<T>>>> {
        self.check_rank(root)?;
        const { check_size::<T>() };
        let exchange = self.begin(Operation::Gather);
        if self.index() != root {
            self.send(exchange, root, values)?;
            return Ok(None);
        }
        let from = |from| if from == root { Ok(values.to_vec()) } else { self.receive(exchange, from) };
        (0..self.size()).map(from).collect::<Result<_>>().map(Some)
    }

    /// Returns the values of every rank, on all ranks.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn all_gather<T: Pod>(&self, values: &[T]) -> Result<Vec<Vec<T>>> {
        self.exchange_all(Operation::AllGather, |_| values)
    }

    /// Sends `values[to]` to each rank `to`, and returns the values received from each rank.
    ///
    /// # Errors
    ///
    /// If `values` does not have one vector per rank, or a rank failed.
    pub fn all_to_all<T: Pod>(&self, values: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        if values.len() != self.size() {
            let (len, needed) = (values.len(), self.size());
            return Err(OpError::Length { operand: "the list of messages", len, needed }.into());
        }
        self.exchange_all(Operation::AllToAll, |to| &values[to])
    }

    /// Combines the values of all ranks elementwise, in the order of the ranks: the result is the same on all
    /// ranks and in every run, to the last bit.
    ///
    /// # Errors
    ///
    /// If ranks have different numbers of values, or a rank failed.
    pub fn all_reduce<T: Pod>(&self, values: &[T], combine: impl Fn(T, T) -> T) -> Result<Vec<T>> {
        const { check_size::<T>() };
        let exchange = self.begin(Operation::AllReduce);
        for to in self.others() {
            self.send(exchange, to, values)?;
        }
        let mut result: Vec<T> = Vec::new();
        for from in 0..self.size() {
            let part = if from == self.index() {
                values.to_vec()
            } else {
                self.receive_exactly(exchange, from, values.len())?
            };
            if from == 0 {
                result = part;
            } else {
                result.iter_mut().zip(part).for_each(|(sum, value)| *sum = combine(*sum, value));
            }
        }
        Ok(result)
    }

    /// Sums every rank's value in the order of the ranks: the result is the same on all ranks and in every
    /// run, to the last bit.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn sum<V: Value>(&self, value: V) -> Result<V> {
        Ok(self.all_reduce(&[value], |sum, value| sum + value)?[0])
    }

    /// All ranks except this one, starting with the next, so that not all start with the same.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (index, size) = (self.index(), self.size());
        (1..size).map(move |step| (index + step) % size)
    }

    /// Sends each rank its values, and receives those from each.
    fn exchange_all<'a, T: Pod>(
        &self,
        operation: Operation,
        values: impl Fn(usize) -> &'a [T],
    ) -> Result<Vec<Vec<T>>> {
        const { check_size::<T>() };
        let exchange = self.begin(operation);
        for to in self.others() {
            self.send(exchange, to, values(to))?;
        }
        let from = |from| {
            if from == self.index() { Ok(values(from).to_vec()) } else { self.receive(exchange, from) }
        };
        (0..self.size()).map(from).collect()
    }
}
