//! SpMV with the transpose, which is not formed: y = αAᵀx + βy.
//!
//! The products of a row of A belong to the columns of its nonzeros. [`AddTransposed`] adds them as they come;
//! [`TransposedProducts`] writes them in the order of the nonzeros, to be sorted by column.
//!
//! Work is cut into tiles of the merge of row ends and nonzeros, found by
//! [`MergePartition`](super::MergePartition).

use evenpath_simt::atomic::{AtomicElement, Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Float, Global, GlobalMut, Shared};

use super::path_tile::PathTile;
use crate::{GlobalCsr, Offset};

/// A value with atomic addition.
pub trait AtomicFloat: Float + AtomicElement {}
impl<V: Float + AtomicElement> AtomicFloat for V {}

kernel! {
    /// Adds αAᵀx to y with atomic operations, in any order. A block takes `block_tiles` tiles, and first adds up their
    /// products of the same column in shared memory.
    ///
    /// The launch-sized shared memory is a cache of the sums of 2^`slots_log2` columns, [`slot_bytes`] each: a column has
    /// one slot there, and the first column that comes to a slot owns it until the block ends. Products of columns whose
    /// slot is taken are added to y at once. So there are never more additions to y than nonzeros, and fewer where the
    /// rows of a block have columns in common.
    pub struct AddTransposed<V: AtomicFloat, O: Offset> {
        /// The matrix.
        pub matrix: GlobalCsr<V, O>,
        /// The dense vector, one element per row.
        pub x: Global<V>,
        /// The vector that is added to, one element per column.
        pub y: GlobalMut<V>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Tiles.
        pub tiles: u32,
        /// Tiles of a block.
        pub block_tiles: u32,
        /// log2 of the cached columns.
        pub slots_log2: u32,
        /// Factor of the product.
        pub alpha: V,
    }
    shared: factor_bytes::<V>(BLOCK * ITEMS);
    body: AddTransposed::add_transposed::<BLOCK, ITEMS>;
    entry: spmv_add_transposed_{V}_{O} in spmv_transposed_{V}: (V, N) in [(f32, 8), (f64, 7)], O in [u32, u64], 256 x N resident 4;
}

/// Shared memory for one factor per nonzero of a tile.
const fn factor_bytes<V: Arithmetic>(items: usize) -> usize {
    items * V::SIZE
}

/// Bytes of launch-sized shared memory of a cached column of [`AddTransposed`].
pub const fn slot_bytes<V: Arithmetic>() -> u32 {
    V::SIZE as u32 + 4
}

/// The owner of a slot that no column owns. A matrix has fewer columns.
const NOBODY: u32 = u32::MAX;

/// Sums of columns in shared memory, each in the slot that the lowest bits of its index give.
#[derive(Clone, Copy)]
struct ColumnCache<V> {
    sums: Shared<V>,
    owners: Shared<u32>,
    slots: u32,
}

impl<V: AtomicFloat> ColumnCache<V> {
    /// Returns an empty cache, which the block sees after a barrier.
    #[device]
    fn new<const BLOCK: usize>(slots_log2: u32) -> Self {
        let slots = 1 << slots_log2;
        let mut arena = Arena::dynamic(slots * slot_bytes::<V>());
        let cache = Self { sums: arena.take(slots as usize), owners: arena.take(slots as usize), slots };
        thread::block_stride::<BLOCK>(slots, |slot| {
            cache.sums.store(slot as usize, V::ZERO);
            cache.owners.store(slot as usize, NOBODY);
        });
        cache
    }

    /// Returns the slot of a column.
    #[device]
    fn slot(self, column: u32) -> usize {
        (column & (self.slots - 1)) as usize
    }

    /// Adds to a column's sum here, or in y if another column owns its slot. `owner` is the slot's owner as it was seen
    /// last.
    #[device]
    fn add(self, y: GlobalMut<V>, column: u32, owner: u32, addend: V) {
        let mut owner = owner;
        if owner == NOBODY {
            owner = self.owners.compare_exchange(self.slot(column), NOBODY, column);
        }
        if owner == NOBODY || owner == column {
            self.sums.fetch_add(self.slot(column), addend);
        } else {
            y.fetch_add(column as usize, addend, Ordering::Relaxed, Scope::Device);
        }
    }

    /// Adds all sums to y; called after a barrier.
    #[device]
    fn flush<const BLOCK: usize>(self, y: GlobalMut<V>) {
        thread::block_stride::<BLOCK>(self.slots, |slot| {
            let owner = self.owners.load(slot as usize);
            if owner != NOBODY {
                let sum = self.sums.load(slot as usize);
                y.fetch_add(owner as usize, sum, Ordering::Relaxed, Scope::Device);
            }
        });
    }
}

impl<V: AtomicFloat, O: Offset> AddTransposed<V, O> {
    #[device]
    fn add_transposed<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Self { matrix, .. } = self;
        let factors: Shared<V> = arena.take(BLOCK * ITEMS);
        let cache = ColumnCache::<V>::new::<BLOCK>(self.slots_log2);
        let first = thread::block() * self.block_tiles;
        let end = self.tiles.min(first + self.block_tiles);
        for index in first..end {
            let tile = PathTile::new(index as usize, BLOCK * ITEMS, self.tile_rows, matrix.pattern());
            let columns = tile.load::<u32, BLOCK, ITEMS>(matrix.column_indices.natural());
            let mut products = tile.load::<V, BLOCK, ITEMS>(matrix.values.natural());
            tile.spread::<V, O, BLOCK>(matrix.row_offsets, factors, |row| self.alpha * self.x.load(row));
            thread::barrier();
            let mut owners = [NOBODY; ITEMS];
            for item in 0..ITEMS {
                if PathTile::place::<BLOCK>(item) < tile.nonzeros {
                    owners[item] = cache.owners.atomic_load(cache.slot(columns[item]));
                    products[item] = products[item] * factors.load(PathTile::place::<BLOCK>(item) as usize);
                }
            }
            for item in 0..ITEMS {
                if PathTile::place::<BLOCK>(item) < tile.nonzeros {
                    cache.add(self.y, columns[item], owners[item], products[item]);
                }
            }
            thread::barrier();
        }
        cache.flush::<BLOCK>(self.y);
    }
}

kernel! {
    /// Writes the products αax, each nonzero's value times its row's element of x, in the order of the nonzeros: one tile
    /// per block.
    pub struct TransposedProducts<V: Arithmetic, O: Offset> {
        /// The matrix, whose column indices are not read.
        pub matrix: GlobalCsr<V, O>,
        /// The dense vector, one element per row.
        pub x: Global<V>,
        /// Output: the products, one per nonzero.
        pub products: GlobalMut<V>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Factor of the product.
        pub alpha: V,
    }
    shared: factor_bytes::<V>(BLOCK * ITEMS);
    body: TransposedProducts::transposed_products::<BLOCK, ITEMS>;
    entry: spmv_transposed_products_{V}_{O} in spmv_transposed_{V}: V in [f32, f64], O in [u32, u64], 256 x 8 resident 4;
}

impl<V: Arithmetic, O: Offset> TransposedProducts<V, O> {
    #[device]
    fn transposed_products<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Self { matrix, .. } = self;
        let factors: Shared<V> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, matrix.pattern());
        let values = tile.load::<V, BLOCK, ITEMS>(matrix.values.natural());
        tile.spread::<V, O, BLOCK>(matrix.row_offsets, factors, |row| self.alpha * self.x.load(row));
        thread::barrier();
        let products = self.products.skip(tile.first_nonzero);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                products.store(place as usize, values[item] * factors.load(place as usize));
            }
        }
    }
}
