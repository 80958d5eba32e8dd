//! A window of a row of C, which the threads of a block add up together.
//!
//! 1. Each thread brings an entry of A, and finds the entries in the window of the row of B that it names (`WindowStage::bring`).
//! 2. To mark the window's columns, a few lanes for each staged entry set the bits of its row of B (`WindowStage::mark`).
//! 3. To add up the products (`ValueStage::add`), the block goes through the staged entries step by step (`WindowStage::step`): rows of B that
//!    fit their lanes side by side, any other alone (`WindowStage::is_alone`). The next step's products are loaded while those of this one
//!    are added (`WindowStage::load`).
//! 4. Rows of B side by side take turns, so that the products of a sum are added in the order of A's entries (`WindowStage::add_in_turn`).

use evenpath_simt::{device, thread, warp, Arena, Arithmetic, GlobalMut, Shared};

use super::bitmap::Bitmap;
use super::entries::{Operand, RowEntries};
use super::spans::Window;
use crate::block::search::partition_point;
use crate::{GlobalCsr, GlobalPattern, Offset};

/// Columns of a long row of B that a lane has in flight.
const IN_FLIGHT: usize = 4;

/// Entries of A, one per thread, with the entries in a window of the rows of B that they name; in shared memory.
#[derive(Clone, Copy)]
pub(super) struct WindowStage<O, const BLOCK: usize> {
    begins: Shared<O>,
    lens: Shared<u32>,
    /// The longest of the rows of B that are processed side by side.
    longest: Shared<u32>,
    lanes_log2: u32,
}

/// A stage with the values of A's entries.
#[derive(Clone, Copy)]
pub(super) struct ValueStage<V, O, const BLOCK: usize> {
    stage: WindowStage<O, BLOCK>,
    lefts: Shared<V>,
}

impl<O: Offset, const BLOCK: usize> WindowStage<O, BLOCK> {
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, lanes_log2: u32) -> Self {
        Self { begins: arena.take(BLOCK), lens: arena.take(BLOCK), longest: arena.take(BLOCK), lanes_log2 }
    }

    /// Returns the number of rows of B that are processed side by side.
    #[device]
    fn groups(self) -> u32 {
        BLOCK as u32 >> self.lanes_log2
    }

    /// Stages the thread's entry of A, the `place`th of its row. Called by every thread, with barriers before and after.
    #[device(track_caller)]
    fn bring(self, a: GlobalPattern<O>, b: GlobalPattern<O>, own: RowEntries, place: u32, window: Window) {
        let is_entry = place < own.len;
        let mut entries = b.entries_if(a.column_if(own, place, is_entry), is_entry);
        if window.is_part {
            let first = lower_bound(b, entries, window.start);
            let end = window.start.checked_add(window.len);
            let behind = if let Some(end) = end { lower_bound(b, entries, end) } else { entries.len };
            entries = RowEntries { begin: entries.begin + first as usize, len: behind - first };
        }
        self.begins.store(thread::index() as usize, O::from_bits(entries.begin as u64));
        self.lens.store(thread::index() as usize, entries.len);
        let longest = warp::reduce_groups(entries.len, self.groups(), u32::max);
        self.longest.store(thread::index() as usize, longest);
    }

    #[device(track_caller)]
    fn staged(self, entry: u32) -> RowEntries {
        RowEntries { begin: self.begins.load(entry as usize).to_usize(), len: self.lens.load(entry as usize) }
    }

    /// Returns the thread's number among the lanes of a row of B.
    #[device]
    fn lane(self) -> u32 {
        thread::index() & ((1 << self.lanes_log2) - 1)
    }

    /// Sets the bits of all columns of the row of C in a window. Called by every thread, with barriers before and after.
    #[device(track_caller)]
    pub(super) fn mark(
        self,
        a: GlobalPattern<O>,
        b: GlobalPattern<O>,
        own: RowEntries,
        window: Window,
        bitmap: Bitmap,
    ) {
        let mut first = 0;
        while first < own.len {
            self.bring(a, b, own, first + thread::index(), window);
            thread::barrier();
            let staged = (own.len - first).min(BLOCK as u32);
            // Bits can be set in any order, so a warp per row of B is enough.
            let lanes_log2 = self.lanes_log2.min(thread::WARP_SIZE.ilog2());
            let mut entry = thread::index() >> lanes_log2;
            while entry < staged {
                let entries = self.staged(entry);
                let mut place = thread::index() & ((1 << lanes_log2) - 1);
                // In long rows of B, several columns are in flight.
                while self.lanes_log2 > lanes_log2 && place < entries.len {
                    let mut columns = [0; IN_FLIGHT];
                    for at in 0..IN_FLIGHT {
                        let place = place + ((at as u32) << lanes_log2);
                        columns[at] = b.column_if(entries, place, place < entries.len);
                    }
                    for at in 0..IN_FLIGHT {
                        if place + ((at as u32) << lanes_log2) < entries.len {
                            bitmap.set(columns[at]);
                        }
                    }
                    place += (IN_FLIGHT as u32) << lanes_log2;
                }
                while place < entries.len {
                    bitmap.set(b.column_if(entries, place, true));
                    place += 1 << lanes_log2;
                }
                entry += BLOCK as u32 >> lanes_log2;
            }
            thread::barrier();
            first += BLOCK as u32;
        }
    }

    /// Returns the step after `at`: more of the same row of B, or the next rows.
    #[device(track_caller)]
    fn step(self, at: StageStep, staged: u32) -> StageStep {
        let mut entry = self.base(at.entry) + self.groups();
        if self.is_alone(at.entry) {
            if at.round + (BLOCK as u32) < self.lens.load(at.entry as usize) {
                return StageStep { round: at.round + BLOCK as u32, ..at };
            }
            if at.entry + 1 < entry {
                return StageStep { entry: at.entry + 1, round: 0 };
            }
        }
        while entry < staged && self.longest.load(entry as usize) == 0 {
            entry += self.groups();
        }
        StageStep { entry, round: 0 }
    }

    /// Returns the thread's entry of B in a step; none after the last step.
    #[device(track_caller)]
    fn load<V: Arithmetic>(self, b: GlobalCsr<V, O>, at: StageStep, staged: u32) -> InB<V> {
        if at.entry >= staged {
            return InB { column: 0, right: V::ZERO, is_some: false };
        }
        let is_alone = self.is_alone(at.entry);
        let entries = self.staged(self.own_entry(at, is_alone));
        let place = at.round + if is_alone { thread::index() } else { self.lane() };
        let is_some = place < entries.len;
        InB {
            column: b.pattern().column_if(entries, place, is_some),
            right: b.value_if(entries, place, is_some),
            is_some,
        }
    }

    /// Adds a step's products to their sums, one row of B after the other. Called by every thread; ends with a barrier.
    #[device(track_caller)]
    fn add_in_turn<V: Arithmetic>(
        self,
        sums: WindowSums<V>,
        slot: u32,
        (left, right): (V, V),
        is_there: bool,
    ) {
        let group = thread::index() >> self.lanes_log2;
        // Consecutive turns within a warp.
        let in_warp = (thread::WARP_SIZE >> self.lanes_log2).max(1);
        let mut turn = 0;
        while turn < self.groups() {
            if turn == group / in_warp * in_warp {
                let mut own = turn;
                while own < turn + in_warp {
                    if own == group && is_there {
                        sums.add(slot, left, right);
                    }
                    warp::sync(warp::FULL);
                    own += 1;
                }
            }
            thread::barrier();
            turn += in_warp;
        }
    }

    /// Returns the first of the staged entries whose rows of B would be processed side by side with an entry's.
    #[device]
    fn base(self, entry: u32) -> u32 {
        entry & !(self.groups() - 1)
    }

    /// Returns whether the whole block takes an entry's row of B, because one of its neighbors' rows does not fit its
    /// lanes.
    #[device(track_caller)]
    fn is_alone(self, entry: u32) -> bool {
        self.longest.load(self.base(entry) as usize) > 1 << self.lanes_log2
    }

    /// Returns the thread's entry in a step.
    #[device]
    fn own_entry(self, at: StageStep, is_alone: bool) -> u32 {
        at.entry + if is_alone { 0 } else { thread::index() >> self.lanes_log2 }
    }
}

impl<V: Arithmetic, O: Offset, const BLOCK: usize> ValueStage<V, O, BLOCK> {
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, lanes_log2: u32) -> Self {
        let lefts = arena.take(BLOCK);
        Self { stage: WindowStage::take(arena, lanes_log2), lefts }
    }

    /// [`WindowStage::mark`] of the stage without values.
    #[device(track_caller)]
    pub(super) fn mark(
        self,
        a: GlobalPattern<O>,
        b: GlobalPattern<O>,
        own: RowEntries,
        window: Window,
        bitmap: Bitmap,
    ) {
        self.stage.mark(a, b, own, window, bitmap);
    }

    /// Adds the products in a window to its sums, those of each sum in the order of A's entries. Rows of B that fit their lanes
    /// are processed side by side and take turns; the whole block takes others. Called by every thread, with a barrier before;
    /// ends with one.
    #[device(track_caller)]
    pub(super) fn add(
        self,
        (a, b): (GlobalCsr<V, O>, GlobalCsr<V, O>),
        own: RowEntries,
        window: Window,
        bitmap: Bitmap,
        sums: WindowSums<V>,
    ) {
        let stage = self.stage;
        let mut first = 0;
        while first < own.len {
            let place = first + thread::index();
            let left = a.value_if(own, place, place < own.len);
            stage.bring(a.pattern(), b.pattern(), own, place, window);
            self.lefts.store(thread::index() as usize, left);
            thread::barrier();
            let staged = (own.len - first).min(BLOCK as u32);
            let mut at = StageStep { entry: 0, round: 0 };
            let mut product = stage.load(b, at, staged);
            while at.entry < staged {
                // The next products are loaded while these are added.
                let next = stage.step(at, staged);
                let following = stage.load(b, next, staged);
                let (slot, is_there) =
                    if product.is_some { bitmap.place(product.column) } else { (0, false) };
                let is_alone = stage.is_alone(at.entry);
                let left = self.lefts.load(stage.own_entry(at, is_alone) as usize);
                if is_alone {
                    if is_there {
                        sums.add(slot, left, product.right);
                    }
                    thread::barrier();
                } else {
                    stage.add_in_turn(sums, slot, (left, product.right), is_there);
                }
                (at, product) = (next, following);
            }
            first += BLOCK as u32;
        }
    }
}

/// Rows of B that are processed together: that of one staged entry, starting at its `round`th nonzero in the window, or
/// those of this entry and its neighbors.
#[derive(Clone, Copy)]
struct StageStep {
    entry: u32,
    round: u32,
}

/// An entry of B, if there is one.
#[derive(Clone, Copy)]
struct InB<V> {
    column: u32,
    right: V,
    is_some: bool,
}

/// The sums of a window.
#[derive(Clone, Copy)]
pub(super) struct WindowSums<V> {
    pub(super) shared: Shared<V>,
    pub(super) global: GlobalMut<V>,
    pub(super) in_shared: bool,
}

impl<V: Arithmetic> WindowSums<V> {
    #[device(track_caller)]
    pub(super) fn clear(self, place: u32) {
        if self.in_shared {
            self.shared.store(place as usize, V::ZERO);
        } else {
            self.global.store(place as usize, V::ZERO);
        }
    }

    #[device(track_caller)]
    fn add(self, place: u32, left: V, right: V) {
        let place = place as usize;
        if self.in_shared {
            self.shared.store(place, left.fma(right, self.shared.load(place)));
        } else {
            self.global.store(place, left.fma(right, self.global.load(place)));
        }
    }
}

/// Returns the number of entries with a column below `bound`.
#[device(track_caller)]
pub(super) fn lower_bound<O: Offset>(matrix: GlobalPattern<O>, entries: RowEntries, bound: u32) -> u32 {
    partition_point(0, entries.len, |place| matrix.column_if(entries, place, true) < bound)
}
