use evenpath_kernels::spmv::{FlatCompactRows, FlatFillEmptyRows, FlatPartition, FlatTile};
use evenpath_simt::Global;
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::cut_rows::{Cut, CutRows};
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, OpError, grid, instance, tile_count};
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// What the flat split needs beside the matrix.
pub(super) struct Flat<O: Offset> {
    tile_kernel: &'static KernelInfo,
    fill_kernel: &'static KernelInfo,
    tiles: u32,
    /// The row of each tile's first nonzero, and the number of rows; `tiles` + 1.
    tile_rows: DeviceVec<u32>,
    filled: FilledRows<O>,
    cut_rows: CutRows,
}

/// The rows that have nonzeros, where some have none.
struct FilledRows<O: Offset> {
    count: u32,
    /// The rows, and their offsets, one more; nothing where every row has nonzeros.
    compacted: Option<(DeviceVec<u32>, DeviceVec<O>)>,
}

impl<O: Offset> FilledRows<O> {
    /// Finds them; waits for the device.
    fn find<V: Value>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        if rows == 0 || nonzeros == 0 {
            return Ok(Self { count: 0, compacted: None });
        }
        let kernel = instance::<FlatCompactRows<O>>();
        let blocks = tile_count("SpMV's rows", kernel, rows)?;
        let mut filled_rows = device.uninitialized(rows.min(nonzeros))?;
        let mut filled_offsets = device.uninitialized(rows.min(nonzeros) + 1)?;
        let mut count = device.uninitialized(1)?;
        let mut states = device.zeros(blocks as usize + 1)?;
        let compact = FlatCompactRows {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            filled_rows: filled_rows.as_global_mut(),
            filled_offsets: filled_offsets.as_global_mut(),
            count: count.as_global_mut(),
            states: states.as_global_mut(),
            rows: rows as u32,
        };
        // SAFETY: there are `rows` + 1 offsets, a word for each row that has nonzeros, one more offset, and the states
        // that the blocks need, all zero; buffers are freed in the stream's order.
        unsafe { device.launch(compact, kernel, blocks, 0) }?;
        let count: u32 = count.get(0)?;
        if count as usize == rows {
            return Ok(Self { count, compacted: None });
        }
        filled_rows.truncate(count as usize);
        filled_offsets.truncate(count as usize + 1);
        filled_rows.shrink_to_fit()?;
        filled_offsets.shrink_to_fit()?;
        Ok(Self { count, compacted: Some((filled_rows, filled_offsets)) })
    }

    /// The rows, and their offsets: the matrix's own where every row has nonzeros.
    fn views(&self, row_offsets: &DeviceVec<O>) -> (Global<u32>, Global<O>) {
        match &self.compacted {
            Some((rows, offsets)) => (rows.as_global(), offsets.as_global()),
            None => (Global::from_device(0, 0), row_offsets.as_global()),
        }
    }
}

impl<O: Offset> Flat<O> {
    /// Finds the rows that have nonzeros, and the row in which each tile begins.
    pub(super) fn analyze<V: Value>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        Self::cut(matrix, FilledRows::find(matrix)?)
    }

    /// Finds the row in which each tile begins, of a matrix whose rows all have nonzeros.
    pub(super) fn of_filled_rows<V: Value>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        Self::cut(matrix, FilledRows { count: matrix.rows() as u32, compacted: None })
    }

    fn cut<V: Value>(matrix: &DeviceCsr<V, O>, filled: FilledRows<O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let tile = policy::spmv_flat(V::TYPE, device.properties().compute_capability);
        let kernel_of = |tile: Tile| FlatTile::<V, O>::instance(tile.block_size, tile.items_per_thread);
        let Some((tile, tile_kernel)) = tile.and_then(|tile| Some((tile, kernel_of(tile)?))) else {
            unreachable!("the kernels' tables have an instance for every tile of the policy")
        };
        let nonzeros = matrix.nnz();
        let tiles = grid(matrix.rows(), nonzeros, (nonzeros as u64).div_ceil(u64::from(tile.items())))?;
        let mut tile_rows = device.uninitialized(tiles as usize + 1)?;
        let partition_kernel = instance::<FlatPartition<O>>();
        let partition = FlatPartition {
            row_offsets: filled.views(&matrix.pattern().row_offsets).1,
            tile_rows: tile_rows.as_global_mut(),
            rows: filled.count,
            nonzeros: nonzeros as u64,
            tiles,
            tile_items: tile.items(),
        };
        let grid = (tiles + 1).div_ceil(partition_kernel.block_size);
        // SAFETY: the views are of the offsets of the rows that have nonzeros, one more than these, and of `tile_rows`,
        // `tiles` + 1 long, and buffers are freed in the stream's order.
        unsafe { device.launch(partition, partition_kernel, grid, 0) }?;
        let cut = Cut {
            row_offsets: filled.views(&matrix.pattern().row_offsets).1,
            rows: filled.count,
            tile_rows: &tile_rows,
            tiles,
            tile_items: tile.items(),
            counts_row_ends: false,
        };
        let cut_rows = CutRows::find::<V, O>(device, &cut)?;
        Ok(Self {
            tile_kernel,
            fill_kernel: instance::<FlatFillEmptyRows<V, O>>(),
            tiles,
            tile_rows,
            filled,
            cut_rows,
        })
    }

    /// Writes the rows that the reduction leaves out.
    fn fill_empty_rows<V: Value>(
        &self,
        Product { matrix, alpha, beta, y, .. }: Product<'_, V, O>,
    ) -> Result<(), DeviceError> {
        let rows = matrix.rows() as u32;
        if self.filled.count == rows {
            return Ok(());
        }
        let fill = FlatFillEmptyRows {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            y: y.as_global_mut(),
            rows,
            alpha,
            beta,
        };
        let grid = rows.div_ceil(self.fill_kernel.block_size);
        // SAFETY: the views are of the matrix's row offsets, one more than rows, and of a vector of one element per row.
        unsafe { matrix.device().launch(fill, self.fill_kernel, grid, 0) }
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Flat<O> {
    fn run(&self, product: Product<'_, V, O>) -> Result<(), DeviceError> {
        let Product { matrix, alpha, beta, .. } = product;
        let device = matrix.device();
        let (pattern, values) = (matrix.pattern(), matrix.values());
        let (filled_rows, filled_offsets) = self.filled.views(&pattern.row_offsets);
        let is_compacted = u32::from(self.filled.compacted.is_some());
        let mut work = self.cut_rows.sums.lock();
        let tile = FlatTile {
            row_offsets: filled_offsets,
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: product.x.as_global(),
            y: product.y.as_global_mut(),
            tile_rows: self.tile_rows.as_global(),
            filled_rows,
            spans: self.cut_rows.spans.as_global(),
            sums: work.sums.as_global_mut(),
            arrived: work.arrived.as_global_mut(),
            run: work.run,
            is_compacted,
            nonzeros: matrix.nnz() as u64,
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises, and the plan's own buffers are of its matrix.
        unsafe { device.launch(tile, self.tile_kernel, self.tiles, 0) }?;
        self.fill_empty_rows(product)
    }

    fn shape(&self) -> Shape {
        let tiles = u64::from(self.tiles);
        let count = u64::from(self.filled.count);
        let compacted = self.filled.compacted.as_ref();
        let compacted_bytes = compacted.map_or(0, |(rows, offsets)| rows.bytes() + offsets.bytes());
        Shape {
            tile: Some(Tile::of(self.tile_kernel)),
            tiles,
            figures: vec![("rows with nonzeros", count)],
            workspace_bytes: self.tile_rows.bytes() + self.cut_rows.bytes() + compacted_bytes,
            ..Shape::default()
        }
    }
}
