//! Sorting by some bits of the keys: rayon's stable merge sort, or that of the standard library for each short segment.

use evenpath_kernels::block::radix_rank::RadixKey;
use evenpath_simt::Element;
use rayon::prelude::*;

use crate::keys::{Comparison, PairValue, SortKey};
use crate::matrix::{grain, local_ranges, row_blocks, split, split_both};
use crate::{Offset, parallel};

/// Minimum number of elements in a segment that several threads sort.
const LONG_SEGMENT: usize = grain(1 << 14);

/// Pairs per task when they are copied.
const CHUNK: usize = 1 << 14;

/// Bits by which a key is compared.
fn compared_bits<K: SortKey>(key: K, comparison: Comparison<K::Bits>) -> u64 {
    let Comparison { order, begin, end } = comparison;
    let bits = K::Bits::from_bits(key.to_bits()).to_sortable(order).to_bits();
    let count = end - begin;
    if count == u64::BITS { bits } else { bits.checked_shr(begin).unwrap_or(0) & ((1 << count) - 1) }
}

pub(crate) fn sort<K: SortKey>(keys: &mut [K], comparison: Comparison<K::Bits>) {
    keys.par_sort_by_key(|&key| compared_bits(key, comparison));
}

/// Sorts keys with their values. Both have the same length.
pub(crate) fn sort_pairs<K: SortKey, V: PairValue>(
    keys: &mut [K],
    values: &mut [V],
    comparison: Comparison<K::Bits>,
) {
    assert_eq!(keys.len(), values.len(), "lengths are checked by the caller");
    let mut pairs = parallel::map(keys.len(), CHUNK, |at| (keys[at], values[at]));
    pairs.par_sort_by_key(|&(key, _)| compared_bits(key, comparison));
    parallel::parts_mut(keys, CHUNK, |range, keys| {
        keys.iter_mut().zip(&pairs[range]).for_each(|(key, pair)| *key = pair.0);
    });
    parallel::parts_mut(values, CHUNK, |range, values| {
        values.iter_mut().zip(&pairs[range]).for_each(|(value, pair)| *value = pair.1);
    });
}

/// Sorts the keys of each segment.
pub(crate) fn sort_by_offsets<K: SortKey, O: Offset>(
    row_offsets: &[O],
    keys: &mut [K],
    comparison: Comparison<K::Bits>,
) {
    let blocks = row_blocks(row_offsets);
    parallel::for_each(split(&blocks, row_offsets, keys), |(block, keys)| {
        for (_, range) in local_ranges(row_offsets, block) {
            let keys = &mut keys[range];
            if keys.len() < LONG_SEGMENT {
                keys.sort_by_key(|&key| compared_bits(key, comparison));
            } else {
                sort(keys, comparison);
            }
        }
    });
}

/// Sorts the keys of each segment with their values. There are as many values as keys.
pub(crate) fn sort_pairs_by_offsets<K: SortKey, V: PairValue, O: Offset>(
    row_offsets: &[O],
    keys: &mut [K],
    values: &mut [V],
    comparison: Comparison<K::Bits>,
) {
    let blocks = row_blocks(row_offsets);
    parallel::for_each(split_both(&blocks, row_offsets, keys, values), |(block, keys, values)| {
        let mut scratch: Vec<(K, V)> = Vec::new();
        for (_, range) in local_ranges(row_offsets, block) {
            let (keys, values) = (&mut keys[range.clone()], &mut values[range]);
            if keys.len() >= LONG_SEGMENT {
                sort_pairs(keys, values, comparison);
                continue;
            }
            scratch.clear();
            scratch.extend(keys.iter().copied().zip(values.iter().copied()));
            scratch.sort_by_key(|&(key, _)| compared_bits(key, comparison));
            for ((key, value), &pair) in keys.iter_mut().zip(values).zip(&scratch) {
                (*key, *value) = pair;
            }
        }
    });
}
