//! Pairs with a large or dense node, merged by a block, with a bitmap of the union's entries in the order of the sum.
use evenpath_simt::{device, thread, warp, Arena, Shared, Word};

use super::side::{NodeHandle, NodePair, SumTree};
use super::sink::{Sink, SumPlace};
use super::slots::{self, DenseSlots};
use crate::block::count_scan::CountScan;
use crate::block::strided::each_loaded;
use crate::hisparse::layout;

/// Words of a bitmap.
pub(super) const fn words(d_log2: u32) -> u32 {
    1 << (2 * d_log2 - 5)
}

/// Bytes of shared memory of a block.
pub(super) const fn bytes(d_log2: u32) -> u32 {
    3 * 4 * words(d_log2)
}

/// The bitmaps of a pair, and the number of entries of the union before each word.
#[derive(Clone, Copy)]
pub(super) struct Bitmaps<const BLOCK: usize> {
    union: Shared<u32>,
    /// The entries of B, if both nodes are sparse.
    b: Shared<u32>,
    before: Shared<u32>,
    scan: CountScan<u32, BLOCK>,
    d_log2: u32,
}

impl<const BLOCK: usize> Bitmaps<BLOCK> {
    /// Takes its memory from an arena of [`bytes`].
    #[device(track_caller)]
    pub(super) fn take(mut arena: Arena, scan: CountScan<u32, BLOCK>, d_log2: u32) -> Self {
        let words = words(d_log2) as usize;
        Self { union: arena.take(words), b: arena.take(words), before: arena.take(words), scan, d_log2 }
    }

    /// Marks the entries of both, and counts those of the union. It has a barrier before the bitmaps are written, and ends with
    /// one.
    #[device(track_caller)]
    pub(super) fn count<T: Word>(self, a: SumTree<T>, b: SumTree<T>, pair: NodePair) -> u32 {
        thread::barrier();
        let are_sparse = !pair.a.is_dense() && !pair.b.is_dense();
        if are_sparse {
            thread::block_stride::<BLOCK>(words(self.d_log2), |word| {
                self.union.store(word as usize, 0);
                self.b.store(word as usize, 0);
            });
        } else {
            slots::for_each::<T, BLOCK>(a, b, pair, |slots| {
                let marks = warp::ballot(warp::FULL, slots.a.to_bits() | slots.b.to_bits() != 0);
                if thread::lane() == 0 {
                    self.union.store(((slots.row << self.d_log2 | slots.col) / 32) as usize, marks);
                }
            });
        }
        thread::barrier();
        if !pair.a.is_dense() {
            for_each_entry::<T, BLOCK, false>(a, pair.a, |coordinates, _| self.mark(self.union, coordinates));
        }
        if !pair.b.is_dense() {
            for_each_entry::<T, BLOCK, false>(b, pair.b, |coordinates, _| {
                self.mark(self.union, coordinates);
                if are_sparse {
                    self.mark(self.b, coordinates);
                }
            });
        }
        thread::barrier();
        self.number()
    }

    /// Counts the marks of the union before each word; the number of all marks.
    #[device(track_caller)]
    fn number(self) -> u32 {
        let words = words(self.d_log2);
        let share = words.div_ceil(BLOCK as u32);
        let (first, end) = (thread::index() * share, ((thread::index() + 1) * share).min(words));
        let mut count = 0;
        let mut word = first;
        while word < end {
            count += self.union.load(word as usize).count_ones();
            word += 1;
        }
        let counted = self.scan.exclusive(count);
        let mut before = counted.before;
        let mut word = first;
        while word < end {
            self.before.store(word as usize, before);
            before += self.union.load(word as usize).count_ones();
            word += 1;
        }
        thread::barrier();
        counted.total
    }

    /// Passes all entries to the sink: first those of dense nodes, together; for two sparse nodes B's come first.
    #[device(track_caller)]
    pub(super) fn merge<T: Word>(self, a: SumTree<T>, b: SumTree<T>, pair: NodePair, sink: &impl Sink<T>) {
        let are_sparse = !pair.a.is_dense() && !pair.b.is_dense();
        let is_numbered = are_sparse || sink.is_ordered();
        if is_numbered {
            self.count(a, b, pair);
        }
        self.merge_counted(a, b, pair, sink, is_numbered);
    }

    /// [`merge`](Self::merge) after [`count`](Self::count) of the same pair, which is needed if `is_numbered`: then
    /// indices matter.
    #[device(track_caller)]
    pub(super) fn merge_counted<T: Word>(
        self,
        a: SumTree<T>,
        b: SumTree<T>,
        pair: NodePair,
        sink: &impl Sink<T>,
        is_numbered: bool,
    ) {
        let are_sparse = !pair.a.is_dense() && !pair.b.is_dense();
        let find = |coordinates| self.find(coordinates, is_numbered);
        if are_sparse {
            for_each_entry::<T, BLOCK, true>(b, pair.b, |coordinates, slot| {
                sink.put(find(coordinates), None, Some(slot));
            });
        } else {
            slots::for_each::<T, BLOCK>(a, b, pair, |DenseSlots { row, col, a, b }| {
                let present = |slot: T| if slot.to_bits() == 0 { None } else { Some(slot) };
                let (a, b) = (present(a), present(b));
                if a.is_some() || b.is_some() {
                    sink.put(find(layout::pack(row, col)), a, b);
                }
            });
        }
        thread::barrier();
        if !pair.a.is_dense() {
            for_each_entry::<T, BLOCK, true>(a, pair.a, |coordinates, slot| {
                let is_put = if are_sparse { self.has_b(coordinates) } else { has(b, pair.b, coordinates) };
                if is_put {
                    sink.join(find(coordinates), slot, false);
                } else {
                    sink.put(find(coordinates), Some(slot), None);
                }
            });
        } else if !pair.b.is_dense() {
            for_each_entry::<T, BLOCK, true>(b, pair.b, |coordinates, slot| {
                if has(a, pair.a, coordinates) {
                    sink.join(find(coordinates), slot, true);
                } else {
                    sink.put(find(coordinates), None, Some(slot));
                }
            });
        }
    }

    #[device(track_caller)]
    fn mark(self, bits: Shared<u32>, coordinates: u32) {
        let place = layout::place(coordinates, self.d_log2);
        bits.fetch_or((place / 32) as usize, 1 << (place % 32));
    }

    #[device(track_caller)]
    fn has_b(self, coordinates: u32) -> bool {
        let place = layout::place(coordinates, self.d_log2);
        self.b.load((place / 32) as usize) >> (place % 32) & 1 != 0
    }

    /// Returns the position of coordinates in the sum, with their index only if entries are numbered.
    #[device(track_caller)]
    fn find(self, coordinates: u32, is_numbered: bool) -> SumPlace {
        let mut index = 0;
        if is_numbered {
            let place = layout::place(coordinates, self.d_log2);
            let (word, below) = ((place / 32) as usize, (1 << (place % 32)) - 1);
            index = self.before.load(word) + (self.union.load(word) & below).count_ones();
        }
        SumPlace { index, coordinates }
    }
}

/// Returns whether a dense node has an entry.
#[device(track_caller)]
fn has<T: Word>(side: SumTree<T>, handle: NodeHandle, coordinates: u32) -> bool {
    let (row, col) = layout::unpack(coordinates);
    side.node(handle).slots.load(side.slot_of(row, col) as usize).to_bits() != 0
}

/// Entries that a thread has in flight.
const BATCH: usize = 2;

/// Calls `visit` with the coordinates in the sum and the slot of each entry of a sparse node, over the block's threads; slots
/// are zero unless `HAS_SLOTS`.
#[device(track_caller)]
fn for_each_entry<T: Word, const BLOCK: usize, const HAS_SLOTS: bool>(
    side: SumTree<T>,
    handle: NodeHandle,
    visit: impl Fn(u32, T),
) {
    let node = side.node(handle);
    each_loaded::<(u16, T), BATCH>(
        (thread::index(), BLOCK as u32, handle.len),
        |at, is_entry| {
            let coordinates = node.coordinates.load_if(at, is_entry);
            let slot = if HAS_SLOTS { node.slots.load_if(at, is_entry) } else { T::ZERO };
            (coordinates, slot)
        },
        |_, (coordinates, slot)| visit(side.oriented(u32::from(coordinates)), slot),
    );
}
