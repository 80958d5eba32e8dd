//! A tile of the merge of row ends and nonzeros, by its nonzeros: what each of them needs of its row.

use evenpath_simt::{thread, Element, Global, Shared};

use crate::Offset;

/// A tile's place in a matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathTile {
    first_row: usize,
    /// Rows that end in the tile; the one behind them may have its first nonzeros here.
    rows: u32,
    /// Number of the tile's first nonzero.
    pub(super) first_nonzero: usize,
    /// Nonzeros of the tile.
    pub(super) nonzeros: u32,
}

impl PathTile {
    /// Tile `index` of tiles that are `len` long; `tile_rows` is what `MergePartition` found for them.
    #[inline(always)]
    pub(super) fn new(index: usize, len: usize, tile_rows: Global<u32>, rows: u32, nonzeros: u64) -> Self {
        let first_row = tile_rows.load(index);
        let ends = tile_rows.load(index + 1) - first_row;
        let start = index * len;
        let left = rows as usize + nonzeros as usize - start;
        let items = if left < len { left as u32 } else { len as u32 };
        Self {
            first_row: first_row as usize,
            rows: ends,
            first_nonzero: start - first_row as usize,
            nonzeros: items - ends,
        }
    }

    /// The `ITEMS` elements of this thread, every `BLOCK`th of the tile's: all are on their way before the first is
    /// used. Threads past the end repeat the last, which is cheaper than a branch around each load. Of a tile without
    /// nonzeros they are zero.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // Iterators over arrays leave registers for local memory.
    pub(super) fn load<T: Element, const BLOCK: usize, const ITEMS: usize>(
        self,
        elements: Global<T>,
    ) -> [T; ITEMS] {
        let mut own = [T::ZERO; ITEMS];
        if self.nonzeros > 0 {
            let elements = elements.skip(self.first_nonzero);
            for item in 0..ITEMS {
                let place = Self::place::<BLOCK>(item).min(self.nonzeros - 1);
                own[item] = elements.load_streaming(place as usize);
            }
        }
        own
    }

    /// The place in the tile of this thread's nonzero number `item`; beyond `nonzeros` there is none.
    #[inline(always)]
    pub(super) fn place<const BLOCK: usize>(item: usize) -> u32 {
        thread::index() + (item * BLOCK) as u32
    }

    /// Writes to `entries` what `of_row` says of each nonzero's row; for the block after a barrier.
    ///
    /// 2ᵏ threads write a row's, as many as rows of the tile have nonzeros on average.
    #[inline(always)]
    pub(super) fn spread<T: Element, O: Offset, const BLOCK: usize>(
        self,
        row_offsets: Global<O>,
        entries: Shared<T>,
        of_row: impl Fn(usize) -> T,
    ) {
        const { assert!(BLOCK.is_power_of_two()) };
        let mean = self.nonzeros / (self.rows + 1);
        let lanes_log2 = (31 - (mean | 1).leading_zeros()).min(BLOCK.ilog2());
        let lanes = 1 << lanes_log2;
        let lane = thread::index() & (lanes - 1);
        let offsets = row_offsets.skip(self.first_row);
        let mut row = thread::index() >> lanes_log2;
        while row <= self.rows {
            let begin = offsets.load(row as usize).to_usize();
            // A row that began before has its first nonzeros in other tiles, the last row may have its last there.
            let begin = if begin < self.first_nonzero { 0 } else { (begin - self.first_nonzero) as u32 };
            let end = if row < self.rows {
                (offsets.load(row as usize + 1).to_usize() - self.first_nonzero) as u32
            } else {
                self.nonzeros
            };
            if begin < end {
                let entry = of_row(self.first_row + row as usize);
                let mut place = begin + lane;
                while place < end {
                    entries.store(place as usize, entry);
                    place += lanes;
                }
            }
            row += BLOCK as u32 >> lanes_log2;
        }
    }
}
