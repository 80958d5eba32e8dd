//! Sums of the rows that end in a tile of the merge of row ends and nonzeros, by equal shares of its path.

use evenpath_simt::{device, thread, Arena, Arithmetic, Shared, WidenTo};

use super::path_tile::PathTile;
use super::product::MixedArguments;
use crate::block::merge_path::search_rows;
use crate::block::segmented_scan::SegmentedScan;
use crate::update::Update;
use crate::Offset;

/// Shared memory of [`PathSums`] with its scan: a tile's row ends and one more; its products and its sums, together
/// `items`.
pub(super) const fn path_sums_bytes<V: Arithmetic, const BLOCK: usize>(items: usize) -> usize {
    (items + 1) * (V::SIZE + 4) + SegmentedScan::<V, BLOCK>::BYTES
}

/// A tile's place in the matrix, and what its threads share.
pub(super) struct PathSums<V, const BLOCK: usize, const ITEMS: usize> {
    pub(super) path: PathTile,
    /// Nonzeros of the tile before each row end; after the last, more than there are.
    pub(super) row_ends: Shared<u32>,
    /// Products of the whole tile; those after the last nonzero are zero.
    products: Shared<V>,
    /// The sums of the rows that end in the tile.
    pub(super) sums: Shared<V>,
    scan: SegmentedScan<V, BLOCK>,
}

impl<V: Arithmetic, const BLOCK: usize, const ITEMS: usize> PathSums<V, BLOCK, ITEMS> {
    const LEN: usize = BLOCK * ITEMS;

    /// Takes the memory of a tile of `BLOCK` × `ITEMS` row ends and nonzeros from an arena.
    #[device]
    pub(super) fn new(arena: &mut Arena, path: PathTile, scan: SegmentedScan<V, BLOCK>) -> Self {
        let row_ends = arena.take(path.rows as usize + 1);
        let products = arena.take(Self::LEN - path.rows as usize);
        let sums = arena.take(path.rows as usize);
        Self { path, row_ends, products, sums, scan }
    }

    /// Writes the sums of the rows that end in the tile to `sums`: of the products that lie in the tile. Returns the sum of
    /// those after the last row end. The block sees all after it.
    #[device]
    pub(super) fn sum_rows<S: WidenTo<V>, O: Offset>(&self, product: MixedArguments<S, V, O>) -> V {
        // 1. Write the tile's row ends and products to shared memory.
        self.load(product);
        thread::barrier();

        // 2. Walk this thread's share of the tile's path, found as if the products filled the tile.
        let diagonal = thread::index() * ITEMS as u32;
        let filled = Self::LEN as u32 - self.path.rows;
        let first_row = search_rows(diagonal, self.path.rows, filled, |row| self.row_ends.load(row as usize));
        let mut row = first_row;
        let mut nonzero = diagonal - first_row;
        let mut end = self.row_ends.load(row as usize);
        let mut sum = V::ZERO;
        for _ in 0..ITEMS {
            if nonzero < end {
                sum += self.products.load(nonzero as usize);
                nonzero += 1;
            } else {
                self.sums.store(row as usize, sum);
                sum = V::ZERO;
                row += 1;
                end = self.row_ends.load(row as usize);
            }
        }

        // 3. Add to the first row that ends in the share what the shares before have of it.
        let scanned = self.scan.exclusive(sum, row != first_row);
        if row != first_row {
            let first = self.sums.load(first_row as usize);
            self.sums.store(first_row as usize, scanned.before + first);
        }
        thread::barrier();
        scanned.total
    }

    /// Writes the tile's row ends, relative to its first nonzero, and its products to shared memory.
    ///
    /// All column indices are loaded before the row ends are waited for, and all values and
    /// elements of x before the first is used: three waits for memory instead of one per item.
    #[device]
    fn load<S: WidenTo<V>, O: Offset>(&self, MixedArguments { matrix, x, .. }: MixedArguments<S, V, O>) {
        let path = self.path;
        let columns = path.load::<u32, BLOCK, ITEMS>(matrix.column_indices.natural());
        path.write_row_ends::<O, BLOCK>(matrix.row_offsets, self.row_ends);
        let values = path.load::<S, BLOCK, ITEMS>(matrix.values.natural());
        let mut products = [V::ZERO; ITEMS];
        if path.nonzeros > 0 {
            for item in 0..ITEMS {
                products[item] = values[item].widen_to() * x.load(columns[item] as usize);
            }
        }
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < Self::LEN as u32 - path.rows {
                let product = if place < path.nonzeros { products[item] } else { V::ZERO };
                self.products.store(place as usize, product);
            }
        }
    }

    /// Writes the rows that end in the tile starting at the row `from`, with coalesced stores. The first element of
    /// `update` is that of the tile's first row.
    #[device]
    pub(super) fn store_rows(&self, from: u32, update: Update<V>) {
        let mut row = thread::index() + from;
        while row < self.path.rows {
            update.store(row as usize, self.sums.load(row as usize));
            row += BLOCK as u32;
        }
    }
}
