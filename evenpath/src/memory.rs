//! Fallible allocation of vectors. Large ones ask for huge pages.

use std::collections::TryReserveError;

use bytemuck::Zeroable;

/// Allocates `len` zeros, unless there is not enough memory.
pub(crate) fn try_zeroed<T: Zeroable>(len: usize) -> Result<Vec<T>, ()> {
    let vec = bytemuck::allocation::try_zeroed_vec(len)?;
    ask_for_huge_pages(&vec);
    Ok(vec)
}

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
    ask_for_huge_pages(&vec);
    vec.extend_from_slice(items);
    Ok(vec)
}

/// Bytes and alignment of a huge page on most machines; where pages are larger, nothing happens below their size.
const HUGE_PAGE: usize = 2 << 20;

/// Asks the system to back the whole huge pages of a vector by such pages. Linux does it by itself only if it is set up to. First writes
/// then have 512 times fewer page faults, and scattered accesses fewer misses of the TLB. Without effect on pages that were written before,
/// and where the system does not have them.
fn ask_for_huge_pages<T>(vec: &Vec<T>) {
    let first = vec.as_ptr().addr();
    let end = first + vec.capacity() * size_of::<T>();
    let (start, end) = (first.next_multiple_of(HUGE_PAGE), end / HUGE_PAGE * HUGE_PAGE);
    #[cfg(all(target_os = "linux", not(miri)))]
    if start < end {
        let start_pointer = vec.as_ptr().cast::<u8>().wrapping_add(start - first).cast_mut();
        // SAFETY: the range is inside the vector's memory, and the advice changes no contents. A refusal is harmless.
        unsafe { libc::madvise(start_pointer.cast(), end - start, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, end);
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
