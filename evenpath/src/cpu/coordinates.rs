//! Coordinates as sort keys: the row above the column.

use rayon::prelude::*;

use crate::Value;

/// Entries of a task.
const CHUNK: usize = 1 << 14;

/// Writes the key of each entry.
pub(crate) fn coordinate_keys((rows, columns): (&[u32], &[u32]), column_bits: u32, keys: &mut [u64]) {
    let coordinates = rows.par_iter().zip(columns);
    keys.par_iter_mut().zip(coordinates).with_min_len(CHUNK).for_each(|(key, (&row, &column))| {
        *key = u64::from(row) << column_bits | u64::from(column);
    });
}

/// Writes the coordinates of each key.
pub(crate) fn split_coordinates(keys: &[u64], column_bits: u32, rows: &mut [u32], columns: &mut [u32]) {
    let coordinates = rows.par_iter_mut().zip(columns);
    coordinates.zip(keys).with_min_len(CHUNK).for_each(|((row, column), &key)| {
        (*row, *column) = ((key >> column_bits) as u32, (key & ((1 << column_bits) - 1)) as u32);
    });
}

/// Writes the values times a factor; zeros of the factor's sign, without reading the values, if the factor is zero.
pub(crate) fn scaled<V: Value>(factor: V, values: &[V], scaled: &mut [V]) {
    if factor == V::ZERO {
        scaled.fill(factor * V::ZERO);
        return;
    }
    scaled
        .par_iter_mut()
        .zip(values)
        .with_min_len(CHUNK)
        .for_each(|(scaled, &value)| *scaled = factor * value);
}

/// The number of the first key for which `is_it` holds, given the key before it and itself; `u64::MAX` if there is none.
pub(crate) fn first_pair(keys: &[u64], is_it: impl Fn(u64, u64) -> bool + Sync) -> u64 {
    let pair = keys.par_windows(2).with_min_len(CHUNK).position_first(|pair| is_it(pair[0], pair[1]));
    pair.map_or(u64::MAX, |pair| pair as u64 + 1)
}
