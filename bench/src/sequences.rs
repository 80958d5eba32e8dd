//! Sorted sequences of keys to measure merges and set operations with.

use evenpath::{Device, DeviceKind, Key};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::json;

use crate::measure::median;
use crate::report::Report;

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

/// Keys of each input that an example takes by default: what the device can do in a moment.
pub fn default_len(device: &Device) -> usize {
    match device.kind() {
        DeviceKind::Cuda(_) => 1 << 24,
        DeviceKind::Cpu => 1 << 20,
        DeviceKind::Simulated => 5000,
    }
}

/// Adds a measurement to an example's report: `what` was done to `elements` elements, and `bytes` bytes moved.
pub fn report(
    report: &mut Report,
    what: &str,
    times_ms: &[f64],
    elements: usize,
    bytes: usize,
    copy_gbps: f64,
) {
    let ms = median(times_ms);
    let (giga_elements, gbps) = (elements as f64 / ms / 1e6, bytes as f64 / ms / 1e6);
    let copy_share = gbps / copy_gbps;
    report.line(
        "time",
        format_args!(
            "{what}: {ms:.4} ms, median of {}; {giga_elements:.2} Gkeys/s, {gbps:.1} GB/s, {copy_share:.3} of the copy rate",
            times_ms.len()
        ),
        json!({ what: { "ms": ms, "gkeys_s": giga_elements, "gbps": gbps, "copy_share": copy_share } }),
    );
}
