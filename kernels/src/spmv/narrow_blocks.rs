//! SpMV by row blocks of a matrix whose columns have codes of 16 bits ([`super::EncodeColumns`]): like CSR-Adaptive,
//! with 2 bytes per column index instead of 4.
//!
//! A block loads all data on its rows at once, and then all nonzeros.
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, Shared};

use super::codes::{CodedColumns, Decoder, Distances, Segments, TileKind, SEGMENTS};
use super::product::SpmvArguments;
use super::row_group::product_bytes;
use crate::block::reduce::BlockReduce;
use crate::update::Update;
use crate::Offset;

kernel! {
    /// Multiplies row blocks by x: a block of threads each. A row block of more than one row has at most
    /// threads × items nonzeros.
    pub struct NarrowBlocks<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors; column indices are read only where a row block has no codes.
        pub product: SpmvArguments<V, O>,
        /// The codes of the columns; a tile is a row block.
        pub columns: CodedColumns<u16>,
        /// First row of each row block, and the number of rows; one more than blocks.
        pub block_rows: Global<u32>,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: NarrowBlocks::narrow_blocks::<BLOCK, ITEMS>;
    entry: spmv_narrow_blocks_f64_{O} in spmv_narrow: V = f64, O in [u32, u64], 128 x 12 resident 8;
}

/// The columns of a row block, in one form of several.
trait BlockColumns: Copy {
    /// Returns the word of a nonzero, counted from the row block's first.
    fn load(self, index: usize) -> u32;
    /// Returns the column that it stands for; some column of the matrix if the word is zero. All lanes of the warp call
    /// it.
    fn column(self, word: u32) -> u32;
}

impl BlockColumns for Global<u32> {
    #[device]
    fn load(self, index: usize) -> u32 {
        self.load_streaming(index)
    }

    #[device]
    fn column(self, word: u32) -> u32 {
        word
    }
}

/// Codes of 16 bits.
#[derive(Clone, Copy)]
struct BlockCodes<D> {
    codes: Global<u16>,
    decoder: D,
}

impl<D: Decoder> BlockColumns for BlockCodes<D> {
    #[device]
    fn load(self, index: usize) -> u32 {
        u32::from(self.codes.load_streaming(index))
    }

    #[device]
    fn column(self, word: u32) -> u32 {
        self.decoder.column(word)
    }
}

/// The nonzeros of a row block.
#[derive(Clone, Copy)]
struct BlockNonzeros<V> {
    values: Global<V>,
    x: Global<V>,
    count: u64,
}

impl<V: Arithmetic> BlockNonzeros<V> {
    /// Returns the products of this thread's share of `BLOCK` × `ITEMS` nonzeros starting at `first`, every `BLOCK`-th.
    /// Those after the last nonzero are meaningless.
    #[device]
    fn products<const BLOCK: usize, const ITEMS: usize>(
        self,
        columns: impl BlockColumns,
        first: u64,
    ) -> [V; ITEMS] {
        let left = (self.count - first).min((BLOCK * ITEMS) as u64) as u32;
        let own = first as usize + thread::index() as usize;
        let mut words = [0; ITEMS];
        let mut products = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            if thread::index() + ((item * BLOCK) as u32) < left {
                words[item] = columns.load(own + item * BLOCK);
            }
        }
        for item in 0..ITEMS {
            if thread::index() + ((item * BLOCK) as u32) < left {
                products[item] = self.values.load_streaming(own + item * BLOCK);
            }
        }
        for item in 0..ITEMS {
            words[item] = columns.column(words[item]);
        }
        for item in 0..ITEMS {
            products[item] = products[item] * self.x.load(words[item] as usize);
        }
        products
    }

    /// Writes the products of all nonzeros to shared memory, which has room for them.
    #[device]
    fn store_products<const BLOCK: usize, const ITEMS: usize>(
        self,
        columns: impl BlockColumns,
        to: Shared<V>,
    ) {
        let products = self.products::<BLOCK, ITEMS>(columns, 0);
        for item in 0..ITEMS {
            to.store(thread::index() as usize + item * BLOCK, products[item]);
        }
    }

    /// Returns the sum of this thread's products of all nonzeros.
    #[device]
    fn sum<const BLOCK: usize, const ITEMS: usize>(self, columns: impl BlockColumns) -> V {
        let mut sum = V::ZERO;
        let mut first = 0;
        while first < self.count {
            let products = self.products::<BLOCK, ITEMS>(columns, first);
            for item in 0..ITEMS {
                let is_inside = first + u64::from(thread::index()) + ((item * BLOCK) as u64) < self.count;
                sum = if is_inside { sum + products[item] } else { sum };
            }
            first += (BLOCK * ITEMS) as u64;
        }
        sum
    }
}

impl<V: Arithmetic, O: Offset> NarrowBlocks<V, O> {
    #[device]
    fn narrow_blocks<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let products: Shared<V> = arena.take(BLOCK * ITEMS);
        let block = thread::block() as usize;
        let SpmvArguments { matrix, x, update } = self.product;
        let CodedColumns { codes, directories, places, tile_nonzeros } = self.columns;
        // 1. Load the row block's place, nonzeros and rows, and its directory, a segment per lane.
        let place = places.load(block);
        let (start, stop) = (tile_nonzeros.load(block), tile_nonzeros.load(block + 1));
        let (first, end) = (self.block_rows.load(block), self.block_rows.load(block + 1));
        let own = directories.load(block * SEGMENTS as usize + thread::lane() as usize);
        let (kind, code) = TileKind::unpack(place);
        let distances = || BlockCodes { codes: codes.skip(code), decoder: Distances { from: own } };
        let segments = || BlockCodes { codes: codes.skip(code), decoder: Segments { own } };
        let whole = || matrix.column_indices.skip(start as usize);
        let nonzeros = BlockNonzeros { values: matrix.values.skip(start as usize), x, count: stop - start };
        // 2. Rows that fit: write their products to shared memory, and sum them there.
        if nonzeros.count <= (BLOCK * ITEMS) as u64 {
            let rows = RowsOfBlock::<O, BLOCK> { row_offsets: matrix.row_offsets, start, first, end };
            let own_row = first + (thread::index() >> rows.lanes_log2());
            let bounds = rows.bounds(own_row);
            if nonzeros.count > 0 {
                match kind {
                    TileKind::Distances => nonzeros.store_products::<BLOCK, ITEMS>(distances(), products),
                    TileKind::Segments => nonzeros.store_products::<BLOCK, ITEMS>(segments(), products),
                    TileKind::Whole => nonzeros.store_products::<BLOCK, ITEMS>(whole(), products),
                }
            }
            thread::barrier();
            return rows.sum(own_row, bounds, products, update);
        }
        // 3. A single long row: each thread sums its share, then the block.
        let sum = match kind {
            TileKind::Distances => nonzeros.sum::<BLOCK, ITEMS>(distances()),
            TileKind::Segments => nonzeros.sum::<BLOCK, ITEMS>(segments()),
            TileKind::Whole => nonzeros.sum::<BLOCK, ITEMS>(whole()),
        };
        let reduce = BlockReduce::<V, BLOCK>::new(products);
        reduce.share(sum, |a, b| a + b);
        if thread::index() == 0 {
            update.store(first as usize, reduce.total(|a, b| a + b));
        }
    }
}

/// The rows of a row block whose products are in shared memory.
#[derive(Clone, Copy)]
struct RowsOfBlock<O, const BLOCK: usize> {
    row_offsets: Global<O>,
    /// The first nonzero.
    start: u64,
    first: u32,
    end: u32,
}

impl<O: Offset, const BLOCK: usize> RowsOfBlock<O, BLOCK> {
    /// log2 of the lanes per row: the threads divided evenly among the rows, at most a warp.
    #[device]
    fn lanes_log2(self) -> u32 {
        (BLOCK as u32 / (self.end - self.first).max(1)).checked_ilog2().unwrap_or(0).min(5)
    }

    /// Returns the range of a row's products; empty after the last row.
    #[device]
    fn bounds(self, row: u32) -> (u32, u32) {
        if row >= self.end {
            return (0, 0);
        }
        let offsets = self.row_offsets.skip(row as usize);
        let place = |index: usize| (offsets.load(index).to_usize() as u64 - self.start) as u32;
        (place(0), place(1))
    }

    /// Sums the rows, this thread's first one being `row` with the given bounds. Every thread of the block calls it.
    #[device]
    fn sum<V: Arithmetic>(
        self,
        mut row: u32,
        mut bounds: (u32, u32),
        products: Shared<V>,
        update: Update<V>,
    ) {
        let lanes = 1 << self.lanes_log2();
        let lane = thread::index() & (lanes - 1);
        let at_once = BLOCK as u32 >> self.lanes_log2();
        for _ in 0..(self.end - self.first).div_ceil(at_once) {
            let mut sum = V::ZERO;
            let mut place = bounds.0 + lane;
            while place < bounds.1 {
                sum += products.load(place as usize);
                place += lanes;
            }
            let sum = warp::reduce_groups(sum, lanes, |a, b| a + b);
            if lane == 0 && row < self.end {
                update.store(row as usize, sum);
            }
            row = row.saturating_add(at_once);
            bounds = self.bounds(row);
        }
    }
}
