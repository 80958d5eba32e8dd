//! Coordinates as sort keys: the row above the column.

use crate::{Value, parallel};

/// Entries of a task.
const CHUNK: usize = 1 << 14;

/// Writes the key of each entry.
pub(crate) fn coordinate_keys((rows, columns): (&[u32], &[u32]), column_bits: u32, keys: &mut [u64]) {
    parallel::parts_mut(keys, CHUNK, |range, keys| {
        let coordinates = rows[range.clone()].iter().zip(&columns[range]);
        for (key, (&row, &column)) in keys.iter_mut().zip(coordinates) {
            *key = u64::from(row) << column_bits | u64::from(column);
        }
    });
}

/// Writes the coordinates of each key.
pub(crate) fn split_coordinates(keys: &[u64], column_bits: u32, rows: &mut [u32], columns: &mut [u32]) {
    parallel::parts_mut(rows, CHUNK, |range, rows| {
        rows.iter_mut().zip(&keys[range]).for_each(|(row, &key)| *row = (key >> column_bits) as u32);
    });
    parallel::parts_mut(columns, CHUNK, |range, columns| {
        let column = |key: u64| (key & ((1 << column_bits) - 1)) as u32;
        columns.iter_mut().zip(&keys[range]).for_each(|(place, &key)| *place = column(key));
    });
}

/// Writes the values times a factor; zeros of the factor's sign, without reading the values, if the factor is zero.
pub(crate) fn scaled<V: Value>(factor: V, values: &[V], scaled: &mut [V]) {
    if factor == V::ZERO {
        scaled.fill(factor * V::ZERO);
        return;
    }
    parallel::parts_mut(scaled, CHUNK, |range, scaled| {
        scaled.iter_mut().zip(&values[range]).for_each(|(scaled, &value)| *scaled = factor * value);
    });
}

/// The number of the first key for which `is_it` holds, given the key before it and itself; `u64::MAX` if there is none.
pub(crate) fn first_pair(keys: &[u64], is_it: impl Fn(u64, u64) -> bool + Sync) -> u64 {
    let pairs = keys.len().saturating_sub(1);
    let pair = parallel::first(pairs, CHUNK, |mut range| range.find(|&at| is_it(keys[at], keys[at + 1])));
    pair.map_or(u64::MAX, |pair| pair as u64 + 1)
}
