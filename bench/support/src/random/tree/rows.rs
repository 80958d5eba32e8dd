//! The columns of the rows of a strip.

use super::super::stream::{Purpose, Seeds, Stream};
use super::plan::Strip;
use super::target::{LEAF, Target};

/// The leaves of a strip, and the rows that are drawn from them.
pub(super) struct Rows<'s> {
    strip: &'s Strip,
    stream: Stream,
    /// Columns of leaves.
    sparse: Vec<u32>,
    dense: Vec<u32>,
    /// Nonzeros of a row in a dense leaf, and consecutive ones in a sparse leaf.
    dense_run: usize,
    run: usize,
    /// Sparse leaves without a nonzero yet.
    empty: Vec<u32>,
    /// The nonzeros of the row in each sparse leaf, and those with any.
    counts: Vec<u32>,
    visited: Vec<u32>,
}

impl<'s> Rows<'s> {
    pub(super) fn new(target: &Target, seeds: Seeds, strip: &'s Strip) -> Self {
        let mut stream = seeds.stream(Purpose::Columns, strip.first_row / LEAF);
        let count = strip.leaves + strip.dense_leaves;
        let (first, width) = strip.window;
        // One in each of equal parts of the window.
        let place = |index: usize| {
            let (low, high) = (index * width / count, (index + 1) * width / count);
            (first + low + stream.below(high - low)) as u32
        };
        let mut sparse: Vec<u32> = (0..count).map(place).collect();
        let diagonal = (strip.first_row as u128 * target.leaf_cols() as u128 / target.rows as u128) as u32;
        let nearest = sparse.partition_point(|&column| column < diagonal).min(strip.leaves);
        let dense = sparse.drain(nearest..nearest + strip.dense_leaves).collect();
        let mut empty: Vec<u32> = (0..strip.leaves as u32).collect();
        for last in (1..empty.len()).rev() {
            empty.swap(last, stream.below(last + 1));
        }
        // Every leaf gets a run.
        let nonzeros: usize = strip.lengths.iter().map(|&length| length as usize).sum();
        let run = target.run.min(nonzeros / strip.leaves.max(1)).max(1);
        let counts = vec![0; strip.leaves];
        Self {
            strip,
            stream,
            sparse,
            dense,
            dense_run: target.dense_run(),
            run,
            empty,
            counts,
            visited: Vec::new(),
        }
    }

    /// Replaces `columns` by the columns of a row of the strip, ascending.
    pub(super) fn columns(&mut self, row: usize, columns: &mut Vec<u32>) {
        columns.clear();
        let dense = self.dense_run;
        for &leaf in &self.dense {
            // Evenly spread, with gaps at other places in every row.
            let column = |index: usize| leaf * LEAF as u32 + ((index * LEAF / dense + row) % LEAF) as u32;
            columns.extend((0..dense).map(column));
        }
        self.visit(self.strip.lengths[row] as usize);
        for leaf in std::mem::take(&mut self.visited) {
            let count = std::mem::take(&mut self.counts[leaf as usize]) as usize;
            let first = self.sparse[leaf as usize] * LEAF as u32;
            self.place(count, |column| columns.push(first + column as u32));
        }
        columns.sort_unstable();
    }

    /// Distributes nonzeros of a row among the sparse leaves, first to those without any.
    fn visit(&mut self, length: usize) {
        let mut left = length.min(LEAF * self.sparse.len());
        while left > 0 {
            let drawn = self.empty.pop().unwrap_or_else(|| self.stream.below(self.sparse.len()) as u32);
            let mut leaf = drawn as usize;
            while self.counts[leaf] as usize == LEAF {
                leaf = (leaf + 1) % self.sparse.len();
            }
            if self.counts[leaf] == 0 {
                self.visited.push(leaf as u32);
            }
            let count = left.min(self.run).min(LEAF - self.counts[leaf] as usize);
            self.counts[leaf] += count as u32;
            left -= count;
        }
    }

    /// Places nonzeros of a row in a leaf: in runs, as far as these have room, else evenly spread.
    fn place(&mut self, count: usize, mut column: impl FnMut(usize)) {
        let runs = count.div_ceil(self.run);
        let width = LEAF / runs;
        if width < self.run {
            let start = self.stream.below(LEAF);
            return (0..count).for_each(|index| column((start + index * LEAF / count) % LEAF));
        }
        for index in 0..runs {
            let length = self.run.min(count - index * self.run);
            let start = index * width + self.stream.below(width - length + 1);
            (start..start + length).for_each(&mut column);
        }
    }
}
