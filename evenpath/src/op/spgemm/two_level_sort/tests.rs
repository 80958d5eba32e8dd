//! Batches of a product, and the memory they take: what the public interface shows only in the whole.

use super::entries::BlockSort;
use super::recorder::Recorder;
use super::rows::{required, rows};
use crate::device::SimulatedOptions;
use crate::generate::generate;
use crate::op::spgemm::base::SpgemmOperands;
use crate::op::spgemm::options::SpgemmOptions;
use crate::{Csr, Device};

/// Compares batches of `rows_at_once` rows of A·A, found by kernels, with those of the CPU.
fn check(a: &Csr<f64>, rows_at_once: usize, sort: BlockSort) {
    let cpu = Device::cpu().upload(a).unwrap();
    let expected = cpu.spgemm(&cpu, SpgemmOptions::default()).unwrap().download().unwrap();
    let device = Device::simulated(SimulatedOptions::default());
    let uploaded = device.upload(a).unwrap();
    let product = SpgemmOperands { a: &uploaded, b: &uploaded }.product();
    let offsets = expected.row_offsets();
    let length = |row: usize| u64::from(a.row_offsets()[row + 1] - a.row_offsets()[row]);
    for first in (0..a.nrows()).step_by(rows_at_once) {
        let range = first..(first + rows_at_once).min(a.nrows());
        let before = device.memory().unwrap().in_use;
        device.reset_peak_memory();
        let batch = rows(&product, range.clone(), sort, &mut Recorder::default()).unwrap();
        let peak = device.memory().unwrap().peak - before;
        let of_a = a.row_offsets()[range.start] as usize..a.row_offsets()[range.end] as usize;
        let products = a.column_indices()[of_a.clone()].iter().map(|&column| length(column as usize)).sum();
        let promised = required::<f64>(range.len() as u64, of_a.len() as u64, products).bytes();
        assert!(peak <= promised, "{peak} bytes, and {promised} were promised");

        let lengths: Vec<u32> = range.clone().map(|row| offsets[row + 1] - offsets[row]).collect();
        assert_eq!(batch.lengths.download().unwrap(), lengths);
        let entries = offsets[range.start] as usize..offsets[range.end] as usize;
        assert_eq!(batch.column_indices.download().unwrap(), expected.column_indices()[entries.clone()]);
        let values = batch.values.download().unwrap();
        assert_eq!(values.len(), entries.len());
        for (value, wanted) in values.iter().zip(&expected.values()[entries]) {
            // Fewer than 1000 products of numbers up to 1 each, added in two orders.
            assert!((value - wanted).abs() <= 2.0 * 1000.0 * 1000.0 * f64::EPSILON, "{value}, not {wanted}");
        }
    }
}

#[test]
fn batches_are_those_of_the_whole() {
    for kind in ["stencil5:15", "rmat:8", "empty-rows:300", "dense:30", "power-law:150"] {
        let a: Csr<f64> = generate(kind.parse().unwrap(), 3).unwrap();
        for rows_at_once in [a.nrows(), a.nrows() / 2 + 1, 7] {
            check(&a, rows_at_once, BlockSort::ByRow);
            check(&a, rows_at_once, BlockSort::ByColumn);
        }
    }
}
