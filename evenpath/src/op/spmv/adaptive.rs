use evenpath_kernels::spmv::{AdaptiveRows, CutRowBlocks, ROWS_PER_NONZERO, RowBlockKind};
use evenpath_simt::kernel::Kernel;

use super::block_size::with_block_size;
use super::gathers::Gathers;
use super::lengths::Lengths;
use super::method::SpmvMethod;
use super::schedule::{Schedule, Shape};
use super::thresholds::ROW_BLOCK_MEAN;
use crate::device::{DeviceError, DeviceVec, Launch, Launcher};
use crate::format::DeviceCsr;
use crate::op::product::Product;
use crate::operand::OpError;
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// Rows up to which a plan that chooses by itself has the host cut them: for a quarter of a million it takes a millisecond.
const MOST_ROWS_OF_HOST: usize = 1 << 18;

/// Row blocks, made on the host or on the device.
pub(super) struct Adaptive<V: Value, O: Offset> {
    launch: Launch<AdaptiveRows<V, O>>,
    /// First row of each row block, and the number of rows.
    block_rows: DeviceVec<u32>,
    /// Counted where the host makes them.
    kinds: Option<Kinds>,
}

/// Number of row blocks of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds {
    stream: u64,
    vector: u64,
    long_vector: u64,
}

impl<V: Value, O: Offset> Adaptive<V, O> {
    /// Copies the row offsets to the host, and cuts the rows there, for blocks of `block_size` threads or the policy's.
    pub(super) fn analyze(
        matrix: &DeviceCsr<V, O>,
        gathers: Gathers,
        block_size: Option<u32>,
    ) -> Result<Self, OpError> {
        let launcher = match block_size {
            Some(threads) => with_block_size(matrix.device(), SpmvMethod::CsrAdaptive, threads)?,
            None => launcher(matrix),
        };
        let info = launcher.info();
        let block_rows = cut_rows(&matrix.pattern().row_offsets.download()?, info.tile_items());
        let kinds = Some(Kinds::count(&block_rows, info.block_size));
        let launch = gathers.divide(launcher.blocks(block_rows.len() - 1)?);
        let block_rows = matrix.device().upload(&block_rows)?;
        Ok(Self { launch, block_rows, kinds })
    }

    /// Cuts the rows on the device; on the host, if there are not many, where a row is longer than half a row block. `None` if there
    /// are many.
    pub(super) fn of_even_rows(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        gathers: Gathers,
    ) -> Result<Option<Self>, OpError> {
        match Self::on_device(matrix, lengths, gathers)? {
            None if matrix.rows() <= MOST_ROWS_OF_HOST && lengths.mean >= ROW_BLOCK_MEAN => {
                Self::analyze(matrix, gathers, None).map(Some)
            }
            cut => Ok(cut),
        }
    }

    /// Cuts the rows on the device, as [`RowBlocks::on_device`].
    pub(super) fn on_device(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        gathers: Gathers,
    ) -> Result<Option<Self>, OpError> {
        let launcher = launcher(matrix);
        let limit = launcher.info().tile_items() as u32;
        let Some(RowBlocks { block_rows }) = RowBlocks::on_device(matrix, lengths, limit)? else {
            return Ok(None);
        };
        let launch = gathers.divide(launcher.blocks(block_rows.len() - 1)?);
        Ok(Some(Self { launch, block_rows, kinds: None }))
    }
}

/// Consecutive rows that have few nonzeros together, or one row that has many.
pub(super) struct RowBlocks {
    /// First row of each row block, and the number of rows.
    pub(super) block_rows: DeviceVec<u32>,
}

impl RowBlocks {
    /// Row blocks of at most `limit` nonzeros, or one row: made by the device, or by the host where a row is longer than
    /// half of the limit.
    pub(super) fn cut<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Self, OpError> {
        if let Some(cut) = Self::on_device(matrix, lengths, limit)? {
            return Ok(cut);
        }
        let block_rows = cut_rows(&matrix.pattern().row_offsets.download()?, limit as usize);
        Ok(Self { block_rows: matrix.device().upload(&block_rows)? })
    }

    /// Cuts the rows on the device, into blocks of at most `limit` nonzeros that are at least half full. `None` if a row
    /// is longer than half of the limit.
    fn on_device<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        if lengths.longest > u64::from(limit / 2) {
            return Ok(None);
        }
        let share = limit + 1 - (lengths.longest as u32).max(1);
        let work = ROWS_PER_NONZERO * matrix.nnz() as u64 + matrix.rows() as u64;
        let blocks = work.div_ceil(ROWS_PER_NONZERO * u64::from(share)) as usize;
        let launch = device.kernel().threads(blocks + 1)?;
        let mut block_rows = device.uninitialized(blocks + 1)?;
        let cut = CutRowBlocks {
            pattern: matrix.pattern().view(),
            block_rows: block_rows.as_global_mut(),
            blocks: blocks as u32,
            share,
        };
        // SAFETY: there is one more row offset than rows, and one more element of `block_rows` than blocks, of which a
        // grid has fewer than 2³²; buffers are freed in the stream's order.
        unsafe { launch.launch(cut) }?;
        Ok(Some(Self { block_rows }))
    }
}

/// The launcher of the instance for the matrix's types and its device.
fn launcher<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Launcher<AdaptiveRows<V, O>> {
    let tile = policy::spmv_adaptive(V::TYPE, matrix.device().properties().compute_capability);
    match tile.and_then(|tile| AdaptiveRows::<V, O>::instance(tile.block_size, tile.items_per_thread)) {
        Some(kernel) => matrix.device().instance(kernel),
        None => unreachable!("the kernels' tables have an instance for every tile of the policy"),
    }
}

/// The first row of each row block, and the number of rows at the end. A row block is as many rows as have `limit`
/// nonzeros together, and no more than `limit`; or one row that has more.
fn cut_rows<O: Offset>(row_offsets: &[O], limit: usize) -> Vec<u32> {
    let rows = row_offsets.len() - 1;
    let mut block_rows = vec![0];
    let (mut first, mut begin) = (0, 0);
    for row in 0..rows {
        let end = row_offsets[row + 1].to_usize();
        if row > first && (end - begin > limit || row - first == limit) {
            block_rows.push(row as u32);
            (first, begin) = (row, row_offsets[row].to_usize());
        }
    }
    if rows > 0 {
        block_rows.push(rows as u32);
    }
    block_rows
}

impl Kinds {
    fn count(block_rows: &[u32], threads: u32) -> Self {
        let mut kinds = Self::default();
        for pair in block_rows.windows(2) {
            match RowBlockKind::of(pair[1] - pair[0], threads) {
                RowBlockKind::Stream => kinds.stream += 1,
                RowBlockKind::Vector => kinds.vector += 1,
                RowBlockKind::LongVector => kinds.long_vector += 1,
            }
        }
        kinds
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Adaptive<V, O> {
    fn run(&self, mut product: Product<'_, V, O>) -> Result<(), DeviceError> {
        let block_rows = self.block_rows.as_global();
        // SAFETY: the row blocks are the matrix's, and their first rows are one more than the grid has blocks.
        unsafe { product.launch(&self.launch, |product| AdaptiveRows { product, block_rows }) }
    }

    fn shape(&self) -> Shape {
        let figures = match self.kinds {
            Some(Kinds { stream, vector, long_vector }) => {
                vec![("by stream", stream), ("by vector", vector), ("by long vector", long_vector)]
            }
            None => Vec::new(),
        };
        Shape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            figures,
            workspace_bytes: self.block_rows.bytes(),
            ..Shape::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(lengths: &[u32], limit: usize) -> Vec<u32> {
        let mut row_offsets = vec![0];
        for length in lengths {
            row_offsets.push(row_offsets[row_offsets.len() - 1] + length);
        }
        cut_rows(&row_offsets, limit)
    }

    #[test]
    fn rows_go_together_while_they_fit() {
        assert_eq!(cut(&[], 4), [0]);
        assert_eq!(cut(&[0], 4), [0, 1]);
        assert_eq!(cut(&[2, 2, 1], 4), [0, 2, 3]);
        assert_eq!(cut(&[2, 3, 1, 1], 4), [0, 1, 3, 4]);
        assert_eq!(cut(&[4, 0, 4], 4), [0, 2, 3]);
    }

    #[test]
    fn long_rows_are_alone() {
        assert_eq!(cut(&[5], 4), [0, 1]);
        assert_eq!(cut(&[1, 5, 1, 1], 4), [0, 1, 2, 4]);
        assert_eq!(cut(&[5, 9, 0, 5], 4), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn empty_rows_are_limited_too() {
        assert_eq!(cut(&[0; 9], 4), [0, 4, 8, 9]);
    }

    #[test]
    fn kinds_follow_from_rows() {
        let kinds = Kinds::count(&[0, 1, 3, 7, 12], 128);
        assert_eq!(kinds, Kinds { stream: 1, vector: 2, long_vector: 1 });
    }
}
