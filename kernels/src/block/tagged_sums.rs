//! Sums whose parts blocks leave for one another, without ordering memory.
//!
//! Parts of a sum are counted as they arrive; the block that counts the last one adds all of them up. A fence, or an atomic
//! operation that acquires, would make this safe, but would flush the multiprocessor's first-level cache each time. Instead
//! each word that is left carries the number of the run. The last block knows that the others' words have been stored, and
//! polls until it sees them: it waits for a store, never for a block.

use core::marker::PhantomData;

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, Arithmetic, Element, GlobalMut, Words};

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

/// Tagged words of a word of a part's value as they were seen, perhaps before they were stored.
pub type SeenWord = [u64; 2];

/// The tagged words of a part.
pub type Seen<V> = <<V as Element>::Words as Words>::Each<SeenWord>;

impl<V: Arithmetic> TaggedSums<V> {
    /// Tagged words of a word of a part's value: one for each 32 bits.
    const WORDS: usize = V::WORD_SIZE / 4;

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
        V::Words::each(|index| {
            for word in 0..Self::WORDS {
                let bits = part.to_bits().word(index) >> (32 * word) & u64::from(u32::MAX);
                let tagged = bits | u64::from(self.run) << 32;
                let place = Self::WORDS * (V::Words::COUNT * place + index) + word;
                self.words.atomic_store(place, tagged, Ordering::Relaxed, Scope::Device);
            }
        });
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
    pub fn look(self, place: usize) -> Seen<V> {
        V::Words::each(|index| self.look_at_word(V::Words::COUNT * place + index))
    }

    /// Returns the tagged words of a word of a part's value.
    #[device(track_caller)]
    fn look_at_word(self, place: usize) -> SeenWord {
        let load =
            |word| self.words.atomic_load(Self::WORDS * place + word, Ordering::Relaxed, Scope::Device);
        [load(0), if Self::WORDS > 1 { load(1) } else { 0 }]
    }

    /// Returns the part whose words are `seen`, or waits for them. The part must be stored already, or be counted in this
    /// run.
    #[device(track_caller)]
    pub fn part(self, place: usize, seen: Seen<V>) -> V {
        V::from_bits(V::Words::from_fn(|index| {
            self.part_word(V::Words::COUNT * place + index, V::Words::of(seen, index))
        }))
    }

    /// Returns a word of a part's value, or waits for it.
    #[device(track_caller)]
    fn part_word(self, place: usize, mut seen: SeenWord) -> u64 {
        let is_there = |seen: SeenWord| {
            let other = if Self::WORDS > 1 { seen[1] } else { seen[0] };
            seen[0] >> 32 == u64::from(self.run) && other >> 32 == u64::from(self.run)
        };
        while !is_there(seen) {
            thread::spin_hint();
            seen = self.look_at_word(place);
        }
        if Self::WORDS > 1 {
            seen[0] & u64::from(u32::MAX) | seen[1] << 32
        } else {
            seen[0]
        }
    }
}
