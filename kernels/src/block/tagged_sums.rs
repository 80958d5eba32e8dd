//! Sums whose parts blocks leave for one another, without ordering memory.
//!
//! Parts of a sum are counted as they arrive; the block that counts the last one adds all of them up. A fence, or an atomic
//! operation that acquires, would make this safe, but would flush the multiprocessor's first-level cache each time. Instead
//! each word that is left carries the number of the run. The last block knows that the others' words have been stored, and
//! polls until it sees them: it waits for a store, never for a block.

use core::marker::PhantomData;

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, Arithmetic, GlobalMut};

parameters! {
    /// The memory of a launch's [`TaggedSums`].
    pub struct TaggedWords {
        /// 64 bits for each 32 of a part's value; zero, or as the run before left them.
        pub words: GlobalMut<u64>,
        /// One counter per sum, zero before and after.
        pub arrived: GlobalMut<u32>,
        /// The number of the run: neither zero nor that of the run before.
        pub run: u32,
    }
}

impl TaggedWords {
    /// Sums of values of type `V` in this memory.
    #[device]
    pub fn sums<V: Arithmetic>(self) -> TaggedSums<V> {
        TaggedSums::new(self.words, self.arrived, self.run)
    }
}

/// Parts of sums, in the memory of a launch.
#[derive(Clone, Copy)]
pub struct TaggedSums<V> {
    words: GlobalMut<u64>,
    arrived: GlobalMut<u32>,
    run: u32,
    of: PhantomData<V>,
}

/// The words of a part as they were seen, perhaps before they were stored.
pub type Seen = [u64; 2];

impl<V: Arithmetic> TaggedSums<V> {
    /// 64-bit words of a part: one for each 32 bits of its value.
    const WORDS: usize = V::SIZE / 4;

    /// Sums in the memory that [`TaggedWords`] describes.
    #[device]
    pub fn new(words: GlobalMut<u64>, arrived: GlobalMut<u32>, run: u32) -> Self {
        Self { words, arrived, run, of: PhantomData }
    }

    /// Leaves one of the `parts` of the sum `sum` at `place`; whether all are left, or about to be.
    #[device(track_caller)]
    pub fn leave(self, place: usize, part: V, sum: usize, parts: u32) -> bool {
        self.put(place, part);
        self.arrive(sum, parts)
    }

    /// Leaves a part at `place`, without counting it.
    #[device(track_caller)]
    pub fn put(self, place: usize, part: V) {
        for word in 0..Self::WORDS {
            let bits = part.to_bits() >> (32 * word) & u64::from(u32::MAX);
            let tagged = bits | u64::from(self.run) << 32;
            self.words.atomic_store(Self::WORDS * place + word, tagged, Ordering::Relaxed, Scope::Device);
        }
    }

    /// Counts the parts that were put for `sum` as one of `parts`. Returns whether all parts are there, or about to be.
    #[device(track_caller)]
    pub fn arrive(self, sum: usize, parts: u32) -> bool {
        let arrived = self.arrived.fetch_add(sum, 1, Ordering::Relaxed, Scope::Device);
        let is_last = arrived + 1 == parts;
        if is_last {
            self.arrived.atomic_store(sum, 0, Ordering::Relaxed, Scope::Device);
        }
        is_last
    }

    /// Returns the words of a part as they are now.
    #[device(track_caller)]
    pub fn look(self, place: usize) -> Seen {
        let load =
            |word| self.words.atomic_load(Self::WORDS * place + word, Ordering::Relaxed, Scope::Device);
        [load(0), if Self::WORDS > 1 { load(1) } else { 0 }]
    }

    /// Returns the part whose words are `seen`, or waits for them. The part must be stored already, or be counted in this
    /// run.
    #[device(track_caller)]
    pub fn part(self, place: usize, mut seen: Seen) -> V {
        let is_there = |seen: Seen| {
            let other = if Self::WORDS > 1 { seen[1] } else { seen[0] };
            seen[0] >> 32 == u64::from(self.run) && other >> 32 == u64::from(self.run)
        };
        while !is_there(seen) {
            thread::spin_hint();
            seen = self.look(place);
        }
        V::from_bits(if Self::WORDS > 1 { seen[0] & u64::from(u32::MAX) | seen[1] << 32 } else { seen[0] })
    }
}
