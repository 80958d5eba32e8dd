//! Lists that are made in any order.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, warp, GlobalMut};

parameters! {
    /// A list that a kernel makes, in any order.
    pub struct UnorderedList {
        /// Output: the elements.
        pub elements: GlobalMut<u32>,
        /// Output, zero before: how many they are.
        pub count: GlobalMut<u32>,
    }
}

impl UnorderedList {
    /// Adds the elements of the lanes that have one. All lanes of a warp call it.
    #[device(track_caller)]
    pub fn add(self, element: u32, is_one: bool) {
        let lanes = warp::ballot(warp::FULL, is_one);
        if lanes == 0 {
            return;
        }
        let mut base = 0;
        if thread::lane() == 0 {
            base = self.count.fetch_add(0, lanes.count_ones(), Ordering::Relaxed, Scope::Device);
        }
        base = warp::shuffle(warp::FULL, base, 0);
        if is_one {
            self.elements.store((base + warp::count_below(lanes)) as usize, element);
        }
    }
}
