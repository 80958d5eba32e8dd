use evenpath_kernels::spmv::{EncodeColumns, NarrowRows, NarrowWindows, SEGMENTS};
use evenpath_simt::kernel::KernelInfo;

use super::lengths::Lengths;
use super::row_tiles::{Group, fit};
use super::windows::{self, Windows};
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, OpError, grid, instance};
use crate::policy::Tile;
use crate::{Offset, Value};

/// Nonzeros of a tile, which a block codes: rows are so many at most, if they are several.
const TILE_NONZEROS: f64 = 16384.0;

/// Row tiles, with or without windows of x, whose columns have codes of 16 bits.
pub(super) struct Narrow {
    info: &'static KernelInfo,
    group: Group,
    grid: u32,
    windows: Option<Windows>,
    codes: DeviceVec<u16>,
    directories: DeviceVec<u32>,
    tile_rows: u32,
    /// Nonzeros of tiles without codes.
    whole: u64,
}

impl Narrow {
    /// Codes the columns, and waits for that; `windows` are those of the matrix where it is to be multiplied by them.
    /// `None` where a group of rows is longer than a kernel counts.
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        windows: Option<Windows>,
    ) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        let (info, group) = if windows.is_some() {
            fit::<NarrowWindows<V, O>>(lengths.mean)
        } else {
            fit::<NarrowRows<V, O>>(lengths.mean)
        };
        if !group.counts(nonzeros, lengths.longest) {
            return Ok(None);
        }
        let blocks =
            windows.as_ref().map_or_else(|| group.blocks(rows, info), |windows| windows.blocks().into());
        let grid_of_rows = grid(rows, nonzeros, blocks)?;
        let rows_of_mean = (TILE_NONZEROS / lengths.mean.max(1.0)) as u32;
        let tile_rows = rows_of_mean.clamp(group.rows, windows::BLOCK_ROWS);
        let tile_rows = 1 << tile_rows.ilog2();
        let tiles = grid(rows, nonzeros, rows.div_ceil(tile_rows as usize) as u64)?;
        let mut codes = device.uninitialised(nonzeros)?;
        let mut directories = device.uninitialised(tiles as usize * SEGMENTS as usize)?;
        let mut whole = device.zeros::<u64>(1)?;
        let encode = EncodeColumns {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            column_indices: matrix.pattern().column_indices.as_global(),
            codes: codes.as_global_mut(),
            directories: directories.as_global_mut(),
            whole: whole.as_global_mut(),
            rows: rows as u32,
            tile_rows,
        };
        // SAFETY: the views are of the matrix's pattern, of a code a nonzero, of a directory a tile, and of one word;
        // buffers are freed in the stream's order.
        unsafe { device.launch(encode, instance::<EncodeColumns<O>>(), tiles, 0) }?;
        let whole = whole.get(0)?;
        Ok(Some(Self { info, group, grid: grid_of_rows, windows, codes, directories, tile_rows, whole }))
    }

    /// Nonzeros whose columns are read as they are.
    fn whole_columns(&self) -> u64 {
        self.windows
            .as_ref()
            .map_or(self.whole, |windows| self.codes.len() as u64 - windows.found().covered())
    }

    /// Whether so few columns are read as they are that it does not count.
    pub(super) fn is_worth_it(&self) -> bool {
        self.whole_columns() <= self.codes.len() as u64 / 8
    }

    fn run_rows<V: Value, O: Offset>(
        &self,
        Product { matrix, alpha, x, beta, y }: Product<'_, V, O>,
    ) -> Result<(), DeviceError> {
        let pattern = matrix.pattern();
        let values = matrix.values();
        let kernel = NarrowRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            codes: self.codes.as_global(),
            directories: self.directories.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            rows: pattern.rows as u32,
            last_column: pattern.cols.saturating_sub(1) as u32,
            nonzeros: values.len() as u64,
            tile_rows_log2: self.tile_rows.ilog2(),
            lanes_log2: self.group.lanes_log2,
            alpha,
            beta,
        };
        // SAFETY: the views are of the matrix, of vectors whose lengths were checked, and of the plan's own buffers; all
        // are on this device, and buffers are freed in the stream's order. The matrix is valid, so every column index
        // is below x's length, and so is what a code stands for; column indices are there where a tile has no codes.
        unsafe { matrix.device().launch(kernel, self.info, self.grid, 0) }
    }

    fn run_windows<V: Value, O: Offset>(
        &self,
        windows: &Windows,
        Product { matrix, alpha, x, beta, y }: Product<'_, V, O>,
    ) -> Result<(), DeviceError> {
        let pattern = matrix.pattern();
        let values = matrix.values();
        let longest = windows.longest();
        let kernel = NarrowWindows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            codes: self.codes.as_global(),
            directories: self.directories.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            firsts: windows.firsts.as_global(),
            lens: windows.lens.as_global(),
            longest,
            rows: pattern.rows as u32,
            nonzeros: values.len() as u64,
            block_rows: windows::BLOCK_ROWS,
            tile_rows_log2: self.tile_rows.ilog2(),
            lanes_log2: self.group.lanes_log2,
            alpha,
            beta,
        };
        // SAFETY: as for rows, and the windows are those of the matrix's pattern, none longer than the shared memory asked
        // for; a block with a window has fewer columns than 2¹⁶, and its tiles' codes count from their least one.
        unsafe { matrix.device().launch(kernel, self.info, self.grid, longest * V::SIZE as u32) }
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Narrow {
    fn run(&self, product: Product<'_, V, O>) -> Result<(), DeviceError> {
        match &self.windows {
            Some(windows) => self.run_windows(windows, product),
            None => self.run_rows(product),
        }
    }

    fn reads_columns(&self) -> bool {
        self.whole_columns() > 0
    }

    fn shape(&self) -> Shape {
        let mut figures = vec![
            ("rows a warp", u64::from(self.group.rows)),
            ("rows a directory", u64::from(self.tile_rows)),
            ("columns without a code", self.whole_columns()),
        ];
        let mut workspace_bytes = 2 * self.codes.len() as u64 + 4 * self.directories.len() as u64;
        if let Some(windows) = &self.windows {
            figures.push(("elements of the longest window", windows.longest().into()));
            workspace_bytes += windows.bytes();
        }
        Shape { tile: Some(Tile::of(self.info)), tiles: u64::from(self.grid), figures, workspace_bytes }
    }
}
