//! Blocks of consecutive rows with about equal work. Each task owns the nonzeros of its block.

use std::ops::Range;

use crate::Offset;

/// Maximum number of rows plus nonzeros in a block. A single row may exceed it.
const BLOCK_WORK: usize = grain(1 << 15);

/// Amount of work per task. Small under Miri, so that even small matrices are split into several tasks.
pub(crate) const fn grain(work: usize) -> usize {
    if cfg!(miri) { 16 } else { work }
}

/// Splits the rows into consecutive blocks.
pub(crate) fn row_blocks<O: Offset>(row_offsets: &[O]) -> Vec<Range<usize>> {
    let rows = row_offsets.len() - 1;
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < rows {
        let base = row_offsets[start].to_usize();
        let candidates = &row_offsets[start + 2..=rows.min(start + BLOCK_WORK)];
        // The work up to the end of a row increases with the row: binary search. A block has at least one
        // row.
        let (mut low, mut high) = (0, candidates.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if candidates[middle].to_usize() - base + middle < BLOCK_WORK {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        blocks.push(start..start + 1 + low);
        start += 1 + low;
    }
    blocks
}

/// Splits an array of nonzeros by `blocks`, which cover all rows.
pub(crate) fn split<'a, O: Offset, T>(
    blocks: &[Range<usize>],
    row_offsets: &[O],
    mut items: &'a mut [T],
) -> Vec<(Range<usize>, &'a mut [T])> {
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        let len = row_offsets[block.end].to_usize() - row_offsets[block.start].to_usize();
        let (part, rest) = items.split_at_mut(len);
        parts.push((block.clone(), part));
        items = rest;
    }
    parts
}

/// Splits two arrays of nonzeros by `blocks`, which cover all rows.
pub(crate) fn split_both<'a, O: Offset, T, U>(
    blocks: &[Range<usize>],
    row_offsets: &[O],
    items: &'a mut [T],
    others: &'a mut [U],
) -> Vec<(Range<usize>, &'a mut [T], &'a mut [U])> {
    let both = split(blocks, row_offsets, items).into_iter().zip(split(blocks, row_offsets, others));
    both.map(|((block, items), (_, others))| (block, items, others)).collect()
}

/// The rows of a block, each with its range within the block's nonzeros.
pub(crate) fn local_ranges<O: Offset>(
    row_offsets: &[O],
    block: Range<usize>,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let base = row_offsets[block.start].to_usize();
    block.map(move |row| (row, row_offsets[row].to_usize() - base..row_offsets[row + 1].to_usize() - base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(lengths: &[usize]) -> Vec<u64> {
        let mut offsets = vec![0];
        offsets.extend(lengths.iter().scan(0, |end, &length| {
            *end += length as u64;
            Some(*end)
        }));
        offsets
    }

    #[test]
    #[cfg_attr(miri, ignore = "large")]
    fn blocks_cover_all_rows_with_bounded_work() {
        let mut lengths: Vec<usize> = (0..200_000).map(|row| row % 7).collect();
        lengths[5] = 1_000_000;
        lengths[6] = 1_000_000;
        for lengths in [&lengths[..], &[], &[0], &[0; 1_000], &[BLOCK_WORK], &[BLOCK_WORK, 1, 2]] {
            let offsets = offsets(lengths);
            let blocks = row_blocks(&offsets);
            let mut next = 0;
            for block in blocks {
                assert_eq!(block.start, next);
                assert!(block.end > block.start);
                let work = block.len() + lengths[block.clone()].iter().sum::<usize>();
                assert!(work <= BLOCK_WORK + 1 || block.len() == 1, "{block:?} has work {work}");
                next = block.end;
            }
            assert_eq!(next, lengths.len());
        }
    }
}
