use evenpath_kernels::spmv::FindCutRows;
use evenpath_simt::Global;

use super::tagged_sums::TaggedSums;
use crate::device::{Device, DeviceVec};
use crate::op::{OpError, instance};
use crate::{Offset, Value};

/// Rows that lie over several tiles, and what adding up their sums needs.
pub(super) struct CutRows {
    /// The tiles of each cut row, by the tiles that begin in it; one more than tiles.
    pub(super) spans: DeviceVec<u64>,
    /// Two parts per tile, and at most as many rows as tiles.
    pub(super) sums: TaggedSums,
}

/// How rows are cut into tiles.
pub(super) struct Cut<'a, O: Offset> {
    /// Row offsets, `rows` + 1.
    pub(super) row_offsets: Global<O>,
    pub(super) rows: u32,
    /// The row in which each tile begins, and the number of rows; `tiles` + 1.
    pub(super) tile_rows: &'a DeviceVec<u32>,
    pub(super) tiles: u32,
    pub(super) tile_items: u32,
    /// Whether a row's end counts as an item.
    pub(super) counts_row_ends: bool,
}

impl CutRows {
    /// Finds the rows that are cut.
    pub(super) fn find<V: Value, O: Offset>(device: &Device, cut: &Cut<'_, O>) -> Result<Self, OpError> {
        let tiles = cut.tiles as usize;
        let mut spans = device.uninitialized(tiles + 1)?;
        let kernel = instance::<FindCutRows<O>>();
        let find = FindCutRows {
            row_offsets: cut.row_offsets,
            tile_rows: cut.tile_rows.as_global(),
            spans: spans.as_global_mut(),
            rows: cut.rows,
            tiles: cut.tiles,
            tile_items: cut.tile_items,
            row_ends: u32::from(cut.counts_row_ends),
        };
        // SAFETY: the views are of the offsets of `rows` rows and one more, and of a word per tile and one more each;
        // buffers are freed in the stream's order.
        unsafe { device.launch(find, kernel, (cut.tiles + 1).div_ceil(kernel.block_size), 0) }?;
        Ok(Self { spans, sums: TaggedSums::new::<V>(device, 2 * tiles, tiles)? })
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.spans.bytes() + self.sums.bytes()
    }
}
