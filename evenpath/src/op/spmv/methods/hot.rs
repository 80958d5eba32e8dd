//! Products with the elements of x that most nonzeros want in shared memory.

use std::sync::{Mutex, PoisonError};

use evenpath_kernels::GlobalCsr;
use evenpath_kernels::spmv::{
    self as kernels, CountColumns, EncodeHotColumns, GatherHotColumns, HOT_TILE, HotColumns, MarkRowEnds,
};
use evenpath_kernels::vector::Iota;

use super::cut_rows::CutRows;
use super::flat::cut_evenly;
use crate::device::{Device, DeviceError, DeviceVec, Kernels, Launch};
use crate::format::DeviceCsr;
use crate::format::filled_rows::FilledRows;
use crate::op::product::SpmvCall;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::Features;
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::reason::Reason;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Abilities, Request, Strategy, boxed};
use crate::op::spmv::thresholds::{COPY_MEAN, HOT_NONZEROS, HOT_TENTHS, HOT_X_TENTHS};
use crate::operand::{OpError, Pairs};
use crate::policy::Tile;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::sort::{self, SortOptions, SortOrder};
use crate::sequence::vector;
use crate::{Offset, Value};

/// The most columns and hot columns together: codes have 31 bits for them.
const MOST_COLUMNS: usize = 1 << 31;
/// Bytes that a gather from the second-level cache takes.
const SECTOR: u64 = 32;

/// The most hot columns of which each block gathers the elements of x itself: that costs it less than another launch.
const GATHERED_BY_BLOCKS: usize = 8192;
/// The most chunks of a matrix until they have [`CHUNK_TILES`] tiles: an H200 runs about as many warps at once.
const CHUNKS: usize = 4096;
/// The most tiles of a chunk.
const CHUNK_TILES: u32 = 8;

/// The method with the elements of x that most nonzeros want in shared memory.
pub(super) struct HotColumnsMethod;

impl<V: Value, O: Offset> Strategy<V, O> for HotColumnsMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::HotColumns
    }

    fn abilities(&self) -> Abilities {
        Abilities { copies: true, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        boxed(Hot::with_columns(matrix, |_| true)?).ok_or_else(|| OpError::TooLong {
            what: "with the method hot-columns, an x",
            len: matrix.ncols(),
            limit: MOST_COLUMNS,
        })
    }

    /// It is worth counting which columns are hot where they are scattered. An x of which the first-level cache has most needs none.
    fn rule(&self, features: &Features, _: Option<SpmvMethod>) -> Option<Reason> {
        let Gathers { x_bytes, shared_bytes, .. } = features.gathers;
        let is_large = 10 * x_bytes > HOT_X_TENTHS * shared_bytes;
        let are_many = features.nonzeros >= HOT_NONZEROS && features.lengths.mean >= COPY_MEAN;
        let are_scattered = is_large && features.gathers.are_scattered();
        let may_be_hot = features.may_copy() && are_many && are_scattered && !features.are_for_windows();
        let text = "columns are scattered, and some have many of the nonzeros";
        may_be_hot.then_some(Reason::Property(text.into()))
    }

    fn build_chosen(&self, matrix: &DeviceCsr<V, O>, _: &Features) -> Result<Option<Boxed<V, O>>, OpError> {
        Ok(boxed(Hot::with_columns(matrix, |columns| columns.are_worth_it(matrix.nnz()))?))
    }
}

/// Columns with codes, the hot ones' elements of x, and chunks of nonzeros.
struct Hot<V: Value, O: Offset> {
    /// Only if hot columns are many.
    gather: Option<Launch<GatherHotColumns<V, O>>>,
    launch: Launch<HotColumns<V, O>>,
    columns: HotColumnList,
    codes: DeviceVec<u32>,
    /// The row of each chunk's first nonzero, among those that have some, and their number; `chunks` + 1.
    chunk_rows: DeviceVec<u32>,
    chunks: u32,
    chunk_tiles: u32,
    tiles: u32,
    filled: FilledRows<O>,
    cut_rows: CutRows,
    /// The hot columns' elements of x, of one run at a time; none if each block gathers them.
    elements: Mutex<DeviceVec<V>>,
}

/// The columns with the most nonzeros.
struct HotColumnList {
    /// Ascending.
    hot: DeviceVec<u32>,
    /// Their nonzeros.
    covered: u64,
}

impl HotColumnList {
    /// Finds them; waits for the device. There is at least one if the matrix has nonzeros.
    fn find<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let (cols, nonzeros) = (matrix.ncols(), matrix.nnz());
        if nonzeros == 0 {
            return Ok(Self { hot: device.zeros(0)?, covered: 0 });
        }
        let mut counts = device.zeros::<u32>(cols)?;
        let kernel = CountColumns {
            column_indices: matrix.pattern().view().column_indices.natural(),
            counts: counts.as_global_mut(),
            nonzeros: nonzeros as u64,
        };
        // SAFETY: there is a count for each column; buffers are freed in the stream's order.
        unsafe { device.kernel().threads(nonzeros)?.launch(kernel) }?;
        let descending = SortOptions::default().with_order(SortOrder::Descending);
        let (counts, columns) =
            sort::pairs(Pairs::new(&counts, &vector::iota(device, cols as u32)?), descending)?;
        let most = most_hot::<V>(device).min(cols);
        let counts = counts.slice(..most)?.download()?;
        // An element is copied to every block. That must be less than what its gathers take.
        let copies = u64::from(device.properties().multiprocessors) * V::SIZE as u64;
        let hot = counts.partition_point(|&count| u64::from(count) * SECTOR > copies).max(1);
        let mut columns = columns.slice(..hot)?.download()?;
        columns.sort_unstable();
        let covered = counts.iter().take(hot).map(|&count| u64::from(count)).sum();
        Ok(Self { hot: device.upload(&columns)?, covered })
    }

    /// Codes for all columns.
    fn encode<V: Value, O: Offset>(&self, matrix: &DeviceCsr<V, O>) -> Result<DeviceVec<u32>, OpError> {
        let device = matrix.device();
        let pattern = matrix.pattern().view();
        let mut codes = device.uninitialized(matrix.nnz())?;
        let encode = EncodeHotColumns {
            column_indices: pattern.column_indices.natural(),
            hot_columns: self.hot.as_global(),
            codes: codes.as_global_mut(),
            nonzeros: pattern.nonzeros,
            hot: self.hot.len() as u32,
        };
        // SAFETY: there is a code for each nonzero; buffers are freed in the stream's order.
        unsafe { device.kernel().threads(matrix.nnz())?.launch(encode) }?;
        let mark = MarkRowEnds { pattern, codes: codes.as_global_mut() };
        // SAFETY: as above.
        unsafe { device.kernel().threads(matrix.nrows())?.launch(mark) }?;
        Ok(codes)
    }

    /// Returns whether the hot columns have enough nonzeros for copying their elements of x to pay.
    fn are_worth_it(&self, nonzeros: usize) -> bool {
        self.covered >= HOT_NONZEROS && 10 * self.covered >= HOT_TENTHS * nonzeros as u64
    }
}

/// The most hot columns: their elements leave a part of what shared memory and the first-level cache have together to that cache,
/// through which all other gathers go.
fn most_hot<V: Value>(device: &Device) -> usize {
    let sevenths = if V::SIZE == 8 { 5 } else { 6 };
    (device.properties().shared_bytes() / 7 * sevenths) as usize / V::SIZE
}

/// Tiles of a chunk: the bits of results depend on it, so it does not depend on the device.
fn chunk_tiles(nonzeros: usize) -> u32 {
    let tiles = (nonzeros / CHUNKS).div_ceil(HOT_TILE as usize);
    tiles.clamp(1, CHUNK_TILES as usize) as u32
}

/// The kernels of planning and of products, to be compiled ahead.
fn all_kernels<V: Value, O: Offset>() -> Kernels {
    pair_kernels::<u32, u32>()
        .and::<CountColumns>()
        .and::<EncodeHotColumns>()
        .and::<MarkRowEnds<O>>()
        .and::<Iota>()
        .and::<GatherHotColumns<V, O>>()
        .and::<HotColumns<V, O>>()
}

impl<V: Value, O: Offset> Hot<V, O> {
    /// Finds the hot columns and codes all. `None` if the matrix has too many columns or nonzeros, or hot columns are not wanted.
    fn with_columns(
        matrix: &DeviceCsr<V, O>,
        are_wanted: impl FnOnce(&HotColumnList) -> bool,
    ) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        let tiles = matrix.nnz().div_ceil(HOT_TILE as usize);
        if matrix.ncols() + most_hot::<V>(device) > MOST_COLUMNS || tiles > i32::MAX as usize {
            return Ok(None);
        }
        device.prepare(all_kernels::<V, O>)?;
        let columns = HotColumnList::find(matrix)?;
        if !are_wanted(&columns) {
            return Ok(None);
        }
        let hot = columns.hot.len();
        let (tiles, chunk_tiles) = (tiles as u32, chunk_tiles(matrix.nnz()));
        let chunks = tiles.div_ceil(chunk_tiles);
        let codes = columns.encode(matrix)?;
        let filled = FilledRows::find(matrix.pattern())?;
        let (chunk_rows, cut_rows) = cut_evenly(matrix, &filled, chunks, chunk_tiles * HOT_TILE)?;
        let empty_rows = if filled.count as usize == matrix.nrows() { 0 } else { matrix.nrows() };
        // Without nonzeros there are no blocks that could gather, and the other launch writes the empty rows.
        let is_gathered = hot > GATHERED_BY_BLOCKS || chunks == 0;
        let gather = is_gathered.then(|| device.kernel().threads(hot.max(empty_rows))).transpose()?;
        let launcher = device.kernel::<HotColumns<V, O>>().shared_bytes((hot * V::SIZE) as u32);
        let chunks_of_block = launcher.info().block_size / 32;
        let launch = launcher.resident(chunks.div_ceil(chunks_of_block))?;
        let elements = Mutex::new(device.uninitialized(if is_gathered { hot } else { 0 })?);
        Ok(Some(Self {
            gather,
            launch,
            columns,
            codes,
            chunk_rows,
            chunks,
            chunk_tiles,
            tiles,
            filled,
            cut_rows,
            elements,
        }))
    }
}

/// A product with all rows of its matrix, or with none, where there is nothing to write for empty ones.
fn with_rows_if<V: Value, O: Offset>(
    condition: bool,
    product: kernels::SpmvArguments<V, O>,
) -> kernels::SpmvArguments<V, O> {
    let rows = if condition { product.matrix.rows } else { 0 };
    kernels::SpmvArguments { matrix: GlobalCsr { rows, ..product.matrix }, ..product }
}

impl<V: Value, O: Offset> SpmvSchedule<V, O> for Hot<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let mut elements = self.elements.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = self.cut_rows.sums.lock()?;
        let hot_columns = self.columns.hot.as_global();
        let hot = hot_columns.len() as u32;
        let has_empty_rows = self.filled.count as usize != product.matrix.nrows();
        if let Some(gather) = &self.gather {
            let hot_x = elements.as_global_mut();
            // SAFETY: the hot columns are the matrix's, as many as there are elements for them, and there is a thread for each and,
            // if some are empty, for each row.
            unsafe {
                product.launch(gather, |product| {
                    let kernels::SpmvArguments { x, update, .. } = product;
                    let pattern = with_rows_if(has_empty_rows, product).matrix.pattern();
                    GatherHotColumns { pattern, x, hot_columns, hot_x, update, hot }
                })
            }?;
        }
        // SAFETY: the codes, the chunks, the cut rows and the rows that have nonzeros are the matrix's; the launch has shared
        // memory for the hot columns.
        unsafe {
            product.launch(&self.launch, |product| HotColumns {
                product: with_rows_if(has_empty_rows && self.gather.is_none(), product),
                codes: self.codes.as_aligned(),
                hot_columns,
                hot_x: elements.as_aligned(),
                chunk_rows: self.chunk_rows.as_global(),
                filled_rows: self.filled.map(),
                cut_rows: self.cut_rows.view(&mut work),
                hot,
                is_gathered: u32::from(self.gather.is_some()),
                chunks: self.chunks,
                tiles: self.tiles,
                chunk_tiles: self.chunk_tiles,
            })
        }
    }

    fn reads_columns(&self) -> bool {
        false
    }

    fn shape(&self) -> ScheduleShape {
        let elements = self.elements.lock().unwrap_or_else(PoisonError::into_inner).bytes();
        let lists = self.columns.hot.bytes() + self.chunk_rows.bytes() + self.filled.bytes();
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.chunks),
            details: Some(SpmvDetails::HotColumns {
                columns: self.columns.hot.len() as u64,
                nonzeros: self.columns.covered,
            }),
            workspace_bytes: lists + self.codes.bytes() + self.cut_rows.bytes() + elements,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_more_tiles_up_to_a_limit() {
        let tile = HOT_TILE as usize;
        for (nonzeros, tiles) in [
            (0, 1),
            (1, 1),
            (CHUNKS * tile, 1),
            (CHUNKS * (tile + 1), 2),
            (CHUNKS * 5 * tile, 5),
            (CHUNKS * 8 * tile, 8),
            (CHUNKS * 9 * tile, 8),
            (usize::MAX, 8),
        ] {
            assert_eq!(chunk_tiles(nonzeros), tiles, "{nonzeros}");
        }
    }
}
