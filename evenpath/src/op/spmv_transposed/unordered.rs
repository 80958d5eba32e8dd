use evenpath_kernels::spmv::{AddTransposed, slot_bytes};

use super::{Bytes, Product, Schedule};
use crate::op::path_tiles::PathTiles;
use crate::op::{DeviceCsr, OpError, instance, tile_items, vector};
use crate::{Offset, Value};

/// Binary logarithm of the columns that a block sums in shared memory.
const SLOTS_LOG2: u32 = 11;

/// Tiles of a block, at most: the columns of the first have the cache, and those of later ones may be others.
const MAX_BLOCK_TILES: u32 = 4;

/// Products added to y by atomic operations.
pub(super) struct Unordered {
    tiles: PathTiles,
    /// Tiles of a block.
    block_tiles: u32,
}

impl Unordered {
    pub(super) fn new<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let info = instance::<AddTransposed<V, O>>();
        let tiles = PathTiles::find(matrix, tile_items(info))?;
        // Of a small matrix fewer, so that all multiprocessors have some.
        let share = tiles.count.div_ceil(device.resident_blocks(info, cache_bytes::<V>())?);
        Ok(Self { tiles, block_tiles: share.clamp(1, MAX_BLOCK_TILES) })
    }
}

/// Shared memory for the sums of columns.
fn cache_bytes<V: Value>() -> u32 {
    slot_bytes::<V>() << SLOTS_LOG2
}

impl<V: Value, O: Offset> Schedule<V, O> for Unordered {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), OpError> {
        let (device, pattern) = (matrix.device(), matrix.pattern());
        vector::scale(beta, y)?;
        let values = matrix.values();
        let kernel = AddTransposed {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            rows: matrix.rows() as u32,
            nonzeros: matrix.nnz() as u64,
            tiles: self.tiles.count,
            block_tiles: self.block_tiles,
            slots_log2: SLOTS_LOG2,
            alpha,
        };
        let grid = self.tiles.count.div_ceil(self.block_tiles);
        // SAFETY: what a `Product` promises; the tiles are the matrix's, of the kernel's length.
        unsafe { device.launch(kernel, instance::<AddTransposed<V, O>>(), grid, cache_bytes::<V>()) }?;
        Ok(())
    }

    fn bytes(&self) -> Bytes {
        Bytes { held: self.tiles.bytes(), run: 0 }
    }
}
