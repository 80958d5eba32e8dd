//! The values of sorted products, which need no vector instructions.

use crate::Scalar;
use crate::cpu::spgemm::instructions::{POSITION_BITS, Sorter};

/// Adds the products of sorted keys to the values of their entries. Returns the new index of the last entry.
///
/// Bit i of `new` is set if key i begins an entry. `last` is the index of the last entry before, -1 if there is none.
#[inline]
pub(super) fn add_values<V: Scalar>(
    sorter: &Sorter<V>,
    keys: &[u32],
    new: u32,
    values: &mut [V],
    mut last: usize,
) -> usize {
    let product = |key: u32| sorter.products[(key & ((1 << POSITION_BITS) - 1)) as usize];
    if new.count_ones() as usize == keys.len() {
        for (value, &key) in values[last.wrapping_add(1)..][..keys.len()].iter_mut().zip(keys) {
            *value = product(key);
        }
        return last.wrapping_add(keys.len());
    }
    for (lane, &key) in keys.iter().enumerate() {
        if new >> lane & 1 == 1 {
            last = last.wrapping_add(1);
            values[last] = product(key);
        } else {
            values[last] += product(key);
        }
    }
    last
}
