//! Clusters to test with, and matrices with small integers, whose sums are exact in any order.

use evenpath::device::SimulatedOptions;
use evenpath::{Csr, Device, Value};
use evenpath_distributed::Cluster;
use proptest::prelude::*;

/// Entries of a matrix: shape, and row, column and value of each; places may repeat.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) entries: Vec<(usize, usize, i8)>,
}

impl Matrix {
    /// The same on one device, duplicates summed.
    pub(crate) fn csr<V: Value>(&self) -> Csr<V> {
        let entries = self.entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(f64::from(value))));
        Csr::from_triplets(self.rows, self.cols, entries).expect("entries are inside")
    }
}

/// Any shape: few rows or many, rectangular or square, one dense row, rows without entries, places that repeat.
pub(crate) fn matrices() -> impl Strategy<Value = Matrix> {
    matrices_of(1..40_usize, 1..40_usize)
}

pub(crate) fn matrices_of(
    rows: impl Strategy<Value = usize>,
    cols: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Matrix> {
    (rows, cols).prop_flat_map(|(rows, cols)| {
        let entry = (0..rows, 0..cols, -9..10_i8);
        (proptest::collection::vec(entry, 0..120), proptest::option::of(0..rows)).prop_map(
            move |(mut entries, dense)| {
                entries.extend(dense.into_iter().flat_map(|row| (0..cols).map(move |col| (row, col, 1))));
                Matrix { rows, cols, entries }
            },
        )
    })
}

/// So many ranks on the CPU.
pub(crate) fn on_cpu(ranks: usize) -> Cluster {
    Cluster::local(vec![Device::cpu(); ranks]).expect("there are ranks")
}

/// So many simulated GPUs.
pub(crate) fn simulated(ranks: usize) -> Cluster {
    let device = |_| Device::simulated(SimulatedOptions::default().with_threads(1));
    Cluster::local((0..ranks).map(device)).expect("there are ranks")
}

/// Small integers.
pub(crate) fn number<V: Value>(index: u64) -> V {
    V::from_f64((index * 7 % 11) as f64 - 5.0)
}

pub(crate) fn numbers<V: Value>(len: usize) -> Vec<V> {
    (0..len as u64).map(number).collect()
}

/// Values whose sums depend on their order.
pub(crate) fn rough(index: u64) -> f64 {
    ((index * 2_654_435_761) as f64).sin()
}

/// Checks that four ranks give the same bits in every run, and in every cluster of the same devices.
pub(crate) fn check_same_bits(bits: fn(&mut Cluster) -> Vec<u64>) {
    for cluster in [on_cpu, simulated] {
        let first = bits(&mut cluster(4));
        let mut other = cluster(4);
        for _ in 0..3 {
            assert_eq!(bits(&mut other), first);
        }
    }
}

/// A partition of `rows` rows at any places.
pub(crate) fn any_partition(rows: usize, ranks: usize, cuts: &[u64]) -> evenpath_distributed::RowPartition {
    let mut boundaries: Vec<u64> =
        (1..ranks).map(|rank| cuts[rank % cuts.len()] % (rows as u64 + 1)).collect();
    boundaries.sort_unstable();
    boundaries.insert(0, 0);
    boundaries.push(rows as u64);
    evenpath_distributed::RowPartition::from_boundaries(boundaries).expect("they ascend")
}

/// αAx + βy.
pub(crate) fn expected<V: Value>(a: &Csr<V>, alpha: V, x: &[V], beta: V, y: &[V]) -> Vec<V> {
    let rows = a.iter_rows().zip(y);
    rows.map(|(row, &y)| {
        let sum: V = row.iter().map(|(column, value)| value * x[column as usize]).sum();
        if beta == V::ZERO { alpha * sum } else { alpha * sum + beta * y }
    })
    .collect()
}
