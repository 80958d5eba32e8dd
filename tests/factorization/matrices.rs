//! Matrices to factorize. Their diagonals dominate, so that pivots stay away from zero.

use evenpath::{Csr, Offset, Value};

/// Makes a matrix of n rows of the positions of `entries`, and those with row and column exchanged, and a diagonal. `is_symmetric`
/// says if values are so too.
pub(super) fn with_entries<V: Value, O: Offset>(
    n: usize,
    entries: impl IntoIterator<Item = (usize, usize)>,
    is_symmetric: bool,
) -> Csr<V, O> {
    let pairs = entries.into_iter().filter(|(row, column)| row != column);
    let mut positions: Vec<_> = pairs.flat_map(|(row, column)| [(row, column), (column, row)]).collect();
    positions.sort_unstable();
    positions.dedup();
    let mut sums = vec![1.0; n];
    let number = |row: usize, column: usize| {
        let (row, column) = if is_symmetric { (row.max(column), row.min(column)) } else { (row, column) };
        ((row * 31 + column * 17 + 5) % 41) as f64 / 41.0 - 0.6
    };
    for &(row, column) in &positions {
        sums[row] += number(row, column).abs();
    }
    let diagonal = (0..n).map(|row| (row, row, V::from_f64(sums[row])));
    let others = positions.iter().map(|&(row, column)| (row, column, V::from_f64(number(row, column))));
    let a = Csr::<V>::from_triplets(n, n, others.chain(diagonal)).expect("inside");
    a.try_into_offsets().expect("few entries")
}

/// Numbers below `below` that look random.
fn random(count: usize, below: usize, seed: usize) -> impl Iterator<Item = usize> {
    (0..count).scan(seed as u64 + 1, move |state, _| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((*state >> 33) as usize % below)
    })
}

/// Matrices by name.
pub(super) fn shapes<V: Value, O: Offset>(is_symmetric: bool) -> Vec<(&'static str, Csr<V, O>)> {
    let chain = (1..70).map(|row| (row, row - 1));
    let arrow = (1..80).flat_map(|row| [(row, 0), (79, row)]);
    let dense = (0..40).flat_map(|row| (0..40).map(move |column| (row, column)));
    let grid = (0..100).flat_map(|at| [(at, if at % 10 < 9 { at + 1 } else { at }), (at, (at + 10).min(99))]);
    let scattered = random(600, 150, 1).zip(random(600, 150, 2));
    let make = |n, entries: Vec<_>| with_entries(n, entries, is_symmetric);
    vec![
        ("empty", make(0, vec![])),
        ("of one row", make(1, vec![])),
        ("diagonal", make(100, vec![])),
        ("a chain", make(70, chain.collect())),
        ("an arrow", make(80, arrow.collect())),
        ("dense", make(40, dense.collect())),
        ("a grid", make(100, grid.collect())),
        ("scattered", make(150, scattered.collect())),
    ]
}

/// A matrix as rows of numbers, and where it has entries.
pub(super) fn dense<V: Value, O: Offset>(a: &Csr<V, O>) -> (Vec<Vec<f64>>, Vec<Vec<bool>>) {
    let n = a.nrows();
    let (mut values, mut has) = (vec![vec![0.0; n]; n], vec![vec![false; n]; n]);
    for (row, column, value) in a.iter() {
        values[row][column] = value.to_f64();
        has[row][column] = true;
    }
    (values, has)
}

/// The unit roundoff, doubled.
pub(super) fn epsilon<V: Value>() -> f64 {
    if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}
