//! Merge of sorted sequences, by merge path.

use evenpath_kernels::block::merge_path;

use crate::parallel;

/// Elements of the output per task.
const TILE: usize = 1 << 15;

/// Merges two sorted sequences into `merged`, whose length is the sum of theirs. Stable, A before
/// B.
pub(crate) fn merge_keys<K: Copy + Ord + Send + Sync>(a: &[K], b: &[K], merged: &mut [K]) {
    parallel::chunks_mut(merged, TILE, |tile, merged| {
        let mut sources = Sources::new(a, b, tile * TILE);
        for key in merged {
            *key = match sources.next() {
                MergeSource::A(index) => a[index],
                MergeSource::B(index) => b[index],
            };
        }
    });
}

/// Merges two sorted sequences of keys, with their values.
pub(crate) fn merge_pairs<K, V>(
    (a, a_values): (&[K], &[V]),
    (b, b_values): (&[K], &[V]),
    keys: &mut [K],
    values: &mut [V],
) where
    K: Copy + Ord + Send + Sync,
    V: Copy + Send + Sync,
{
    let tiles = keys.chunks_mut(TILE).zip(values.chunks_mut(TILE)).enumerate().collect();
    parallel::for_each(tiles, |(tile, (keys, values)): (usize, (&mut [K], &mut [V]))| {
        let mut sources = Sources::new(a, b, tile * TILE);
        for (key, value) in keys.iter_mut().zip(values) {
            (*key, *value) = match sources.next() {
                MergeSource::A(index) => (a[index], a_values[index]),
                MergeSource::B(index) => (b[index], b_values[index]),
            };
        }
    });
}

/// Source of an element of the output.
enum MergeSource {
    A(usize),
    B(usize),
}

/// The sources of the elements of the output, in order. Must not be advanced past the end.
struct Sources<'s, K> {
    a: &'s [K],
    b: &'s [K],
    a_next: usize,
    b_next: usize,
}

impl<'s, K: Copy + Ord> Sources<'s, K> {
    /// Starts at the given element of the output.
    fn new(a: &'s [K], b: &'s [K], start: usize) -> Self {
        let a_next = merge_path::search(start, a.len(), b.len(), |i| a[i], |i| b[i]);
        Self { a, b, a_next, b_next: start - a_next }
    }

    fn next(&mut self) -> MergeSource {
        let take_a = match (self.a.get(self.a_next), self.b.get(self.b_next)) {
            (Some(a), Some(b)) => a <= b,
            (a, _) => a.is_some(),
        };
        let next = if take_a { &mut self.a_next } else { &mut self.b_next };
        *next += 1;
        if take_a { MergeSource::A(self.a_next - 1) } else { MergeSource::B(self.b_next - 1) }
    }
}
