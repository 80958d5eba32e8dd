//! Cache of freed blocks of device memory.
//!
//! The driver's stream-ordered allocator would do this too, but its memory belongs to the GPU and not to a
//! context: destroying a device object's context would not free it. Blocks of `cuMemAlloc` die with their
//! context. `cuMemFree`, however, waits for the whole device, so freed blocks are kept here and reused at
//! once. This is sound because the last use of a block was launched before the block was freed: in the same
//! stream it completes before the next use, and a use in another stream waits for it, since the history of an
//! address range ([`Order`](crate::device::order::Order)) outlives the block.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::device::machine::MemoryBlock;

/// Allocations of at least this size are rounded up to a multiple of it, as the driver does.
const LARGE: u64 = 2 << 20;
/// Smaller allocations are rounded up to a multiple of this.
const SMALL: u64 = 512;

/// Number of blocks that were cached before this one.
type Time = u64;

/// Free blocks.
#[derive(Debug)]
pub(super) struct Cache {
    /// Addresses by size. Among blocks of one size, the most recent comes first.
    blocks: BTreeMap<(u64, Reverse<Time>), u64>,
    /// Sizes by age.
    ages: BTreeMap<Time, u64>,
    now: Time,
    bytes: u64,
    capacity: u64,
}

impl Cache {
    /// Creates an empty cache that keeps up to `capacity` bytes.
    pub(super) fn new(capacity: u64) -> Self {
        Self { blocks: BTreeMap::new(), ages: BTreeMap::new(), now: 0, bytes: 0, capacity }
    }

    /// Total bytes of all cached blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of bytes to request from the driver for `bytes`.
    pub(super) fn round(bytes: u64) -> u64 {
        let step = if bytes < LARGE { SMALL } else { LARGE };
        bytes.checked_next_multiple_of(step).unwrap_or(bytes)
    }

    /// Takes the smallest block of at least `bytes` bytes, unless more than a fifth of it would be unused.
    pub(super) fn take(&mut self, bytes: u64) -> Option<MemoryBlock> {
        let wanted = Self::round(bytes);
        let most = wanted.saturating_add(wanted / 4);
        let fitting = (wanted, Reverse(Time::MAX))..=(most, Reverse(0));
        let (&(size, time), _) = self.blocks.range(fitting).next()?;
        self.remove(size, time)
    }

    /// Adds a block. Returns the blocks to free so that the capacity is not exceeded: the least recently
    /// used, or this one if it is larger than the capacity.
    pub(super) fn put(&mut self, block: MemoryBlock) -> Vec<MemoryBlock> {
        if block.bytes > self.capacity {
            return vec![block];
        }
        let mut evicted = Vec::new();
        while block.bytes > self.capacity - self.bytes {
            let Some((&time, &size)) = self.ages.first_key_value() else { break };
            evicted.extend(self.remove(size, Reverse(time)));
        }
        self.blocks.insert((block.bytes, Reverse(self.now)), block.address);
        self.ages.insert(self.now, block.bytes);
        self.now += 1;
        self.bytes += block.bytes;
        evicted
    }

    fn remove(&mut self, size: u64, time: Reverse<Time>) -> Option<MemoryBlock> {
        let address = self.blocks.remove(&(size, time))?;
        self.ages.remove(&time.0);
        self.bytes -= size;
        Some(MemoryBlock { address, bytes: size })
    }

    /// Empties the cache and returns the addresses of its blocks.
    pub(super) fn drain(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.ages.clear();
        std::mem::take(&mut self.blocks).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_for_sizes_they_fit() {
        let mut cache = Cache::new(1 << 30);
        let block = MemoryBlock { address: 0x1000, bytes: Cache::round(3_000) };
        assert_eq!(block.bytes, 3_072);
        assert_eq!(cache.put(block), []);
        assert_eq!(cache.bytes(), 3_072);
        assert_eq!(cache.take(3_073), None, "too small");
        assert_eq!(cache.take(2_000), None, "more than a fifth idle");
        assert_eq!(cache.take(2_561), Some(block));
        assert_eq!((cache.take(2_561), cache.bytes()), (None, 0));
    }

    #[test]
    fn the_smallest_fitting_block_comes_first() {
        let mut cache = Cache::new(u64::MAX);
        for (address, mebibytes) in [(1, 12), (2, 10), (3, 10)] {
            assert_eq!(cache.put(MemoryBlock { address, bytes: mebibytes << 20 }), []);
        }
        let taken: Vec<u64> =
            std::iter::from_fn(|| cache.take(10 << 20)).map(|block| block.address).collect();
        assert_eq!(taken, [3, 2, 1]);
    }

    #[test]
    fn blocks_unused_for_longest_are_given_back() {
        let mut cache = Cache::new(4_096);
        let block = |address, bytes| MemoryBlock { address, bytes };
        for address in 1..=4 {
            assert_eq!(cache.put(block(address, 1_024)), []);
        }
        // The fourth was used again and is no longer older than the others.
        assert_eq!(cache.take(1_024), Some(block(4, 1_024)));
        assert_eq!(cache.put(block(4, 1_024)), []);
        assert_eq!(cache.put(block(5, 1_536)), [block(1, 1_024), block(2, 1_024)]);
        assert_eq!(cache.bytes(), 3_584);
        assert_eq!(cache.put(block(6, 4_608)), [block(6, 4_608)], "larger than the capacity");
        assert_eq!(cache.drain(), [4, 3, 5]);
        assert_eq!((cache.bytes(), cache.take(1_024)), (0, None));
        assert_eq!(cache.put(block(7, 4_096)), []);
        assert_eq!(cache.put(block(8, 512)), [block(7, 4_096)]);
    }

    #[test]
    fn sizes_near_the_end_of_the_range_do_not_overflow() {
        let mut cache = Cache::new(u64::MAX);
        assert_eq!(cache.take(u64::MAX), None);
        assert_eq!(Cache::round(u64::MAX), u64::MAX);
        assert_eq!(Cache::round(LARGE + 1), 2 * LARGE);
    }
}
