use evenpath_kernels::spmv::{EncodeColumns, NarrowBlocks, NarrowRows, SEGMENTS, ShareCodes};
use evenpath_simt::kernel::KernelInfo;
use evenpath_simt::{Global, GlobalMut, ScalarType};

use super::adaptive::RowBlocks;
use super::lengths::Lengths;
use super::row_tiles::{Group, fit};
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::sort::{SortOptions, sort_pairs};
use crate::op::{DeviceCsr, OpError, grid, instance, tile_items, vector};
use crate::policy::Tile;
use crate::{Offset, Value};

/// Nonzeros of a tile of rows that a warp takes groups of, in the mean.
const TILE_NONZEROS: f64 = 4096.0;

/// Rows of such a tile, at most.
const TILE_ROWS: u32 = 512;

/// Rows whose columns have codes of 16 bits.
pub(super) struct Narrow {
    kernel: &'static KernelInfo,
    rows: Rows,
    codes: Codes,
}

/// How rows are cut: as measures better for the type of the values.
enum Rows {
    /// Row blocks, for f64.
    Blocks(RowBlocks),
    /// Row tiles, for f32: groups of rows, `tile_rows` of which have a directory.
    Tiles { group: Group, grid: u32, tile_rows: u32 },
}

/// The columns of the nonzeros of tiles of rows, as codes of 16 bits.
struct Codes {
    /// Two a word.
    pairs: DeviceVec<u32>,
    nonzeros: u64,
    directories: DeviceVec<u32>,
    places: DeviceVec<u64>,
    /// First nonzero of each tile, and the number of nonzeros.
    tile_nonzeros: DeviceVec<u64>,
    /// Nonzeros of tiles without codes.
    whole: u64,
    /// Nonzeros of tiles with the codes of another.
    shared: u64,
}

impl Codes {
    /// Codes the columns of the tiles that begin with the given rows, and waits for that. Tiles share codes if they begin
    /// equally far behind a multiple of `alignment`.
    fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        tile_rows: &DeviceVec<u32>,
        alignment: u32,
    ) -> Result<Self, OpError> {
        let (device, pattern) = (matrix.device(), matrix.pattern());
        let blocks = tile_rows.len() - 1;
        let tiles = grid(matrix.rows(), matrix.nnz(), blocks as u64)?;
        // Cleared, because wide loads reach into neighboring tiles, which may have no codes.
        let pairs = device.zeros::<u32>(matrix.nnz().div_ceil(2))?;
        let (address, len) = (pairs.as_global().address(), 2 * pairs.len() as u64);
        let mut directories = device.uninitialized(blocks * SEGMENTS as usize)?;
        let mut own_places = device.uninitialized::<u64>(blocks)?;
        let mut tile_nonzeros = device.uninitialized::<u64>(blocks + 1)?;
        let mut hashes = device.uninitialized::<u32>(blocks)?;
        let mut whole = device.zeros::<u64>(1)?;
        let encode = EncodeColumns {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            codes: GlobalMut::from_device(address, len),
            directories: directories.as_global_mut(),
            places: own_places.as_global_mut(),
            tile_nonzeros: tile_nonzeros.as_global_mut(),
            hashes: hashes.as_global_mut(),
            whole: whole.as_global_mut(),
            tile_rows: tile_rows.as_global(),
            cols: matrix.cols() as u32,
        };
        // SAFETY: the views are of the matrix's pattern, of its tiles, of a code a nonzero, of a directory, a place, a first
        // nonzero and a hash a tile, and of one word; buffers are freed in the stream's order.
        unsafe { device.launch(encode, instance::<EncodeColumns<O>>(), tiles, 0) }?;

        let (hashes, order) = sort_pairs(&hashes, &vector::iota(device, tiles)?, SortOptions::default())?;
        let mut places = device.uninitialized(blocks)?;
        let mut shared = device.zeros::<u64>(1)?;
        let share = ShareCodes {
            codes: Global::from_device(address, len),
            tile_nonzeros: tile_nonzeros.as_global(),
            hashes: hashes.as_global(),
            order: order.as_global(),
            own_places: own_places.as_global(),
            places: places.as_global_mut(),
            shared: shared.as_global_mut(),
            tiles,
            alignment,
        };
        let info = instance::<ShareCodes>();
        // SAFETY: as above; the order has the numbers of the tiles, each of which gets a place.
        unsafe { device.launch(share, info, tiles.div_ceil(info.block_size / 32), 0) }?;
        let (whole, shared) = (whole.get(0)?, shared.get(0)?);
        let nonzeros = matrix.nnz() as u64;
        Ok(Self { pairs, nonzeros, directories, places, tile_nonzeros, whole, shared })
    }

    /// Bytes of device memory.
    fn bytes(&self) -> u64 {
        let codes = self.pairs.bytes() + self.directories.bytes();
        codes + self.places.bytes() + self.tile_nonzeros.bytes()
    }
}

impl Narrow {
    /// Cuts the rows and codes the columns. `None` where a group of rows is longer than a kernel counts.
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
    ) -> Result<Option<Self>, OpError> {
        if V::TYPE != ScalarType::F32 {
            let kernel = instance::<NarrowBlocks<V, O>>();
            let blocks = RowBlocks::cut(matrix, lengths, tile_items(kernel))?;
            let codes = Codes::new(matrix, &blocks.block_rows, 1)?;
            return Ok(Some(Self { kernel, rows: Rows::Blocks(blocks), codes }));
        }
        let (kernel, group) = fit::<NarrowRows<V, O>>(lengths.mean);
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        if !group.counts(nonzeros, lengths.longest) {
            return Ok(None);
        }
        let grid = grid(rows, nonzeros, group.blocks(rows, kernel))?;
        let tile_rows = (TILE_NONZEROS / lengths.mean.max(1.0)) as u32;
        let tile_rows = 1 << tile_rows.clamp(group.rows, TILE_ROWS).ilog2();
        let starts: Vec<u32> = (0..rows as u32).step_by(tile_rows as usize).chain([rows as u32]).collect();
        // Eight nonzeros: loads of four begin at a multiple of that.
        let codes = Codes::new(matrix, &matrix.device().upload(&starts)?, 8)?;
        Ok(Some(Self { kernel, rows: Rows::Tiles { group, grid, tile_rows }, codes }))
    }

    /// Whether so few columns are read as they are that it does not count.
    pub(super) fn is_worth_it(&self) -> bool {
        self.codes.whole <= self.codes.nonzeros / 8
    }

    fn run_blocks<V: Value, O: Offset>(
        &self,
        blocks: &RowBlocks,
        Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>,
    ) -> Result<(), DeviceError> {
        let (pattern, values, codes) = (matrix.pattern(), matrix.values(), &self.codes);
        let kernel = NarrowBlocks {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            codes: Global::from_device(codes.pairs.as_global().address(), 2 * codes.pairs.len() as u64),
            directories: codes.directories.as_global(),
            places: codes.places.as_global(),
            block_rows: blocks.block_rows.as_global(),
            block_nonzeros: codes.tile_nonzeros.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises, and the plan's own buffers are of its matrix: codes stand for its columns, and
        // column indices are there if a tile has no codes.
        unsafe { matrix.device().launch(kernel, self.kernel, blocks.blocks, 0) }
    }

    fn run_tiles<V: Value, O: Offset>(
        &self,
        (group, grid, tile_rows): (Group, u32, u32),
        Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>,
    ) -> Result<(), DeviceError> {
        let (pattern, values, codes) = (matrix.pattern(), matrix.values(), &self.codes);
        let kernel = NarrowRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            codes: codes.pairs.as_global(),
            directories: codes.directories.as_global(),
            places: codes.places.as_global(),
            tile_nonzeros: codes.tile_nonzeros.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            rows: pattern.rows as u32,
            nonzeros: codes.nonzeros,
            tile_rows_log2: tile_rows.ilog2(),
            lanes_log2: group.lanes_log2,
            alpha,
            beta,
        };
        // SAFETY: as for row blocks.
        unsafe { matrix.device().launch(kernel, self.kernel, grid, 0) }
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Narrow {
    fn run(&self, product: Product<'_, V, O>) -> Result<(), DeviceError> {
        match &self.rows {
            Rows::Blocks(blocks) => self.run_blocks(blocks, product),
            &Rows::Tiles { group, grid, tile_rows } => self.run_tiles((group, grid, tile_rows), product),
        }
    }

    fn reads_columns(&self) -> bool {
        self.codes.whole > 0
    }

    fn shape(&self) -> Shape {
        let figures = vec![
            ("columns without a code", self.codes.whole),
            ("columns with others' codes", self.codes.shared),
        ];
        let (tiles, bytes) = match &self.rows {
            Rows::Blocks(blocks) => (blocks.blocks, blocks.block_rows.bytes()),
            Rows::Tiles { grid, .. } => (*grid, 0),
        };
        Shape {
            tile: Some(Tile::of(self.kernel)),
            tiles: u64::from(tiles),
            figures,
            workspace_bytes: self.codes.bytes() + bytes,
            ..Shape::default()
        }
    }
}
