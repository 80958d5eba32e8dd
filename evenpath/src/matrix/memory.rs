//! Fallible allocation of vectors.

use std::collections::TryReserveError;

/// Collects the items, unless there is not enough memory.
pub(crate) fn try_collect<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>, TryReserveError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(items.size_hint().0)?;
    for item in items {
        vec.try_reserve(1)?;
        vec.push(item);
    }
    Ok(vec)
}

/// Copies the items, unless there is not enough memory.
pub(crate) fn try_copy<T: Copy>(items: &[T]) -> Result<Vec<T>, TryReserveError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(items.len())?;
    vec.extend_from_slice(items);
    Ok(vec)
}

/// Appends the items, unless there is not enough memory; then nothing was appended.
pub(crate) fn try_extend<T: Copy>(vec: &mut Vec<T>, items: &[T]) -> Result<(), TryReserveError> {
    vec.try_reserve(items.len())?;
    vec.extend_from_slice(items);
    Ok(())
}

/// Splits an array into parts of these lengths.
pub(crate) fn split_by<T>(
    lengths: impl ExactSizeIterator<Item = usize>,
    mut items: &mut [T],
) -> Result<Vec<&mut [T]>, TryReserveError> {
    let mut parts = Vec::new();
    parts.try_reserve_exact(lengths.len())?;
    for length in lengths {
        let part;
        (part, items) = items.split_at_mut(length);
        parts.push(part);
    }
    Ok(parts)
}
