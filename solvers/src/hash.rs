//! Vectors without structure that are the same in every run.

use evenpath::Value;

/// Numbers between −1 and 1 that depend on the seed and the index alone (SplitMix64).
pub(crate) fn hashed<V: Value>(seed: u64, len: usize) -> Vec<V> {
    let number = |at: u64| {
        let mut bits = (at + 1).wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..len as u64).map(|at| V::from_f64(number(at))).collect()
}
