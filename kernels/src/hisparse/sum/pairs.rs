//! Who merges which pair.

use evenpath_simt::{thread, warp, Element, Global, Shared};

use super::{small, Pair, Part, Side};

/// The pairs of a level.
#[derive(Clone, Copy)]
pub(super) struct Pairs<T> {
    pub(super) a: Side<T>,
    pub(super) b: Side<T>,
    /// References to nodes of A in the lower halves of words, of B in the upper; not of the root's level.
    pub(super) words: Global<u64>,
    /// The word of the root's level; else zero.
    pub(super) root: u64,
    pub(super) len: u32,
    /// Pairs of a warp, at most 32.
    pub(super) share: u32,
}

impl<T: Element> Pairs<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load(self, number: u32, is_pair: bool) -> Pair {
        let word = if self.root == 0 { self.words.load_if(number as usize, is_pair) } else { self.root };
        let word = if is_pair { word } else { 0 };
        Pair { a: self.a.part(word as u32), b: self.b.part((word >> 32) as u32) }
    }

    /// Calls `small` in a warp for each of its pairs that is small, then `large` in the block for each of its pairs that is
    /// not, with its number; `masks` has a word a warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn for_each<const BLOCK: usize>(
        self,
        masks: Shared<u32>,
        small: impl Fn(u32, Pair),
        large: impl Fn(u32, Pair),
    ) {
        let warps = BLOCK as u32 / thread::WARP_SIZE;
        let first = |warp: u32| (thread::block() * warps + warp) * self.share;
        let own_first = first(thread::warp());
        let number = own_first + thread::lane();
        let is_pair = thread::lane() < self.share && number < self.len;
        let own = self.load(number, is_pair);
        let is_small = small::takes(self.a, own.a) && small::takes(self.b, own.b);
        let mut left = warp::ballot(warp::FULL, is_pair && is_small);
        let large_ones = warp::ballot(warp::FULL, is_pair && !is_small);
        while left != 0 {
            let lane = left.trailing_zeros();
            let part = |part: Part| Part {
                reference: warp::shuffle(warp::FULL, part.reference, lane),
                len: warp::shuffle(warp::FULL, part.len, lane),
            };
            small(own_first + lane, Pair { a: part(own.a), b: part(own.b) });
            left &= left - 1;
        }
        if thread::lane() == 0 {
            masks.store(thread::warp() as usize, large_ones);
        }
        thread::barrier();
        let mut of_warp = 0;
        while of_warp < warps {
            let mut left = masks.load(of_warp as usize);
            while left != 0 {
                let number = first(of_warp) + left.trailing_zeros();
                large(number, self.load(number, true));
                left &= left - 1;
            }
            of_warp += 1;
        }
    }
}
