use evenpath_kernels::spmv::{self as kernels, FlatCompactRows, FlatFillEmptyRows, FlatPartition, FlatTile};
use evenpath_kernels::{CsrView, Pattern, RowMap};
use evenpath_simt::Global;
use evenpath_simt::kernel::Kernel;

use super::cut_rows::{Cut, CutRows};
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::op::{DeviceCsr, OpError};
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// What the flat split needs beside the matrix.
pub(super) struct Flat<V: Value, O: Offset> {
    tile_launch: Launch<FlatTile<V, O>>,
    fill_launch: Launch<FlatFillEmptyRows<V, O>>,
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
        let launch = device.kernel().threads(rows)?;
        let mut filled_rows = device.uninitialized(rows.min(nonzeros))?;
        let mut filled_offsets = device.uninitialized(rows.min(nonzeros) + 1)?;
        let mut count = device.uninitialized(1)?;
        let mut states = device.zeros(launch.grid() as usize + 1)?;
        let compact = FlatCompactRows {
            pattern: matrix.pattern().view(),
            filled_rows: filled_rows.as_global_mut(),
            filled_offsets: filled_offsets.as_global_mut(),
            count: count.as_global_mut(),
            states: states.as_global_mut(),
        };
        // SAFETY: there are `rows` + 1 offsets, a word for each row that has nonzeros, one more offset, and the states
        // that the blocks need, all zero; buffers are freed in the stream's order.
        unsafe { launch.launch(compact) }?;
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

    /// The rows of the matrix.
    fn map(&self) -> RowMap {
        match &self.compacted {
            Some((rows, _)) => RowMap { rows: rows.as_global(), is_mapped: 1 },
            None => RowMap { rows: Global::from_device(0, 0), is_mapped: 0 },
        }
    }

    /// A pattern with these rows instead of all.
    fn pattern(&self, pattern: Pattern<O>) -> Pattern<O> {
        match &self.compacted {
            Some((_, offsets)) => Pattern { row_offsets: offsets.as_global(), rows: self.count, ..pattern },
            None => Pattern { rows: self.count, ..pattern },
        }
    }
}

impl<V: Value, O: Offset> Flat<V, O> {
    /// Finds the rows that have nonzeros, and the row in which each tile begins.
    pub(super) fn analyze(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        Self::cut(matrix, FilledRows::find(matrix)?)
    }

    /// Finds the row in which each tile begins, of a matrix whose rows all have nonzeros.
    pub(super) fn of_filled_rows(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        Self::cut(matrix, FilledRows { count: matrix.rows() as u32, compacted: None })
    }

    fn cut(matrix: &DeviceCsr<V, O>, filled: FilledRows<O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let tile = policy::spmv_flat(V::TYPE, device.properties().compute_capability);
        let kernel_of = |tile: Tile| FlatTile::<V, O>::instance(tile.block_size, tile.items_per_thread);
        let Some((tile, tile_kernel)) = tile.and_then(|tile| Some((tile, kernel_of(tile)?))) else {
            unreachable!("the kernels' tables have an instance for every tile of the policy")
        };
        let tile_launch = device.instance(tile_kernel).items(matrix.nnz())?;
        let fill_launch = device.kernel().threads(matrix.rows())?;
        let tiles = tile_launch.grid();
        let launch = device.kernel().threads(tiles as usize + 1)?;
        let mut tile_rows = device.uninitialized(tiles as usize + 1)?;
        let pattern = filled.pattern(matrix.pattern().view());
        let partition =
            FlatPartition { pattern, tile_rows: tile_rows.as_global_mut(), tiles, tile_items: tile.items() };
        // SAFETY: the views are of the offsets of the rows that have nonzeros, one more than these, and of `tile_rows`,
        // `tiles` + 1 long, and buffers are freed in the stream's order.
        unsafe { launch.launch(partition) }?;
        let cut =
            Cut { pattern, tile_rows: &tile_rows, tiles, tile_items: tile.items(), counts_row_ends: false };
        let cut_rows = CutRows::find::<V, O>(device, &cut)?;
        Ok(Self { tile_launch, fill_launch, tile_rows, filled, cut_rows })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Flat<V, O> {
    fn run(&self, mut product: Product<'_, V, O>) -> Result<(), DeviceError> {
        let rows = product.matrix.rows();
        let mut work = self.cut_rows.sums.lock()?;
        let (tile_rows, cut_rows) = (self.tile_rows.as_global(), self.cut_rows.view(&mut work));
        let tile = |product: kernels::Product<V, O>| {
            let Pattern { row_offsets, rows, .. } = self.filled.pattern(product.matrix.pattern());
            let matrix = CsrView { row_offsets, rows, ..product.matrix };
            let product = kernels::Product { matrix, ..product };
            FlatTile { product, tile_rows, filled_rows: self.filled.map(), cut_rows }
        };
        // SAFETY: the tiles, the cut rows and the rows that have nonzeros are the matrix's.
        unsafe { product.launch(&self.tile_launch, tile) }?;
        if self.filled.count as usize == rows {
            return Ok(());
        }
        // SAFETY: there are no other views, and a thread for each row.
        unsafe {
            product.launch(&self.fill_launch, |kernels::Product { matrix, update, .. }| FlatFillEmptyRows {
                pattern: matrix.pattern(),
                update,
            })
        }
    }

    fn shape(&self) -> Shape {
        let tiles = u64::from(self.tile_launch.grid());
        let count = u64::from(self.filled.count);
        let compacted = self.filled.compacted.as_ref();
        let compacted_bytes = compacted.map_or(0, |(rows, offsets)| rows.bytes() + offsets.bytes());
        Shape {
            tile: Some(Tile::of(self.tile_launch.info())),
            tiles,
            figures: vec![("rows with nonzeros", count)],
            workspace_bytes: self.tile_rows.bytes() + self.cut_rows.bytes() + compacted_bytes,
            ..Shape::default()
        }
    }
}
