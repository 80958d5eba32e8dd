//! The values of a tile's results: from the inputs straight to the output.

use evenpath_simt::{device, thread, Global, GlobalMut, Shared};

use crate::key::Combine;
use crate::unroll::unroll;
use crate::ValueBits;

/// Origin of a result's value: an element of A, one of B, or both, counted from the tile's first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueOrigin(u32);

const FROM_A: u32 = 1 << 31;
const FROM_B: u32 = 1 << 30;
/// Bits of an index: tiles have fewer elements.
const INDEX_BITS: u32 = 15;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

impl ValueOrigin {
    /// No origin.
    const NONE: Self = Self(0);

    /// Returns the origin in element `a` of A if that is taken, and element `b` of B if that is.
    #[device]
    pub(super) fn new(takes_a: bool, a: u32, takes_b: bool, b: u32) -> Self {
        let flag = |taken: bool, flag: u32| if taken { flag } else { 0 };
        Self(flag(takes_a, FROM_A) | flag(takes_b, FROM_B) | b << INDEX_BITS | a)
    }

    /// Returns the word that shared memory holds.
    #[device]
    pub(super) fn word(self) -> u32 {
        self.0
    }

    #[device]
    fn is_of_a(self) -> bool {
        self.0 >= FROM_A
    }

    #[device]
    fn is_match(self) -> bool {
        self.0 >= FROM_A | FROM_B
    }

    #[device]
    fn a(self) -> usize {
        (self.0 & INDEX) as usize
    }

    #[device]
    fn b(self) -> usize {
        (self.0 >> INDEX_BITS & INDEX) as usize
    }
}

/// Values of B that are in flight at once: as many as there are registers for.
const BATCH: usize = 5;

/// The values of a thread's share of a tile's results, every `BLOCK`th.
pub(super) struct ResultValues<V, const BLOCK: usize, const ITEMS: usize>([V; ITEMS]);

impl<V: ValueBits, const BLOCK: usize, const ITEMS: usize> ResultValues<V, BLOCK, ITEMS> {
    /// Loads the values of `count` results from their origins, which are in shared memory; of matches, A's. The inputs
    /// begin with the tile's first elements.
    #[device(track_caller)]
    pub(super) fn fetch((a, b): (Global<V>, Global<V>), origins: Shared<u32>, count: u32) -> Self {
        let mut own = [ValueOrigin::NONE; ITEMS];
        for item in 0..ITEMS {
            own[item] = Self::origin(origins, item, count);
        }
        let mut values = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            let (view, index) = if own[item].is_of_a() { (a, own[item].a()) } else { (b, own[item].b()) };
            if own[item] != ValueOrigin::NONE {
                values[item] = view.load(index);
            }
        }
        Self(values)
    }

    /// Returns the same with the values of matches combined, A's first. This is separate from [`fetch`](Self::fetch) so
    /// that other work hides the latency of memory.
    #[device(track_caller)]
    pub(super) fn combined(
        mut self,
        (_, b): (Global<V>, Global<V>),
        origins: Shared<u32>,
        count: u32,
        combine: Combine,
    ) -> Self {
        if combine != Combine::First {
            for_batches::<ITEMS>(|first| self.combine_batch(first, b, origins, count, combine));
        }
        self
    }

    /// Combines the matches among [`BATCH`] results.
    #[device(track_caller)]
    fn combine_batch(
        &mut self,
        first: usize,
        b: Global<V>,
        origins: Shared<u32>,
        count: u32,
        combine: Combine,
    ) {
        let mut own = [ValueOrigin::NONE; BATCH];
        let mut others = [V::ZERO; BATCH];
        for item in first..ITEMS.min(first + BATCH) {
            own[item - first] = Self::origin(origins, item, count);
            if own[item - first].is_match() {
                others[item - first] = b.load(own[item - first].b());
            }
        }
        for item in first..ITEMS.min(first + BATCH) {
            if own[item - first].is_match() {
                self.0[item] = self.0[item].combine(others[item - first], combine);
            }
        }
    }

    /// Returns the origin of one of the thread's results, of which the block has `count`.
    #[device(track_caller)]
    fn origin(origins: Shared<u32>, item: usize, count: u32) -> ValueOrigin {
        let place = thread::index() + (item * BLOCK) as u32;
        if place < count {
            ValueOrigin(origins.load(place as usize))
        } else {
            ValueOrigin::NONE
        }
    }

    /// Writes the first `count` of the block's values to the output starting at `start`.
    #[device(track_caller)]
    pub(super) fn store(&self, output: GlobalMut<V>, start: usize, count: u32) {
        let output = output.skip(start);
        for item in 0..ITEMS {
            let place = thread::index() + (item * BLOCK) as u32;
            if place < count {
                output.store_streaming(place as usize, self.0[item]);
            }
        }
    }
}

/// Calls `combine` with the first item of each batch. Without the call, batches take registers that spill.
#[device(track_caller)]
fn for_batches<const ITEMS: usize>(mut combine: impl FnMut(usize)) {
    unroll!(for batch in 0..ITEMS {
        if batch * BATCH < ITEMS {
            combine(batch * BATCH);
        }
    });
}
