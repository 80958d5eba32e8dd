use evenpath_kernels::spmv::{
    CodedColumns, CutRowBlocks, EncodeColumns, ListRowBlocks, NarrowBlocks, NarrowRows, SEGMENTS, ShareCodes,
};
use evenpath_kernels::vector::Iota;
use evenpath_simt::ScalarType;

use super::row_blocks::RowBlocks;
use super::row_tiles::{WarpRows, fit};
use crate::device::{DeviceError, DeviceSlice, DeviceVec, Kernels, Launch};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::Features;
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::lengths::Lengths;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::reason::Reason;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Abilities, Request, Strategy, boxed, or_too_long};
use crate::op::spmv::thresholds::{NARROW_HUNDREDTHS, ROW_BLOCK_MEAN};
use crate::operand::{OpError, Pairs};
use crate::policy::Tile;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::sort::{self, SortOptions};
use crate::sequence::vector;
use crate::{Offset, Value};

/// Nonzeros of a tile of rows that a warp takes groups of, in the mean.
const TILE_NONZEROS: f64 = 4096.0;

/// The most rows of such a tile.
const TILE_ROWS: u32 = 512;

/// The method with columns of 16 bits.
pub(super) struct NarrowColumnsMethod;

impl<V: Value, O: Offset> Strategy<V, O> for NarrowColumnsMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::NarrowColumns
    }

    fn abilities(&self) -> Abilities {
        Abilities { copies: true, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        let (gathers, lengths) = (Gathers::of(matrix)?, Lengths::count(matrix)?);
        or_too_long(Narrow::new(matrix, lengths, gathers)?, SpmvMethod::NarrowColumns, lengths)
    }

    fn rule(&self, features: &Features, fastest: Option<SpmvMethod>) -> Option<Reason> {
        let pays = if features.are_for_blocks() {
            features.may_copy() && !features.stays_in_cache()
        } else {
            fastest.is_some_and(|fastest| pays_beside(features, fastest))
        };
        pays.then_some(Reason::RowLengths)
    }

    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        let narrow = Narrow::new(matrix, features.lengths, features.gathers)?;
        Ok(boxed(narrow.filter(Narrow::is_worth_it)))
    }
}

/// Returns whether narrow columns may be faster than the fastest of the other methods: in cache, bytes are not what counts, unless
/// rows are short, and elsewhere they must save enough of them.
fn pays_beside(features: &Features, fastest: SpmvMethod) -> bool {
    let saves_time = if features.stays_in_cache() {
        let are_tiled = matches!(fastest, SpmvMethod::RowTiles | SpmvMethod::RowBlocks);
        are_tiled && features.lengths.mean < ROW_BLOCK_MEAN
    } else {
        let saved = 2 * features.nonzeros;
        fastest != SpmvMethod::Block && 100 * saved >= NARROW_HUNDREDTHS * features.bytes()
    };
    features.may_copy() && features.are_even() && saves_time
}

/// Rows whose columns have codes of 16 bits.
struct Narrow<V: Value, O: Offset> {
    rows: NarrowLaunch<V, O>,
    codes: EncodedColumns,
}

/// How rows are cut: as measures better for the type of the values.
enum NarrowLaunch<V: Value, O: Offset> {
    /// Row blocks, for f64.
    Blocks { launch: Launch<NarrowBlocks<V, O>>, block_rows: DeviceVec<u32> },
    /// Row tiles, for f32: groups of rows, `tile_rows` of which have a directory.
    Tiles { launch: Launch<NarrowRows<V, O>>, group: WarpRows, tile_rows: u32 },
}

/// The columns of the nonzeros of tiles of rows, as codes of 16 bits.
struct EncodedColumns {
    /// Two per word.
    pairs: DeviceVec<u32>,
    nonzeros: u64,
    directories: DeviceVec<u32>,
    places: DeviceVec<u64>,
    /// First nonzero of each tile, and the number of nonzeros.
    tile_nonzeros: DeviceVec<u64>,
    /// Nonzeros of tiles without codes.
    whole: u64,
    /// Nonzeros of tiles that use the codes of another.
    shared: u64,
}

impl EncodedColumns {
    /// Codes the columns of the tiles that begin with the given rows, and waits for that. Tiles share codes if they begin
    /// equally far after a multiple of `alignment`.
    fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        tile_rows: &DeviceSlice<u32>,
        alignment: u32,
    ) -> Result<Self, OpError> {
        let device = matrix.device();
        let blocks = tile_rows.len() - 1;
        let encode_launch = device.kernel().blocks(blocks)?;
        let share_launch = device.kernel().warps(blocks)?;
        let tiles = encode_launch.grid();
        // Cleared, because wide loads reach into neighboring tiles, which may have no codes.
        let mut pairs = device.zeros::<u32>(matrix.nnz().div_ceil(2))?;
        let mut directories = device.uninitialized(blocks * SEGMENTS as usize)?;
        let mut own_places = device.uninitialized::<u64>(blocks)?;
        let mut tile_nonzeros = device.uninitialized::<u64>(blocks + 1)?;
        let mut hashes = device.uninitialized::<u32>(blocks)?;
        let mut whole = device.zeros::<u64>(1)?;
        let encode = EncodeColumns {
            pattern: matrix.pattern().view(),
            codes: pairs.as_global_mut_of(),
            directories: directories.as_global_mut(),
            places: own_places.as_global_mut(),
            tile_nonzeros: tile_nonzeros.as_global_mut(),
            hashes: hashes.as_global_mut(),
            whole: whole.as_global_mut(),
            tile_rows: tile_rows.as_global(),
            cols: matrix.ncols() as u32,
        };
        // SAFETY: the views are of the matrix's pattern, of its tiles, of one code per nonzero, of one directory, place,
        // first nonzero and hash per tile, and of one word; buffers are freed in the stream's order.
        unsafe { encode_launch.launch(encode) }?;

        let (hashes, order) =
            sort::pairs(Pairs::new(&hashes, &vector::iota(device, tiles)?), SortOptions::default())?;
        let mut places = device.uninitialized(blocks)?;
        let mut shared = device.zeros::<u64>(1)?;
        let share = ShareCodes {
            codes: pairs.as_global_of(),
            tile_nonzeros: tile_nonzeros.as_global(),
            hashes: hashes.as_global(),
            order: order.as_global(),
            own_places: own_places.as_global(),
            places: places.as_global_mut(),
            shared: shared.as_global_mut(),
            tiles,
            alignment,
        };
        // SAFETY: as above; the order has the numbers of the tiles, each of which gets a place.
        unsafe { share_launch.launch(share) }?;
        let (whole, shared) = (whole.get(0)?, shared.get(0)?);
        let nonzeros = matrix.nnz() as u64;
        Ok(Self { pairs, nonzeros, directories, places, tile_nonzeros, whole, shared })
    }

    /// The codes as kernels take them, two per word.
    fn pairs(&self) -> CodedColumns<u32> {
        CodedColumns {
            codes: self.pairs.as_aligned(),
            directories: self.directories.as_global(),
            places: self.places.as_global(),
            tile_nonzeros: self.tile_nonzeros.as_global(),
        }
    }

    /// The codes as kernels take them, one per element.
    fn singles(&self) -> CodedColumns<u16> {
        let CodedColumns { codes, directories, places, tile_nonzeros } = self.pairs();
        CodedColumns { codes: codes.reinterpret(), directories, places, tile_nonzeros }
    }

    /// Bytes of device memory.
    fn bytes(&self) -> u64 {
        let codes = self.pairs.bytes() + self.directories.bytes();
        codes + self.places.bytes() + self.tile_nonzeros.bytes()
    }
}

/// The kernels that code the columns, to be compiled ahead.
fn kernels<V: Value, O: Offset>() -> Kernels {
    let kernels = pair_kernels::<u32, u32>().and::<EncodeColumns<O>>().and::<ShareCodes>().and::<Iota>();
    if V::TYPE == ScalarType::F32 {
        kernels
    } else {
        kernels.and::<CutRowBlocks<O>>().and::<ListRowBlocks<O>>().and::<NarrowBlocks<V, O>>()
    }
}

impl<V: Value, O: Offset> Narrow<V, O> {
    /// Cuts the rows and codes the columns. `None` if a group of rows is longer than a kernel counts.
    fn new(matrix: &DeviceCsr<V, O>, lengths: Lengths, gathers: Gathers) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        device.prepare(kernels::<V, O>)?;
        if V::TYPE != ScalarType::F32 {
            let launcher = device.kernel::<NarrowBlocks<V, O>>();
            let limit = launcher.info().tile_items() as u32;
            let RowBlocks { block_rows } = RowBlocks::cut(matrix, lengths, limit)?;
            let launch = gathers.divide(launcher.blocks(block_rows.len() - 1)?);
            let codes = EncodedColumns::new(matrix, &block_rows, 1)?;
            return Ok(Some(Self { rows: NarrowLaunch::Blocks { launch, block_rows }, codes }));
        }
        let (kernel, group) = fit::<NarrowRows<V, O>>(lengths.mean);
        let (rows, nonzeros) = (matrix.nrows(), matrix.nnz());
        if !group.counts(nonzeros, lengths.longest) {
            return Ok(None);
        }
        let launch = gathers.divide(device.instance(kernel).warps(group.warps(rows))?);
        let tile_rows = (TILE_NONZEROS / lengths.mean.max(1.0)) as u32;
        let tile_rows = 1 << tile_rows.clamp(group.rows, TILE_ROWS).ilog2();
        let starts: Vec<u32> = (0..rows as u32).step_by(tile_rows as usize).chain([rows as u32]).collect();
        // Eight nonzeros: loads of four begin at a multiple of that.
        let codes = EncodedColumns::new(matrix, &device.upload(&starts)?, 8)?;
        Ok(Some(Self { rows: NarrowLaunch::Tiles { launch, group, tile_rows }, codes }))
    }

    /// Returns whether few enough columns are without codes.
    fn is_worth_it(&self) -> bool {
        self.codes.whole <= self.codes.nonzeros / 8
    }
}

impl<V: Value, O: Offset> SpmvSchedule<V, O> for Narrow<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        match &self.rows {
            NarrowLaunch::Blocks { launch, block_rows } => {
                let (columns, block_rows) = (self.codes.singles(), block_rows.as_global());
                let kernel = |product| NarrowBlocks { product, columns, block_rows };
                // SAFETY: the row blocks and the codes are the matrix's, and what a code stands for is a column of it;
                // column indices are there if a tile has no codes.
                unsafe { product.launch(launch, kernel) }
            }
            NarrowLaunch::Tiles { launch, group, tile_rows } => {
                let (tile_rows_log2, lanes_log2) = (tile_rows.ilog2(), group.lanes_log2);
                let columns = self.codes.pairs();
                let kernel = |product| NarrowRows { product, columns, tile_rows_log2, lanes_log2 };
                // SAFETY: as for row blocks.
                unsafe { product.launch(launch, kernel) }
            }
        }
    }

    fn reads_columns(&self) -> bool {
        self.codes.whole > 0
    }

    fn shape(&self) -> ScheduleShape {
        let details = SpmvDetails::NarrowColumns {
            without_code: self.codes.whole,
            with_others_codes: self.codes.shared,
        };
        let (info, tiles, bytes) = match &self.rows {
            NarrowLaunch::Blocks { launch, block_rows } => (launch.info(), launch.grid(), block_rows.bytes()),
            NarrowLaunch::Tiles { launch, .. } => (launch.info(), launch.grid(), 0),
        };
        ScheduleShape {
            tile: Some(Tile::of(info)),
            tiles: u64::from(tiles),
            details: Some(details),
            workspace_bytes: self.codes.bytes() + bytes,
        }
    }
}
