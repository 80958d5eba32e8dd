//! Who merges which pair.

use evenpath_simt::{thread, warp, Element, Global, Shared};

use super::{tiny, Pair, Part, Side};

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
    /// Pairs of a block, at most one a thread.
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

    /// Calls `tiny` in a thread, `small` in a warp, and then `large` in the block for each of its pairs that is such, with its
    /// number; `is_small` says which nodes are for a warp, and `masks` has a word a warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn for_each<const BLOCK: usize>(
        self,
        masks: Shared<u32>,
        is_small: impl Fn(Part) -> bool,
        tiny: impl Fn(u32, Pair),
        small: impl Fn(u32, Pair),
        large: impl Fn(u32, Pair),
    ) {
        let warps = BLOCK as u32 / thread::WARP_SIZE;
        let of_warp = self.share.div_ceil(warps);
        let of_block = thread::block() * self.share;
        let first = of_block + thread::warp() * of_warp;
        let number = first + thread::lane();
        let is_pair = thread::lane() < of_warp && number < self.len.min(of_block + self.share);
        let own = self.load(number, is_pair);
        let is_tiny = is_pair && tiny::takes(own.a) && tiny::takes(own.b);
        let is_small = is_small(own.a) && is_small(own.b);
        let mut small_ones = warp::ballot(warp::FULL, is_pair && !is_tiny && is_small);
        let large_ones = warp::ballot(warp::FULL, is_pair && !is_tiny && !is_small);
        if is_tiny {
            tiny(number, own);
        }
        while small_ones != 0 {
            let lane = small_ones.trailing_zeros();
            let part = |part: Part| Part {
                reference: warp::shuffle(warp::FULL, part.reference, lane),
                len: warp::shuffle(warp::FULL, part.len, lane),
                head: [0; 2],
            };
            small(first + lane, Pair { a: part(own.a), b: part(own.b) });
            small_ones &= small_ones - 1;
        }
        if thread::lane() == 0 {
            masks.store(thread::warp() as usize, large_ones);
        }
        thread::barrier();
        let mut warp = 0;
        while warp < warps {
            let mut left = masks.load(warp as usize);
            while left != 0 {
                let number = of_block + warp * of_warp + left.trailing_zeros();
                large(number, self.load(number, true));
                left &= left - 1;
            }
            warp += 1;
        }
    }
}
