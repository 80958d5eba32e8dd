//! Blocks of device memory that were freed and wait to be used again.
//!
//! The driver's own stream-ordered allocator would do this too, but what it allocates belongs to the GPU and not to a
//! context: destroying a device object's context would not free it. Blocks of `cuMemAlloc` die with their context. `cuMemFree` however waits for the whole device, so blocks are kept here instead and handed
//! out again at once. That is sound because whatever used a block before was launched before it was freed: in the same stream it is
//! done before what uses the block next, and a use in another stream waits for it, since what is known of a range of addresses
//! ([`Order`](crate::device::order::Order)) stays when its block is freed.

use std::collections::BTreeMap;

use crate::device::machine::Block;

/// Allocations from this size on are multiples of it, as the driver's are.
const LARGE: u64 = 2 << 20;
/// Smaller ones are multiples of this.
const SMALL: u64 = 512;

/// Free blocks by size.
#[derive(Debug)]
pub(super) struct Cache {
    blocks: BTreeMap<u64, Vec<u64>>,
    bytes: u64,
    capacity: u64,
}

impl Cache {
    /// An empty cache that keeps up to `capacity` bytes.
    pub(super) fn new(capacity: u64) -> Self {
        Self { blocks: BTreeMap::new(), bytes: 0, capacity }
    }

    /// Bytes of all blocks in it.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes to ask the driver for when `bytes` are wanted.
    pub(super) fn round(bytes: u64) -> u64 {
        let step = if bytes < LARGE { SMALL } else { LARGE };
        bytes.checked_next_multiple_of(step).unwrap_or(bytes)
    }

    /// Takes out the smallest block of at least `bytes` bytes, unless more than a fifth of it would be idle.
    pub(super) fn take(&mut self, bytes: u64) -> Option<Block> {
        let wanted = Self::round(bytes);
        let (&size, addresses) = self.blocks.range_mut(wanted..=wanted.saturating_add(wanted / 4)).next()?;
        let address = addresses.pop()?;
        if addresses.is_empty() {
            self.blocks.remove(&size);
        }
        self.bytes -= size;
        Some(Block { address, bytes: size })
    }

    /// Keeps a block; gives it back if that would be over the capacity.
    pub(super) fn put(&mut self, block: Block) -> Result<(), Block> {
        if block.bytes > self.capacity - self.bytes {
            return Err(block);
        }
        self.blocks.entry(block.bytes).or_default().push(block.address);
        self.bytes += block.bytes;
        Ok(())
    }

    /// Empties the cache; the addresses of all its blocks.
    pub(super) fn drain(&mut self) -> Vec<u64> {
        self.bytes = 0;
        std::mem::take(&mut self.blocks).into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_for_sizes_they_fit() {
        let mut cache = Cache::new(1 << 30);
        let block = Block { address: 0x1000, bytes: Cache::round(3_000) };
        assert_eq!(block.bytes, 3_072);
        cache.put(block).expect("fits the capacity");
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
            cache.put(Block { address, bytes: mebibytes << 20 }).expect("fits the capacity");
        }
        let taken: Vec<u64> =
            std::iter::from_fn(|| cache.take(10 << 20)).map(|block| block.address).collect();
        assert_eq!(taken, [3, 2, 1]);
    }

    #[test]
    fn a_block_over_the_capacity_is_given_back() {
        let mut cache = Cache::new(1_024);
        let block = |address| Block { address, bytes: 1_024 };
        assert_eq!(cache.put(block(1)), Ok(()));
        assert_eq!(cache.put(block(2)), Err(block(2)));
        assert_eq!(cache.drain(), [1]);
        assert_eq!(cache.put(block(2)), Ok(()));
    }

    #[test]
    fn sizes_near_the_end_of_the_range_do_not_overflow() {
        let mut cache = Cache::new(u64::MAX);
        assert_eq!(cache.take(u64::MAX), None);
        assert_eq!(Cache::round(u64::MAX), u64::MAX);
        assert_eq!(Cache::round(LARGE + 1), 2 * LARGE);
    }
}
