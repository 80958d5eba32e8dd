//! Keys by which the products of a tile are sorted.
use evenpath_simt::{device, thread, warp, Shared};

use crate::block::radix_rank::RadixKey;
use crate::block::radix_sort::{bits_of, warp_striped};

/// Layout of the keys of a tile's products: the bits in which columns differ, above them those in which rows differ,
/// and the product's place above both.
#[derive(Clone, Copy)]
pub(super) struct ProductKeys {
    /// The least column.
    pub(super) least: u32,
    /// Bits of a column's distance to it.
    pub(super) column_bits: u32,
    /// Bits of the column and the row.
    pub(super) bits: u32,
}

impl ProductKeys {
    /// Elements of shared memory that [`find`](Self::find) takes.
    pub(super) const fn range_len(block: usize) -> usize {
        2 * block / thread::WARP_SIZE as usize
    }

    /// Returns the keys of the block's first `len` products, of which this thread has `columns`, warp-striped. Every
    /// thread calls it; it has one barrier. `ranges` are [`range_len`](Self::range_len) elements.
    #[device(track_caller)]
    pub(super) fn find<const BLOCK: usize, const ITEMS: usize>(
        ranges: Shared<u32>,
        len: u32,
        columns: &[u32; ITEMS],
        row_count: u32,
    ) -> Self {
        let warps = BLOCK / thread::WARP_SIZE as usize;
        let (mut least, mut greatest) = (u32::MAX, 0);
        for item in 0..ITEMS {
            if (warp_striped::<ITEMS>(item) as u32) < len {
                least = least.min(columns[item]);
                greatest = greatest.max(columns[item]);
            }
        }
        (least, greatest) = (warp::reduce(least, u32::min), warp::reduce(greatest, u32::max));
        if thread::lane() == 0 {
            ranges.store(thread::warp() as usize, least);
            ranges.store(warps + thread::warp() as usize, greatest);
        }
        thread::barrier();
        for warp in 0..warps {
            least = least.min(ranges.load(warp));
            greatest = greatest.max(ranges.load(warps + warp));
        }
        // Without products the least is above the greatest.
        let column_bits = bits_of(greatest.saturating_sub(least));
        // At least one, so that there is a pass.
        let bits = (column_bits + bits_of(row_count.saturating_sub(1))).max(1);
        Self { least, column_bits, bits }
    }

    /// Returns the keys of this thread's products. `row` returns the row in the tile of a product's place. Padding has
    /// the greatest key and comes last, so it stays after the products when they are sorted.
    #[device(track_caller)]
    pub(super) fn of<K: RadixKey, const ITEMS: usize>(
        self,
        len: u32,
        columns: &[u32; ITEMS],
        row: impl Fn(u32) -> u32,
    ) -> [K; ITEMS] {
        let mut keys = [K::ONES.low_bits(self.bits); ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            if place < len {
                let column = K::from_bits(u64::from(columns[item] - self.least));
                keys[item] = column.with_bits(row(place), self.column_bits);
            }
            keys[item] = keys[item].with_bits(place, self.bits);
        }
        keys
    }
}
