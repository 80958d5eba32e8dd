//! Sequences for measuring primitives, determined by length and seed, generated on all threads.

use evenpath::key::SortKey;
use evenpath_simt::Element;
use rayon::prelude::*;

/// Elements per task.
const CHUNK: usize = 1 << 16;

/// A number type that small integers can be converted to.
pub(crate) trait Small: Element + bytemuck::Pod {
    /// Converts the number, rounding if the type cannot represent it.
    fn from_small(number: u32) -> Self;
}

macro_rules! small {
    ($($type:ident)*) => {$(
        impl Small for $type {
            #[allow(clippy::cast_lossless)] // For some of the types it is not lossless.
            fn from_small(number: u32) -> Self {
                number as Self
            }
        }
    )*};
}
small!(u32 i32 u64 i64 f32 f64);

/// `len` keys whose lowest `bits` bits are random and whose others are zero.
pub(crate) fn random_keys<K: SortKey>(len: usize, bits: u32, seed: u64) -> Vec<K> {
    let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    (0..len).into_par_iter().map(|index| K::from_bits(random(seed, index) & mask)).collect()
}

/// `len` keys with random gaps of 1 or 2; two such sequences share two thirds of their keys.
pub(crate) fn sorted_unique<K: Small>(len: usize, seed: u64) -> Vec<K> {
    running_sums(len, seed, |bits| 1 + (bits as u32 & 1))
}

/// `len` keys with random gaps of 0, 1 or 2; a third of them equal their predecessor.
#[cfg(test)]
pub(crate) fn sorted_with_duplicates<K: Small>(len: usize, seed: u64) -> Vec<K> {
    running_sums(len, seed, |bits| (bits >> 32) as u32 % 3)
}

/// `len` keys in runs of equal ones: with probability 1/`mean_length`, a key is its predecessor plus 1,
/// otherwise equal to it.
pub(crate) fn segment_keys<K: Small>(len: usize, mean_length: u32, seed: u64) -> Vec<K> {
    running_sums(len, seed, |bits| u32::from(((bits >> 32) as u32).is_multiple_of(mean_length)))
}

/// `len` random numbers below `bound`, which is not zero.
pub(crate) fn random_numbers<T: Small>(len: usize, bound: u32, seed: u64) -> Vec<T> {
    let number = |index| T::from_small((random(seed, index) >> 32) as u32 % bound);
    (0..len).into_par_iter().map(number).collect()
}

/// The prefix sums of steps; a step is computed from 64 random bits.
fn running_sums<T: Small>(len: usize, seed: u64, step: impl Fn(u64) -> u32 + Sync) -> Vec<T> {
    let chunk = |number: usize| number * CHUNK..len.min((number + 1) * CHUNK);
    let step = |index: usize| step(random(seed, index));
    let mut before: Vec<u32> =
        (0..len.div_ceil(CHUNK)).into_par_iter().map(|number| chunk(number).map(step).sum()).collect();
    let mut total = 0;
    for before in &mut before {
        (*before, total) = (total, total + *before);
    }
    let mut sums = vec![T::ZERO; len];
    sums.par_chunks_mut(CHUNK).zip(before).enumerate().for_each(|(number, (sums, mut sum))| {
        for (index, place) in chunk(number).zip(sums) {
            sum += step(index);
            *place = T::from_small(sum);
        }
    });
    sums
}

/// The random bits of an index, from the splitmix64 stream of a seed.
pub(crate) fn random(seed: u64, index: usize) -> u64 {
    const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
    mix(mix(seed.wrapping_add(GAMMA)).wrapping_add((index as u64).wrapping_mul(GAMMA)))
}

/// The finalizer of splitmix64, a bijection.
pub(crate) fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 3 * CHUNK + 17;

    fn gaps(keys: &[u32]) -> Vec<u32> {
        keys.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Returns whether `count` of `len` is within 5 standard deviations of the expectation.
    fn is_likely(count: usize, len: usize, probability: f64) -> bool {
        let (mean, variance) = (len as f64 * probability, len as f64 * probability * (1.0 - probability));
        (count as f64 - mean).abs() <= 5.0 * variance.sqrt()
    }

    #[test]
    fn gaps_are_those_named_and_as_likely() {
        let unique = gaps(&sorted_unique(LEN, 1));
        assert!(unique.iter().all(|gap| [1, 2].contains(gap)));
        assert!(is_likely(unique.iter().filter(|&&gap| gap == 1).count(), LEN, 0.5));
        let duplicates = gaps(&sorted_with_duplicates(LEN, 1));
        for gap in 0..3 {
            assert!(is_likely(duplicates.iter().filter(|&&own| own == gap).count(), LEN, 1.0 / 3.0));
        }
        let segments = gaps(&segment_keys(LEN, 64, 1));
        assert!(segments.iter().all(|gap| [0, 1].contains(gap)));
        assert!(is_likely(segments.iter().filter(|&&gap| gap == 1).count(), LEN, 1.0 / 64.0));
    }

    #[test]
    fn keys_have_the_bits_asked_for() {
        for bits in [1, 12, 32, 40, 64] {
            let union = random_keys::<u64>(LEN, bits, 1).into_iter().fold(0, |union, key| union | key);
            assert_eq!(union, u64::MAX >> (64 - bits));
        }
        assert_eq!(random_keys::<u32>(2, 0, 1), [0, 0]);
    }

    #[test]
    fn seeds_differ_and_lengths_do_not() {
        assert_ne!(random_numbers::<u64>(100, 1000, 1), random_numbers::<u64>(100, 1000, 2));
        assert_eq!(sorted_unique::<u64>(LEN, 1)[..10], sorted_unique::<u64>(10, 1));
    }
}
