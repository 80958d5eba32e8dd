//! Sorting by some bits of the keys: rayon's stable merge sort.

use evenpath_kernels::block::radix_rank::RadixKey;
use evenpath_simt::Element;
use rayon::prelude::*;

use crate::element::{Comparison, Key, SortKey, SortValue};

/// The bits by which a key is compared.
fn rank<K: SortKey>(key: K, comparison: Comparison<<K as Key>::Bits>) -> u64 {
    let Comparison { order, begin, end } = comparison;
    let bits = <K as Key>::Bits::from_bits(key.to_bits()).to_sortable(order).to_bits();
    let count = end - begin;
    if count == u64::BITS { bits } else { bits.checked_shr(begin).unwrap_or(0) & ((1 << count) - 1) }
}

pub(crate) fn sort<K: SortKey>(keys: &mut [K], comparison: Comparison<<K as Key>::Bits>) {
    keys.par_sort_by_key(|&key| rank(key, comparison));
}

/// Sorts keys with their values. Both have the same length.
pub(crate) fn sort_pairs<K: SortKey, V: SortValue>(
    keys: &mut [K],
    values: &mut [V],
    comparison: Comparison<<K as Key>::Bits>,
) {
    assert_eq!(keys.len(), values.len(), "lengths are checked by the caller");
    let mut pairs: Vec<(K, V)> = keys.par_iter().copied().zip(values.par_iter().copied()).collect();
    pairs.par_sort_by_key(|&(key, _)| rank(key, comparison));
    let places = keys.par_iter_mut().zip(values.par_iter_mut());
    places.zip(pairs).for_each(|((key, value), pair)| (*key, *value) = pair);
}
