//! What ranks do together, on top of messages between two.
//!
//! Each rank sends its message to every rank that needs it. That is one step, which is what counts among few ranks.

use bytemuck::Pod;
use evenpath::Value;
use evenpath::error::OpError;

use super::member::Rank;
use crate::error::{Operation, Result};

/// The bytes of a message say how many elements it has.
const fn check_size<T>() {
    assert!(size_of::<T>() > 0, "elements of a message have a size");
}

/// # Collective operations
///
/// Every rank must call the same one. They fail if a rank failed or does not come in time. The type of the elements has a size, or the
/// program does not compile:
///
/// ```compile_fail
/// # fn exchange(rank: &evenpath_distributed::Rank) {
/// let _ = rank.all_gather(&[(), ()]);
/// # }
/// # let mut cluster = evenpath_distributed::Cluster::local([evenpath::Device::cpu()]).unwrap();
/// # cluster.run(|rank| Ok(exchange(rank))).unwrap();
/// ```
impl Rank {
    /// Waits until every rank has come here.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn barrier(&self) -> Result<()> {
        self.exchange_all::<u8>(Operation::Barrier, |_| &[])?;
        Ok(())
    }

    /// The values that rank `root` gives; those of the others do not matter.
    ///
    /// # Errors
    ///
    /// If there is no such rank, or a rank failed.
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

    /// The values of every rank, on rank `root`; nothing elsewhere.
    ///
    /// # Errors
    ///
    /// If there is no such rank, or a rank failed.
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

    /// The values of every rank, on all.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn all_gather<T: Pod>(&self, values: &[T]) -> Result<Vec<Vec<T>>> {
        self.exchange_all(Operation::AllGather, |_| values)
    }

    /// To each rank what every rank has for it: `values[to]` goes to rank `to`, and the result has by rank what came from there.
    ///
    /// # Errors
    ///
    /// If `values` has not a vector for each rank, or a rank failed.
    pub fn all_to_all<T: Pod>(&self, values: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        if values.len() != self.size() {
            let (len, needed) = (values.len(), self.size());
            return Err(OpError::Length { operand: "the list of messages", len, needed }.into());
        }
        self.exchange_all(Operation::AllToAll, |to| &values[to])
    }

    /// Combines the values of all ranks, element by element, in the order of the ranks: the result is the same on all, to the last
    /// bit, and in every run.
    ///
    /// # Errors
    ///
    /// If ranks give different numbers of values, or a rank failed.
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

    /// The sum of every rank's value, added in the order of the ranks: the same on all, to the last bit, and in every run.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn sum<V: Value>(&self, value: V) -> Result<V> {
        Ok(self.all_reduce(&[value], |sum, value| sum + value)?[0])
    }

    /// All ranks but this, the next one first, so that not all begin with the same.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (index, size) = (self.index(), self.size());
        (1..size).map(move |step| (index + step) % size)
    }

    /// Sends each rank its values, and receives those of each.
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
