use evenpath_kernels::GlobalPattern;
use evenpath_kernels::spmv::{self as kernels, FindCutRows};

use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::operand::OpError;
use crate::operand::tagged_sums::{TaggedSums, Words};
use crate::{Offset, Scalar};

/// Rows that lie over several tiles, and what adding up their sums needs.
pub(super) struct CutRows {
    /// The tiles of each cut row, by the tiles that begin in it; one more than tiles.
    pub(super) spans: DeviceVec<u64>,
    /// Two parts per tile, and at most as many rows as tiles.
    pub(super) sums: TaggedSums,
}

/// How rows are cut into tiles.
pub(super) struct TileCuts<'a, O: Offset> {
    pub(super) pattern: GlobalPattern<O>,
    /// The row in which each tile begins, and the number of rows; `tiles` + 1.
    pub(super) tile_rows: &'a DeviceSlice<u32>,
    pub(super) tiles: u32,
    pub(super) tile_items: u32,
    /// True if a row's end counts as an item.
    pub(super) counts_row_ends: bool,
}

impl CutRows {
    /// Finds the rows that are cut.
    pub(super) fn find<V: Scalar, O: Offset>(
        device: &Device,
        cut: &TileCuts<'_, O>,
    ) -> Result<Self, OpError> {
        let tiles = cut.tiles as usize;
        let mut spans = device.uninitialized(tiles + 1)?;
        let launch = device.kernel().threads(tiles + 1)?;
        let find = FindCutRows {
            pattern: cut.pattern,
            tile_rows: cut.tile_rows.as_global(),
            spans: spans.as_global_mut(),
            tiles: cut.tiles,
            tile_items: cut.tile_items,
            row_ends: u32::from(cut.counts_row_ends),
        };
        // SAFETY: the views are of the pattern's row offsets, one more than rows, and of one word per tile and one more;
        // buffers are freed in the stream's order.
        unsafe { launch.launch(find) }?;
        Ok(Self { spans, sums: TaggedSums::new::<V>(device, 2 * tiles, tiles)? })
    }

    /// The rows as kernels take them, with the words of a run.
    pub(super) fn view(&self, work: &mut Words) -> kernels::CutRows {
        kernels::CutRows { spans: self.spans.as_global(), sums: work.view() }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.spans.bytes() + self.sums.bytes()
    }
}
