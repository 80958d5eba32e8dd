//! A hash that makes random numbers of counters, and maps by it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash map by addresses, blocks or operations. The hash is fast and does not resist keys that are chosen to collide.
pub(super) type IntegerMap<K, V> = HashMap<K, V, BuildHasherDefault<IntegerHasher>>;

/// Hashes an integer by [`mix`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IntegerHasher(u64);

impl Hasher for IntegerHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, key: u32) {
        self.write_u64(key.into());
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(self.0 ^ key);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the finalizer of `SplitMix64`.
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
