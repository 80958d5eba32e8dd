//! Matrices with triangles of all shapes. Their diagonals dominate, so that solutions stay small.

use evenpath::{Csr, Offset, Value};
use evenpath_kernels::triangular::piece_len;

/// Makes a matrix of n rows of the positions of `entries`, duplicates left out, and a diagonal.
pub(super) fn with_entries<V: Value, O: Offset>(
    n: usize,
    entries: impl IntoIterator<Item = (usize, usize)>,
) -> Csr<V, O> {
    let mut positions: Vec<_> = entries.into_iter().filter(|(row, column)| row != column).collect();
    positions.extend((0..n).map(|row| (row, row)));
    positions.sort_unstable();
    positions.dedup();
    let mut lengths = vec![0; n];
    for &(row, column) in &positions {
        lengths[row] += 1;
        lengths[column] += usize::from(row != column);
    }
    let triplets = positions.into_iter().map(|(row, column)| {
        let number = ((row * 31 + column * 17 + 5) % 41) as f64 / 41.0 - 0.4;
        let value =
            if row == column { 1.5 + number } else { number / lengths[row].max(lengths[column]) as f64 };
        (row, column, V::from_f64(value))
    });
    Csr::<V>::from_triplets(n, n, triplets).expect("inside").try_into_offsets().expect("few entries")
}

/// Positions that look random, on both sides of the diagonal; some rows are long.
pub(super) fn scattered(n: usize, count: usize) -> Vec<(usize, usize)> {
    let mut state = 12_345_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let pairs = (0..count).map(|at| {
        let row = if at % 5 == 0 { next(n / 10 + 1) * 9 % n } else { next(n) };
        (row, next(n))
    });
    pairs.collect()
}

/// The 5-point stencil.
pub(super) fn grid(side: usize) -> Vec<(usize, usize)> {
    let number = |i: usize, j: usize| i * side + j;
    let cells = (0..side).flat_map(|i| (0..side).map(move |j| (i, j)));
    let down = cells.clone().filter(|&(i, _)| i + 1 < side).map(|(i, j)| (number(i, j), number(i + 1, j)));
    let right = cells.filter(|&(_, j)| j + 1 < side).map(|(i, j)| (number(i, j), number(i, j + 1)));
    down.chain(right).flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

/// Matrices by name.
pub(super) fn shapes<V: Value, O: Offset>() -> Vec<(&'static str, Csr<V, O>)> {
    let chain = (1..90).flat_map(|row| [(row, row - 1), (row - 1, row)]);
    let arrow = (1..150).flat_map(|row| [(row, 0), (0, row), (149, row), (row, 149)]);
    let dense = (0..45).flat_map(|row| (0..45).map(move |column| (row, column)));
    let blocks = (0..130).flat_map(|row| (0..row % 10).map(move |back| (row, row - back)));
    vec![
        ("empty", with_entries(0, [])),
        ("of one row", with_entries(1, [])),
        ("diagonal", with_entries(300, [])),
        ("two rows", with_entries(2, [(1, 0), (0, 1)])),
        ("a chain", with_entries(90, chain)),
        ("an arrow", with_entries(150, arrow)),
        ("dense", with_entries(45, dense)),
        ("blocks", with_entries(130, blocks)),
        ("a grid", with_entries(144, grid(12))),
        ("scattered", with_entries(333, scattered(333, 2000))),
    ]
}

/// A triangle with rows that are cut into pieces.
pub(super) struct LongRows {
    rows: usize,
    /// Number of pieces.
    pub(super) pieces: usize,
    /// Number of entries of a row beyond which it is long.
    long: usize,
    /// Positions below the diagonal.
    entries: Vec<(usize, usize)>,
}

impl LongRows {
    /// Creates a triangle whose rows have `lanes` lanes; some rows have lengths just below and above those at which rows are cut.
    pub(super) fn new(lanes: u32) -> Self {
        let (piece, mean) = (piece_len(lanes) as usize, lanes as usize * 4);
        let lengths = [2 * piece - 1, 2 * piece, 2 * piece + 1, 3 * piece, 3 * piece + 1];
        let first = 4 * piece;
        let rows = first + 300;
        let len = |row: usize| row.checked_sub(first).and_then(|at| lengths.get(at).copied()).unwrap_or(mean);
        let columns = |row: usize| {
            let len = len(row).min(row);
            (0..len).map(move |at| (row, at * row / len))
        };
        Self { rows, pieces: 3 + 3 + 4, long: piece, entries: (0..rows).flat_map(columns).collect() }
    }

    /// The lower triangle, and a diagonal.
    pub(super) fn lower<V: Value, O: Offset>(&self) -> Csr<V, O> {
        self.with_large_sums(self.entries.iter().copied())
    }

    /// The same turned around, which is upper.
    pub(super) fn upper<V: Value, O: Offset>(&self) -> Csr<V, O> {
        let turned = |at: usize| self.rows - 1 - at;
        self.with_large_sums(self.entries.iter().map(|&(row, column)| (turned(row), turned(column))))
    }

    /// Sums of long rows count as much as their right-hand sides, so that another order of terms gives other bits.
    fn with_large_sums<V: Value, O: Offset>(
        &self,
        entries: impl Iterator<Item = (usize, usize)>,
    ) -> Csr<V, O> {
        let mut a = with_entries::<V, O>(self.rows, entries);
        let offsets: Vec<usize> = a.row_offsets().iter().map(|offset| offset.to_usize()).collect();
        for bounds in offsets.windows(2).filter(|bounds| bounds[1] - bounds[0] > self.long) {
            let len = V::from_f64((bounds[1] - bounds[0]) as f64);
            a.values_mut()[bounds[0]..bounds[1]].iter_mut().for_each(|value| *value = *value * len);
        }
        a
    }
}
