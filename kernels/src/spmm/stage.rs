//! Nonzeros copied to shared memory.

use evenpath_simt::{device, thread, warp, Arena, Element, Shared, Stored, WidenTo, Words};

use super::group::{DenseView, Group, LaneSums};
use super::nonzeros::{InGlobal, InShared, Nonzeros, IN_FLIGHT};
use super::width::{Width, MAX_WIDTH};

/// Nonzeros that a thread copies to shared memory: a few, so that a block waits for them once instead of once in each round
/// of each row.
pub const STAGED_BY_THREAD: usize = 4;

/// Nonzeros that a block of `block` threads copies at once.
pub(super) const fn staged(block: usize) -> usize {
    block * STAGED_BY_THREAD
}

/// Places for the nonzeros of a block that [sums in stages](sum_in_stages). The places of a group are followed by
/// unused ones, one for each nonzero that the group reads at a time, so that all groups of a warp use different banks.
/// Groups have at least four lanes over the columns.
pub(super) const fn staged_apart(block: usize) -> usize {
    block * (STAGED_BY_THREAD + 1)
}

/// Copies stretches of nonzeros to shared memory, one for each `1 << lanes_log2` threads of the block, at most
/// [`STAGED_BY_THREAD`] for each of them. Every thread of the block calls it, with the stretch that it helps to copy.
#[device]
pub(super) fn stage<S: Element, const BLOCK: usize>(
    mut arena: Arena,
    lanes_log2: u32,
    stretch: InGlobal<S>,
) -> InShared<S> {
    let copier = Copier::new(lanes_log2);
    let places = const { staged(BLOCK) };
    let (column_indices, values) = (arena.take(places), arena.take(places));
    let first = (thread::index() >> lanes_log2) * ((STAGED_BY_THREAD as u32) << lanes_log2);
    let share = copier.load(stretch);
    for item in 0..STAGED_BY_THREAD {
        let place = copier.place(item);
        if place < stretch.len {
            column_indices.store((first + place) as usize, share.columns[item]);
            values.store((first + place) as usize, share.values[item]);
        }
    }
    thread::barrier();
    InShared { column_indices, values, first, len: stretch.len }
}

/// Sums a row of any length for each group of lanes: the lanes copy [`STAGED_BY_THREAD`] nonzeros each, sum them, and go on with
/// the next. Every lane of the warp calls it; groups are no wider than a warp.
#[device]
pub(super) fn sum_in_stages<W: Width, S: WidenTo<T::Compute>, T: Stored, const BLOCK: usize>(
    arena: Arena,
    group: Group,
    row: InGlobal<S>,
    b: DenseView<T>,
) -> LaneSums<T::Compute> {
    let copier = Copier::new(group.lanes_log2());
    let stage = InStage::take::<BLOCK>(arena, group);
    let most = (STAGED_BY_THREAD as u32) << group.lanes_log2();
    let mut sums = [T::Compute::ZERO; MAX_WIDTH];
    let mut start = 0;
    while warp::any(warp::FULL, start < row.len) {
        let len = row.len.saturating_sub(start).min(most);
        let stage = stage.fill(copier, copier.load(row.part(start, len)), len);
        warp::sync(warp::FULL);
        group.add::<W, S, T>(&mut sums, stage, b);
        // The next stretch takes its place.
        warp::sync(warp::FULL);
        start += most;
    }
    sums
}

/// One of `1 << lanes_log2` neighboring threads that copy a stretch together.
#[derive(Clone, Copy)]
struct Copier {
    /// The thread's number among them.
    lane: u32,
    lanes_log2: u32,
}

/// Nonzeros that a thread copies from a stretch; zeros beyond its end.
#[derive(Clone, Copy)]
struct ThreadNonzeros<S> {
    columns: [u32; STAGED_BY_THREAD],
    values: [S; STAGED_BY_THREAD],
}

impl Copier {
    #[device]
    fn new(lanes_log2: u32) -> Self {
        Self { lane: thread::index() & ((1 << lanes_log2) - 1), lanes_log2 }
    }

    /// Returns the place in the stretch of one of the thread's nonzeros.
    #[device]
    fn place(self, item: usize) -> u32 {
        self.lane + ((item as u32) << self.lanes_log2)
    }

    /// Loads the thread's share. All loads are issued before the first is used.
    #[device]
    fn load<S: Element>(self, stretch: InGlobal<S>) -> ThreadNonzeros<S> {
        let InGlobal { column_indices, values, len } = stretch;
        let mut share =
            ThreadNonzeros { columns: [0; STAGED_BY_THREAD], values: [S::ZERO; STAGED_BY_THREAD] };
        for item in 0..STAGED_BY_THREAD {
            share.columns[item] = column_indices.load_if(self.place(item) as usize, self.place(item) < len);
        }
        for item in 0..STAGED_BY_THREAD {
            share.values[item] = values.load_if(self.place(item) as usize, self.place(item) < len);
        }
        share
    }
}

/// Nonzeros of a group's row in shared memory, ordered so that those of a lane for one round are neighbors. A round has
/// [`IN_FLIGHT`] nonzeros for each side of the group, side by side. A round that is not full ends with zeros.
#[derive(Clone, Copy)]
struct InStage<S> {
    column_indices: Shared<u32>,
    values: Shared<S>,
    /// Start of the group's nonzeros, a multiple of [`IN_FLIGHT`].
    first: u32,
    len: u32,
    side_log2: u32,
}

impl<S: Element> InStage<S> {
    /// Memory for the stretch of the thread's group, which has no nonzeros yet.
    #[device]
    fn take<const BLOCK: usize>(mut arena: Arena, group: Group) -> Self {
        let places = const { staged_apart(BLOCK) };
        let side_log2 = group.side_log2;
        let of_group = (STAGED_BY_THREAD as u32) << group.lanes_log2();
        let apart = (IN_FLIGHT as u32) << side_log2;
        let (column_indices, values) = (arena.take(places), arena.take(places));
        Self { column_indices, values, first: group.index() * (of_group + apart), len: 0, side_log2 }
    }

    /// Returns the same with `len` nonzeros, of which the thread stores its share.
    #[device]
    fn fill(self, copier: Copier, share: ThreadNonzeros<S>, len: u32) -> Self {
        let round = (IN_FLIGHT as u32) << self.side_log2;
        let end = (len + round - 1) & !(round - 1);
        for item in 0..STAGED_BY_THREAD {
            let place = copier.place(item);
            if place < end {
                let side = place & ((1 << self.side_log2) - 1);
                let of_side = place >> self.side_log2 & (IN_FLIGHT as u32 - 1);
                let index = place & !(round - 1) | (side * IN_FLIGHT as u32) | of_side;
                self.column_indices.store((self.first + index) as usize, share.columns[item]);
                self.values.store((self.first + index) as usize, share.values[item]);
            }
        }
        Self { len, ..self }
    }

    /// Returns the index of the nonzeros of a round, of which `place` is the first.
    #[device]
    fn index(self, place: u32) -> usize {
        let side = place & ((1 << self.side_log2) - 1);
        (self.first + place - side + side * IN_FLIGHT as u32) as usize
    }
}

impl<S: Element> Nonzeros<S> for InStage<S> {
    #[device]
    fn len(self) -> u32 {
        self.len
    }

    #[device(track_caller)]
    fn columns(self, first: u32, _: u32) -> [u32; IN_FLIGHT] {
        load_round(self.column_indices, self.index(first))
    }

    #[device(track_caller)]
    fn values(self, first: u32, _: u32) -> [S; IN_FLIGHT] {
        load_round(self.values, self.index(first))
    }

    #[device(track_caller)]
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        self.columns(first, step_log2)
    }

    #[device(track_caller)]
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        self.values(first, step_log2)
    }
}

/// Loads neighbors starting at element `first`, a multiple of their number, with 16 bytes per access if possible.
#[device(track_caller)]
fn load_round<T: Element>(source: Shared<T>, first: usize) -> [T; IN_FLIGHT] {
    let mut all = [T::ZERO; IN_FLIGHT];
    if T::SIZE * IN_FLIGHT < 16 {
        for at in 0..IN_FLIGHT {
            all[at] = source.load(first + at);
        }
        return all;
    }
    let of_packet = 16 / T::SIZE;
    for number in 0..T::SIZE * IN_FLIGHT / 16 {
        let packet = source.load_16(first + number * of_packet);
        for at in 0..of_packet {
            let (word, shift) = (at * T::SIZE / 8, at * T::SIZE % 8 * 8);
            all[number * of_packet + at] =
                T::from_bits(T::Words::from_fn(|index| packet[word + index] >> shift));
        }
    }
    all
}
