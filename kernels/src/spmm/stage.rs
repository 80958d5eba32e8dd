//! Nonzeros copied to shared memory.

use evenpath_simt::{thread, warp, Arena, Element, Stored};

use super::group::{DenseView, Group, InGlobal, InShared, Sums};
use super::width::{Width, MAX_WIDTH};

/// Nonzeros that a thread copies to shared memory: a few, so that a block waits for them once instead of once in each round
/// of each row.
pub const STAGED_BY_THREAD: usize = 4;

/// Nonzeros that a block of `block` threads copies at once.
pub(super) const fn staged(block: usize) -> usize {
    block * STAGED_BY_THREAD
}

/// Places for the nonzeros of a block that [sums in stages](sum_in_stages). Between those of two groups are as many that are not used
/// as the group reads at the same time, so that all groups of a warp use different banks.
pub(super) const fn staged_apart(block: usize) -> usize {
    block * (STAGED_BY_THREAD + 1)
}

/// Shared memory for the nonzeros of a block, of which groups of threads copy a stretch each.
#[derive(Clone, Copy)]
struct Staging<S> {
    /// The stretch of the thread's group, of no nonzeros yet.
    staged: InShared<S>,
    /// The thread's number in its group.
    lane: u32,
    lanes_log2: u32,
}

impl<S: Element> Staging<S> {
    /// For groups of `1 << lanes_log2` threads, with `gap` places between their stretches and `places` for all.
    #[inline(always)]
    fn take(mut arena: Arena, places: usize, lanes_log2: u32, gap: u32) -> Self {
        let group = thread::index() >> lanes_log2;
        let staged = InShared {
            column_indices: arena.take(places),
            values: arena.take(places),
            first: group * (((STAGED_BY_THREAD as u32) << lanes_log2) + gap),
            len: 0,
        };
        Self { staged, lane: thread::index() & ((1 << lanes_log2) - 1), lanes_log2 }
    }

    /// Copies the thread's share of its group's stretch, which has at most [`STAGED_BY_THREAD`] nonzeros for each thread of the
    /// group. All loads are issued before the first is used.
    #[inline(always)]
    fn copy(self, stretch: InGlobal<S>) -> InShared<S> {
        let InGlobal { column_indices, values, len } = stretch;
        let InShared { first, .. } = self.staged;
        let place = |item: usize| self.lane + ((item as u32) << self.lanes_log2);
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
                self.staged.column_indices.store((first + place(item)) as usize, own_columns[item]);
                self.staged.values.store((first + place(item)) as usize, own_values[item]);
            }
        }
        InShared { len, ..self.staged }
    }
}

/// Copies stretches of nonzeros to shared memory, one for each `1 << lanes_log2` threads of the block, at most
/// [`STAGED_BY_THREAD`] for each of them. Every thread of the block calls it, with the stretch that it helps to copy.
#[inline(always)]
pub(super) fn stage<S: Element, const BLOCK: usize>(
    arena: Arena,
    lanes_log2: u32,
    stretch: InGlobal<S>,
) -> InShared<S> {
    let staged = Staging::take(arena, const { staged(BLOCK) }, lanes_log2, 0).copy(stretch);
    thread::barrier();
    staged
}

/// Sums a row of any length for each group of lanes: the lanes copy [`STAGED_BY_THREAD`] nonzeros each, sum them, and go on with
/// the next. Every lane of the warp calls it; groups are no wider than a warp.
#[inline(always)]
pub(super) fn sum_in_stages<W: Width, S: Stored, T: Stored<Compute = S::Compute>, const BLOCK: usize>(
    arena: Arena,
    group: Group,
    row: InGlobal<S>,
    b: DenseView<T>,
) -> Sums<S::Compute> {
    let gap = 1 << group.side_log2;
    let staging = Staging::take(arena, const { staged_apart(BLOCK) }, group.lanes_log2(), gap);
    let most = (STAGED_BY_THREAD as u32) << group.lanes_log2();
    let mut sums = [S::Compute::ZERO; MAX_WIDTH];
    let mut start = 0;
    while warp::any(warp::FULL, start < row.len) {
        let left = row.len.saturating_sub(start);
        let staged = staging.copy(row.part(start, left.min(most)));
        warp::sync(warp::FULL);
        group.add::<W, S, T>(&mut sums, staged, b);
        // The next stretch takes its place.
        warp::sync(warp::FULL);
        start += most;
    }
    sums
}
