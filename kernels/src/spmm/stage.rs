//! Nonzeros copied to shared memory.

use evenpath_simt::{thread, Arena, Element, Global};

use super::group::InShared;

/// Nonzeros that a thread copies to shared memory: a few, so that a block waits for them once instead of once in each round
/// of each row.
pub(super) const STAGED_BY_THREAD: usize = 4;

/// Bytes of the nonzeros that a block of `block` threads copies at most.
pub(super) const fn staged_bytes<S: Element>(block: usize) -> usize {
    block * STAGED_BY_THREAD * (4 + S::SIZE)
}

/// Copies stretches of nonzeros to shared memory, one for each `1 << lanes_log2` threads of the block, at most
/// [`STAGED_BY_THREAD`] for each of them. All loads are issued before the first is used. Every thread of the block calls it,
/// with the stretch that it helps to copy.
#[inline(always)]
pub(super) fn stage<S: Element, const BLOCK: usize>(
    mut arena: Arena,
    lanes_log2: u32,
    column_indices: Global<u32>,
    values: Global<S>,
    len: u32,
) -> InShared<S> {
    let lane = thread::index() & ((1 << lanes_log2) - 1);
    let first = (thread::index() >> lanes_log2 << lanes_log2) * STAGED_BY_THREAD as u32;
    let staged = InShared {
        column_indices: arena.take(BLOCK * STAGED_BY_THREAD),
        values: arena.take(BLOCK * STAGED_BY_THREAD),
        first,
        len,
    };
    let place = |item: usize| lane + ((item as u32) << lanes_log2);
    let mut own_columns = [0; STAGED_BY_THREAD];
    let mut own_values = [S::ZERO; STAGED_BY_THREAD];
    for item in 0..STAGED_BY_THREAD {
        own_columns[item] = column_indices.load_if(place(item) as usize, place(item) < len);
    }
    for item in 0..STAGED_BY_THREAD {
        own_values[item] = values.load_if(place(item) as usize, place(item) < len);
    }
    for item in 0..STAGED_BY_THREAD {
        if place(item) < len {
            staged.column_indices.store((first + place(item)) as usize, own_columns[item]);
            staged.values.store((first + place(item)) as usize, own_values[item]);
        }
    }
    thread::barrier();
    staged
}
