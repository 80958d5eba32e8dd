//! Numbers that look random, the same on every device and in every run.

use evenpath::{Device, DeviceVec, Value};

use crate::error::Result;

/// Numbers per row of the finest level. Coarser levels take the first of them.
pub(super) struct Seeds<V: Value> {
    /// Distinct whole numbers from 1 to 2³².
    pub(super) priorities: DeviceVec<f64>,
    /// Numbers between −1 and 1.
    pub(super) signs: DeviceVec<V>,
}

impl<V: Value> Seeds<V> {
    pub(super) fn new(device: &Device, len: usize) -> Result<Self> {
        let hashes = || (0..len as u32).map(mix);
        let priorities: Vec<f64> = hashes().map(|hash| f64::from(hash) + 1.0).collect();
        let signs: Vec<V> =
            hashes().map(|hash| V::from_f64(f64::from(hash) / f64::from(1 << 31) - 1.0)).collect();
        Ok(Self { priorities: device.upload(&priorities)?, signs: device.upload(&signs)? })
    }
}

/// A permutation of the 32-bit numbers: the last step of `MurmurHash3`.
fn mix(index: u32) -> u32 {
    let mut hash = index ^ 0x9e37_79b9;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
