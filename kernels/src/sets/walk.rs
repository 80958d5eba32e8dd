//! A thread's share of a tile's balanced path.

use evenpath_simt::{device, thread, Shared};

use super::keep;
use super::values::ValueOrigin;
use crate::block::balanced_path::{self, PathCut};
use crate::block::two_sequences::{StagedSequences, TilePair};
use crate::unroll::unroll;
use crate::Key;

/// A thread's share: up to `ITEMS` steps, each an element of A, one of B, or a match of both.
pub(super) struct SetShare<K, const ITEMS: usize> {
    /// The key of each step.
    keys: [K; ITEMS],
    /// A bit for each step that takes an element of A.
    takes_a: u32,
    /// A bit for each step that takes an element of B.
    takes_b: u32,
    /// Elements of A and of B in the tile before the share.
    start: PathCut<u32>,
}

impl<K: Key, const ITEMS: usize> SetShare<K, ITEMS> {
    /// Finds where the thread's share of a tile begins.
    #[device]
    pub(super) fn search(pair: &TilePair, staged: StagedSequences<K>) -> PathCut<u32> {
        let diagonal = (thread::index() * ITEMS as u32).min(pair.len());
        let (a, b) = (|index: u32| staged.a.load(index as usize), |index: u32| staged.b.load(index as usize));
        balanced_path::search(diagonal, pair.a_len, pair.b_len, a, b)
    }

    /// Walks the thread's share of a tile, which begins at `start`.
    #[device]
    pub(super) fn walk(pair: &TilePair, staged: StagedSequences<K>, start: PathCut<u32>) -> Self {
        let end = ((thread::index() + 1) * ITEMS as u32).min(pair.len());
        // If keys are not sorted, the element after the tile does not stop the walk, which takes up to `ITEMS` of each
        // sequence: these, too, are inside both.
        if pair.is_inner(ITEMS) {
            Self::walk_to::<false>(pair, staged, start, end)
        } else {
            Self::walk_to::<true>(pair, staged, start, end)
        }
    }

    /// Walks from `start` to the diagonal `end`; a match that the diagonal would cut is taken whole.
    ///
    /// If both sequences continue after the tile, the elements there stop the walk; otherwise (`BOUNDED`) indices are
    /// compared. A bounded share can be empty; any other has at least `ITEMS` − 2 elements, so the first `(ITEMS - 1) /
    /// 2` steps, of at most two elements each, need not check for the end.
    #[device]
    fn walk_to<const BOUNDED: bool>(
        pair: &TilePair,
        staged: StagedSequences<K>,
        start: PathCut<u32>,
        end: u32,
    ) -> Self {
        let (a, b) = (staged.a.skip(start.a as usize), staged.b.skip(start.b as usize));
        let mut walk = SetWalk::<K, ITEMS, BOUNDED> {
            a,
            b,
            a_end: staged.a.skip(pair.a_len as usize).address(),
            b_end: staged.b.skip(pair.b_len as usize).address(),
            end: staged.a.address() + staged.b.address() + end * K::SIZE as u32,
            a_key: a.load(0),
            b_key: b.load(0),
            keys: [K::ZERO; ITEMS],
            takes_a: 0,
            takes_b: 0,
        };
        unroll!(for step in 0..ITEMS {
            walk.step(step);
        });
        Self { keys: walk.keys, takes_a: walk.takes_a, takes_b: walk.takes_b, start }
    }

    /// Returns a bit for each step that an operation keeps.
    #[device]
    pub(super) fn kept(&self, operation: u32) -> u32 {
        let all_if = |bit: u32| if operation & bit != 0 { u32::MAX } else { 0 };
        let (a, b) = (self.takes_a, self.takes_b);
        (a & !b & all_if(keep::A_ONLY)) | (a & b & all_if(keep::MATCHES)) | (b & !a & all_if(keep::B_ONLY))
    }

    /// Writes the keys of the kept steps starting at `place`.
    #[device]
    pub(super) fn scatter_keys(&self, kept: u32, to: Shared<K>, place: u32) {
        let mut place = place;
        for step in 0..ITEMS {
            if kept >> step & 1 == 1 {
                to.store(place as usize, self.keys[step]);
                place += 1;
            }
        }
    }

    /// Writes where the values of the kept steps come from, starting at `place`.
    #[device]
    pub(super) fn scatter_origins(&self, kept: u32, to: Shared<u32>, place: u32) {
        let PathCut { mut a, mut b } = self.start;
        let mut place = place;
        for step in 0..ITEMS {
            let takes_a = self.takes_a >> step & 1;
            let takes_b = self.takes_b >> step & 1;
            if kept >> step & 1 == 1 {
                to.store(place as usize, ValueOrigin::new(takes_a == 1, a, takes_b == 1, b).word());
                place += 1;
            }
            a += takes_a;
            b += takes_b;
        }
    }
}

/// A thread's position in a tile. It is a struct because variables of a loop cost counts of 64-bit keys a twentieth
/// more instructions.
struct SetWalk<K, const ITEMS: usize, const BOUNDED: bool> {
    /// The elements to come.
    a: Shared<K>,
    b: Shared<K>,
    /// The addresses where the tile's elements end.
    a_end: u32,
    b_end: u32,
    /// The sum of both addresses where the walk ends.
    end: u32,
    /// The first elements to come.
    a_key: K,
    b_key: K,
    keys: [K; ITEMS],
    takes_a: u32,
    takes_b: u32,
}

impl<K: Key, const ITEMS: usize, const BOUNDED: bool> SetWalk<K, ITEMS, BOUNDED> {
    /// Takes the next element of A, of B, or of both.
    #[device]
    fn step(&mut self, step: usize) {
        let goes_on = (!BOUNDED && step < (ITEMS - 1) / 2) || self.a.address() + self.b.address() < self.end;
        let (mut take_a, mut take_b) = (self.a_key <= self.b_key, self.b_key <= self.a_key);
        if BOUNDED {
            let (in_a, in_b) = (self.a.address() < self.a_end, self.b.address() < self.b_end);
            (take_a, take_b) = (in_a && (take_a || !in_b), in_b && (take_b || !in_a));
        }
        self.keys[step] = if take_a { self.a_key } else { self.b_key };
        if goes_on && take_a {
            self.takes_a |= 1 << step;
            self.a = self.a.skip(1);
            self.a_key = self.a.load(0);
        }
        if goes_on && take_b {
            self.takes_b |= 1 << step;
            self.b = self.b.skip(1);
            self.b_key = self.b.load(0);
        }
    }
}
