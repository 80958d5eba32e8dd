use evenpath_kernels::spmv::{AddTransposed, slot_bytes};

use super::schedule::{HeldBytes, SpmvTransposedSchedule};
use crate::device::Launch;
use crate::format::DeviceCsr;
use crate::format::path_tiles::PathTiles;
use crate::op::product::SpmvCall;
use crate::operand::OpError;
use crate::sequence::scale::scale;
use crate::{Offset, Value};

/// log2 of the number of columns that a block sums in shared memory.
const SLOTS_LOG2: u32 = 11;

/// Maximum number of tiles per block: the columns of the first tiles fill the cache, and later tiles may have
/// others.
const MAX_BLOCK_TILES: u32 = 4;

/// Products added to y by atomic operations.
pub(super) struct Unordered<V: Value, O: Offset> {
    launch: Launch<AddTransposed<V, O>>,
    tiles: PathTiles,
    /// Number of tiles per block.
    block_tiles: u32,
}

impl<V: Value, O: Offset> Unordered<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let launcher = || device.kernel::<AddTransposed<V, O>>().shared_bytes(cache_bytes::<V>());
        let (tiles, _) = PathTiles::find(matrix, launcher())?;
        // Fewer for a small matrix, so that all multiprocessors have some.
        let share = tiles.count.div_ceil(launcher().resident_blocks()?);
        let block_tiles = share.clamp(1, MAX_BLOCK_TILES);
        let launch = launcher().blocks(tiles.count.div_ceil(block_tiles) as usize)?;
        Ok(Self { launch, tiles, block_tiles })
    }
}

/// Bytes of shared memory for the sums of columns.
fn cache_bytes<V: Value>() -> u32 {
    slot_bytes::<V>() << SLOTS_LOG2
}

impl<V: Value, O: Offset> SpmvTransposedSchedule<V, O> for Unordered<V, O> {
    fn run(&self, SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) -> Result<(), OpError> {
        scale(beta, y)?;
        let values = matrix.values_now();
        let kernel = AddTransposed {
            matrix: matrix.pattern().with_values(&values),
            x: x.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            tiles: self.tiles.count,
            block_tiles: self.block_tiles,
            slots_log2: SLOTS_LOG2,
            alpha,
        };
        // SAFETY: guaranteed by an `SpmvCall`; the tiles are the matrix's, of the kernel's length.
        unsafe { self.launch.launch(kernel) }?;
        Ok(())
    }

    fn bytes(&self) -> HeldBytes {
        HeldBytes { held: self.tiles.bytes(), run: 0 }
    }
}
