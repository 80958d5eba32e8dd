//! Sorted sequences of keys to measure merges and set operations with.

use evenpath::Key;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A key that small numbers can be made into.
pub trait SmallKey: Key {
    /// The key of a number.
    fn from_small(number: u32) -> Self;
}

impl SmallKey for u32 {
    fn from_small(number: u32) -> Self {
        number
    }
}

impl SmallKey for u64 {
    fn from_small(number: u32) -> Self {
        u64::from(number)
    }
}

/// `len` keys with gaps of 1 or 2, at random: two such sequences have two thirds of their keys in common.
pub fn sorted_unique<K: SmallKey>(len: usize, seed: u64) -> Vec<K> {
    sorted(len, seed, |bits| 1 + (bits as u32 & 1))
}

/// `len` keys with gaps of 0, 1 or 2, at random: a third of them is as the one before.
pub fn sorted_with_duplicates<K: SmallKey>(len: usize, seed: u64) -> Vec<K> {
    sorted(len, seed, |bits| (bits >> 32) as u32 % 3)
}

fn sorted<K: SmallKey>(len: usize, seed: u64, gap: impl Fn(u64) -> u32) -> Vec<K> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut number = 0;
    (0..len)
        .map(|_| {
            number += gap(random.next_u64());
            K::from_small(number)
        })
        .collect()
}
