use evenpath_kernels::spmv::{AdaptiveRows, RowBlockKind};
use evenpath_simt::kernel::Kernel;

use super::block_size::with_block_size;
use super::row_blocks::{RowBlocks, cut_rows};
use crate::device::{DeviceError, DeviceVec, Launch, Launcher};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::cost::Matrix;
use crate::op::spmv::costs::ROW_BLOCKS;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::Features;
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::lengths::Lengths;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy};
use crate::op::spmv::thresholds::ROW_BLOCK_MEAN;
use crate::operand::OpError;
use crate::policy::{self, Tile};
use crate::{Offset, Scalar};

/// The method with row blocks that the host makes.
pub(super) struct CsrAdaptiveMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for CsrAdaptiveMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::CsrAdaptive { block_size: None }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        let block_size = match request.method {
            SpmvMethod::CsrAdaptive { block_size } => block_size,
            _ => None,
        };
        Ok(Box::new(Adaptive::analyze(matrix, Gathers::of(matrix)?, block_size)?))
    }
}

/// The method with row blocks that the device makes.
pub(super) struct RowBlocksMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for RowBlocksMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::RowBlocks
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        let (gathers, lengths) = (Gathers::of(matrix)?, Lengths::count(matrix)?);
        Ok(Box::new(Adaptive::on_device(matrix, lengths, gathers)?))
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        let are_filled = 2 * features.lengths.empty <= features.rows;
        are_filled.then(|| ROW_BLOCKS.microseconds(&Matrix::new(features).row_blocks()))
    }

    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        let lengths = features.lengths;
        let limit = launcher(matrix).info().tile_items() as u32;
        if RowBlocks::has_long_rows(lengths, limit) && lengths.mean < ROW_BLOCK_MEAN {
            return Ok(None);
        }
        Ok(Some(Box::new(Adaptive::on_device(matrix, lengths, features.gathers)?)))
    }
}

/// Row blocks, made on the host or on the device.
struct Adaptive<V: Scalar, O: Offset> {
    launch: Launch<AdaptiveRows<V, O>>,
    /// First row of each row block, and the number of rows.
    block_rows: DeviceVec<u32>,
    /// Counted if the host makes them.
    kinds: Option<Kinds>,
}

/// Number of row blocks of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds {
    stream: u64,
    vector: u64,
    long_vector: u64,
}

impl<V: Scalar, O: Offset> Adaptive<V, O> {
    /// Copies the row offsets to the host, and cuts the rows there, for blocks of `block_size` threads or the policy's.
    fn analyze(matrix: &DeviceCsr<V, O>, gathers: Gathers, block_size: Option<u32>) -> Result<Self, OpError> {
        let launcher = match block_size {
            Some(threads) => {
                with_block_size(matrix.device(), SpmvMethod::CsrAdaptive { block_size }, threads)?
            }
            None => launcher(matrix),
        };
        let info = launcher.info();
        let block_rows = cut_rows(&matrix.pattern().row_offsets.download()?, info.tile_items());
        let kinds = Some(Kinds::count(&block_rows, info.block_size));
        let launch = gathers.divide(launcher.blocks(block_rows.len() - 1)?);
        let block_rows = matrix.device().upload(&block_rows)?;
        Ok(Self { launch, block_rows, kinds })
    }

    /// Cuts the rows on the device, as [`RowBlocks::cut`].
    fn on_device(matrix: &DeviceCsr<V, O>, lengths: Lengths, gathers: Gathers) -> Result<Self, OpError> {
        let launcher = launcher(matrix);
        let limit = launcher.info().tile_items() as u32;
        let RowBlocks { block_rows } = RowBlocks::cut(matrix, lengths, limit)?;
        let launch = gathers.divide(launcher.blocks(block_rows.len() - 1)?);
        Ok(Self { launch, block_rows, kinds: None })
    }
}

/// The launcher of the instance for the matrix's types and its device.
fn launcher<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Launcher<AdaptiveRows<V, O>> {
    let tile = policy::spmv_adaptive(V::TYPE, matrix.device().properties().compute_capability);
    match tile.and_then(|tile| AdaptiveRows::<V, O>::instance(tile.block_size, tile.items_per_thread)) {
        Some(kernel) => matrix.device().instance(kernel),
        None => unreachable!("the kernels' tables have an instance for every tile of the policy"),
    }
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

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for Adaptive<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let block_rows = self.block_rows.as_global();
        // SAFETY: the row blocks are the matrix's, and their first rows are one more than the grid has blocks.
        unsafe { product.launch(&self.launch, |product| AdaptiveRows { product, block_rows }) }
    }

    fn shape(&self) -> ScheduleShape {
        let details = |Kinds { stream, vector, long_vector }| SpmvDetails::RowBlocks {
            by_stream: stream,
            by_vector: vector,
            by_long_vector: long_vector,
        };
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            details: self.kinds.map(details),
            workspace_bytes: self.block_rows.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_rows() {
        let kinds = Kinds::count(&[0, 1, 3, 7, 12], 128);
        assert_eq!(kinds, Kinds { stream: 1, vector: 2, long_vector: 1 });
    }
}
