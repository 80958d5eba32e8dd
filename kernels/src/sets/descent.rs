use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use crate::Key;

kernel! {
    /// Finds the first key that is less than the one before it, and reads the first and the last.
    pub struct FirstDescent<K: Key> {
        /// `len` keys.
        pub keys: Global<K>,
        /// Output, all ones before: the index of the key, if there is one; the first key and the last.
        pub found: GlobalMut<u64>,
        /// Keys.
        pub len: u64,
    }
    shared: 0;
    body: FirstDescent::first_descent::<BLOCK, ITEMS>;
    entry: sets_descent_{K} in sets_{K}: K in [u32, u64], 256 x 8;
}

impl<K: Key> FirstDescent<K> {
    fn first_descent<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let start = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        let last = self.len as usize - 1;
        if start == 0 {
            self.found.store(1, self.keys.load(0).to_bits());
            self.found.store(2, self.keys.load(last).to_bits());
        }
        let mut earlier = [K::ZERO; ITEMS];
        let mut later = [K::ZERO; ITEMS];
        for item in 0..ITEMS {
            let place = start + item * BLOCK;
            earlier[item] = self.keys.load(place.min(last));
            later[item] = self.keys.load((place + 1).min(last));
        }
        let mut descent = usize::MAX;
        for item in 0..ITEMS {
            let place = start + item * BLOCK + 1;
            // Past the end, both are the last key.
            if later[item] < earlier[item] && place < descent {
                descent = place;
            }
        }
        if descent != usize::MAX {
            self.found.fetch_min(0, descent as u64, Ordering::Relaxed, Scope::Device);
        }
    }
}
