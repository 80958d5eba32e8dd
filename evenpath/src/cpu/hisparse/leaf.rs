//! One leaf of a product: its pattern, and its sums.

use crate::matrix::hisparse::leaves::PlacedNode;
use crate::matrix::hisparse::node::pack;
use crate::{HiSparse, Value};

/// Bits per word.
const BITS: usize = u64::BITS as usize;

/// The pattern of a leaf of C: one bit per slot. A word belongs to a single row.
pub(super) struct LeafBitmap<const D: usize> {
    entries: Vec<u64>,
    /// The pattern of a leaf of B.
    b: Vec<u64>,
}

impl<const D: usize> LeafBitmap<D> {
    /// Words per row.
    const WORDS: usize = D.div_ceil(BITS);

    pub(super) fn new() -> Self {
        Self { entries: vec![0; D * Self::WORDS], b: vec![0; D * Self::WORDS] }
    }

    /// Adds the pattern of the product of two leaves.
    pub(super) fn add<V: Value>(
        &mut self,
        a: &HiSparse<V, D>,
        a_leaf: PlacedNode,
        b: &HiSparse<V, D>,
        b_leaf: PlacedNode,
    ) {
        self.b.fill(0);
        for (coordinates, _) in b.leaf(b_leaf).entries(D) {
            let (row, col) = b.oriented(coordinates);
            self.b[row * Self::WORDS + col / BITS] |= 1 << (col % BITS);
        }
        for (coordinates, _) in a.leaf(a_leaf).entries(D) {
            let (row, inner) = a.oriented(coordinates);
            let b_row = &self.b[inner * Self::WORDS..][..Self::WORDS];
            let entries = &mut self.entries[row * Self::WORDS..][..Self::WORDS];
            entries.iter_mut().zip(b_row).for_each(|(word, bits)| *word |= bits);
        }
    }

    /// Returns the number of entries and clears the pattern.
    pub(super) fn drain(&mut self) -> usize {
        self.entries.iter_mut().map(|word| std::mem::take(word).count_ones() as usize).sum()
    }
}

/// The sums of a leaf of C.
pub(super) struct LeafSums<V, const D: usize> {
    /// D² sums, row by row; zero if no product was added.
    values: Vec<V>,
    /// One bit per sum, set once a product is added.
    is_entry: Vec<u64>,
    /// Start of each row in `entries`, the columns and values of a leaf of B.
    starts: Vec<usize>,
    entries: Vec<(usize, V)>,
}

impl<V: Value, const D: usize> LeafSums<V, D> {
    pub(super) fn new() -> Self {
        Self {
            values: vec![V::ZERO; D * D],
            is_entry: vec![0; D * D / BITS],
            starts: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Adds the product of two leaves.
    pub(super) fn add(
        &mut self,
        a: &HiSparse<V, D>,
        a_leaf: PlacedNode,
        b: &HiSparse<V, D>,
        b_leaf: PlacedNode,
    ) {
        self.list_rows(b, b_leaf);
        for (coordinates, a_value) in a.leaf(a_leaf).entries(D) {
            let (row, inner) = a.oriented(coordinates);
            for &(col, b_value) in &self.entries[self.starts[inner]..self.starts[inner + 1]] {
                let place = row * D + col;
                self.values[place] += a_value * b_value;
                self.is_entry[place / BITS] |= 1 << (place % BITS);
            }
        }
    }

    /// Sorts the entries of a leaf of B by row.
    fn list_rows(&mut self, b: &HiSparse<V, D>, leaf: PlacedNode) {
        let leaf = b.leaf(leaf);
        self.starts.clear();
        self.starts.resize(D + 1, 0);
        let mut count = 0;
        for (coordinates, _) in leaf.entries(D) {
            self.starts[b.oriented(coordinates).0] += 1;
            count += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        // Each row is filled from its end, so that its cursor finishes at its beginning.
        self.entries.resize(count, (0, V::ZERO));
        for (coordinates, value) in leaf.entries(D) {
            let (row, col) = b.oriented(coordinates);
            self.starts[row] -= 1;
            self.entries[self.starts[row]] = (col, value);
        }
    }

    /// Drains the coordinates and sum of each entry, row by row.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u16, V)> {
        let Self { values, is_entry, .. } = self;
        is_entry
            .iter_mut()
            .enumerate()
            .flat_map(|(word, bits)| {
                std::iter::from_fn(move || {
                    let bit = (*bits != 0).then(|| bits.trailing_zeros() as usize)?;
                    *bits &= *bits - 1;
                    Some(BITS * word + bit)
                })
            })
            .map(|place| (pack(place / D, place % D), std::mem::replace(&mut values[place], V::ZERO)))
    }
}
