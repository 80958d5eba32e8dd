//! A thread's part of a tile's balanced path.

use evenpath_simt::{thread, Shared};

use super::keep;
use crate::block::balanced_path::{self, Cut};
use crate::block::two_sequences::{Staged, TilePair};
use crate::key::Combine;
use crate::{Bits, Key};

/// A thread's share: up to `ITEMS` steps, each an element of A, one of B, or a match of both.
pub(super) struct Share<K, const ITEMS: usize> {
    /// The key of each step.
    keys: [K; ITEMS],
    /// A bit for each step that takes an element of A.
    takes_a: u32,
    /// A bit for each step that takes an element of B.
    takes_b: u32,
    /// Elements of A and of B in the tile before the share.
    start: Cut<u32>,
}

impl<K: Key, const ITEMS: usize> Share<K, ITEMS> {
    /// Finds and walks the thread's share of a tile.
    #[inline(always)]
    pub(super) fn find(pair: &TilePair, staged: Staged<K>) -> Self {
        let diagonal = (thread::index() * ITEMS as u32).min(pair.len());
        let a = |index: u32| staged.elements.load((staged.a + index) as usize);
        let b = |index: u32| staged.elements.load((staged.b + index) as usize);
        let start = balanced_path::search(diagonal, pair.a_len, pair.b_len, a, b);
        let end = (diagonal + ITEMS as u32).min(pair.len());
        if pair.is_inner() {
            Self::walk::<false>(pair, staged, start, end)
        } else {
            Self::walk::<true>(pair, staged, start, end)
        }
    }

    /// Walks from `start` to the diagonal `end`; a match that the diagonal would cut is taken whole.
    ///
    /// Where both sequences go on behind the tile, comparing with the element there is right at the
    /// tile's end too; elsewhere (`BOUNDED`) indices are compared. Then the share can also be empty; in
    /// the other case it has at least `ITEMS` − 2 elements, so the first `(ITEMS - 1) / 2` steps, of at
    /// most two elements each, need not look for the end.
    #[inline(always)]
    fn walk<const BOUNDED: bool>(pair: &TilePair, staged: Staged<K>, start: Cut<u32>, end: u32) -> Self {
        let (mut a, mut b) = (staged.a + start.a, staged.b + start.b);
        let (a_end, b_end) = (staged.a + pair.a_len, staged.b + pair.b_len);
        let end = staged.a + staged.b + end;
        let mut a_key = staged.elements.load(a as usize);
        let mut b_key = staged.elements.load(b as usize);
        let mut keys = [K::ZERO; ITEMS];
        let (mut takes_a, mut takes_b) = (0, 0);
        for step in 0..ITEMS {
            let goes_on = (!BOUNDED && step < (ITEMS - 1) / 2) || a + b < end;
            let (mut take_a, mut take_b) = (a_key <= b_key, b_key <= a_key);
            if BOUNDED {
                let (in_a, in_b) = (a < a_end, b < b_end);
                take_a = in_a && (take_a || !in_b);
                take_b = in_b && (take_b || !in_a);
            }
            keys[step] = if take_a { a_key } else { b_key };
            if goes_on && take_a {
                takes_a |= 1 << step;
                a += 1;
                a_key = staged.elements.load(a as usize);
            }
            if goes_on && take_b {
                takes_b |= 1 << step;
                b += 1;
                b_key = staged.elements.load(b as usize);
            }
        }
        Self { keys, takes_a, takes_b, start }
    }

    /// A bit for each step that an operation keeps.
    #[inline(always)]
    pub(super) fn kept(&self, operation: u32) -> u32 {
        let all_if = |bit: u32| if operation & bit != 0 { u32::MAX } else { 0 };
        let (a, b) = (self.takes_a, self.takes_b);
        (a & !b & all_if(keep::A_ONLY)) | (a & b & all_if(keep::MATCHES)) | (b & !a & all_if(keep::B_ONLY))
    }

    /// Writes the keys of the kept steps from `place` on.
    #[inline(always)]
    pub(super) fn scatter_keys(&self, kept: u32, to: Shared<K>, place: u32) {
        scatter(&self.keys, kept, to, place);
    }

    /// The values of the kept steps.
    #[inline(always)]
    pub(super) fn gather<V: Bits>(&self, kept: u32, staged: Staged<V>, combine: Combine) -> [V; ITEMS] {
        let (mut a, mut b) = (staged.a + self.start.a, staged.b + self.start.b);
        let mut values = [V::ZERO; ITEMS];
        for step in 0..ITEMS {
            let takes_a = self.takes_a >> step & 1 == 1;
            let takes_b = self.takes_b >> step & 1 == 1;
            if kept >> step & 1 == 1 {
                values[step] = staged.elements.load(if takes_a { a } else { b } as usize);
                if takes_a && takes_b && combine != Combine::First {
                    values[step] = values[step].combine(staged.elements.load(b as usize), combine);
                }
            }
            a += u32::from(takes_a);
            b += u32::from(takes_b);
        }
        values
    }
}

/// Writes the elements whose bits are set in `kept` from `place` on.
#[inline(always)]
pub(super) fn scatter<T: evenpath_simt::Element, const ITEMS: usize>(
    elements: &[T; ITEMS],
    kept: u32,
    to: Shared<T>,
    place: u32,
) {
    let mut place = place;
    for step in 0..ITEMS {
        if kept >> step & 1 == 1 {
            to.store(place as usize, elements[step]);
            place += 1;
        }
    }
}
