//! Triplets, and their sums by a plain loop.

use std::collections::BTreeMap;

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::{Csr, Device, Offset, Value};

/// Coordinates of triplets of a matrix.
pub(super) struct Pattern {
    pub(super) shape: (usize, usize),
    pub(super) rows: Vec<u32>,
    pub(super) columns: Vec<u32>,
}

impl Pattern {
    /// `len` triplets in no order, with duplicates; one in four is at one place.
    pub(super) fn random(shape: (usize, usize), len: usize, seed: usize) -> Self {
        let random = |number: usize, factor: usize| {
            (number + 1).wrapping_mul(seed * 7919 + factor).wrapping_mul(0x9e37_79b9) >> 7
        };
        let index = |number: usize, factor: usize, bound: usize| {
            if number.is_multiple_of(4) { bound as u32 / 2 } else { (random(number, factor) % bound) as u32 }
        };
        let rows = (0..len).map(|number| index(number, 104_729, shape.0)).collect();
        let columns = (0..len).map(|number| index(number, 15_485_863, shape.1)).collect();
        Self { shape, rows, columns }
    }

    /// Values whose sums depend on the order.
    pub(super) fn values<V: Value>(&self, seed: usize) -> Vec<V> {
        let sign = |number: usize| if (number + seed).is_multiple_of(3) { -1.0 } else { 1.0 };
        (0..self.rows.len()).map(|at| V::from_f64(sign(at) / (3 + (at * seed) % 1009) as f64)).collect()
    }

    pub(super) fn plan<O: Offset>(&self, device: &Device, fixed: Option<&[u32]>) -> AssemblyPlan<O> {
        let upload = |indices: &[u32]| device.upload(indices).expect("memory");
        let (rows, columns, fixed) = (upload(&self.rows), upload(&self.columns), fixed.map(upload));
        let options = AssemblyOptions::default();
        let options = fixed.as_ref().map_or(options, |fixed| options.with_fixed(fixed));
        AssemblyPlan::new_with(self.shape.0, self.shape.1, &rows, &columns, options).expect("a plan")
    }

    /// The sum of each entry, in the order of the triplets. Rows and columns of fixed unknowns have a 1 on the diagonal alone.
    pub(super) fn sums<V: Value>(&self, values: &[V], fixed: &[u32]) -> BTreeMap<(u32, u32), V> {
        let mut sums = BTreeMap::new();
        for ((&row, &column), &value) in self.rows.iter().zip(&self.columns).zip(values) {
            if !fixed.contains(&row) && !fixed.contains(&column) {
                sums.entry((row, column)).and_modify(|sum| *sum += value).or_insert(value);
            }
        }
        sums.extend(fixed.iter().map(|&unknown| ((unknown, unknown), V::ONE)));
        sums
    }
}

/// Checks that a canonical matrix has these entries, to the last bit.
pub(super) fn check<V: Value, O: Offset>(
    name: &str,
    matrix: &Csr<V, O>,
    shape: (usize, usize),
    expected: &BTreeMap<(u32, u32), V>,
) {
    assert_eq!(matrix.shape(), shape, "{name}");
    matrix.check_canonical().expect(name);
    let bits = |value: V| value.to_f64().to_bits();
    let found = matrix.view().iter().map(|(row, column, value)| ((row as u32, column as u32), bits(value)));
    let expected: Vec<_> = expected.iter().map(|(&place, &value)| (place, bits(value))).collect();
    assert!(found.collect::<Vec<_>>() == expected, "{name}");
}
