use evenpath_kernels::spmv::{BinnedRows, ListLongRows, LongRows, NumberPieces};

use super::row_tiles::{WarpRows, fit};
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::cost::Matrix;
use crate::op::spmv::costs::BINNED;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::Features;
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::lengths::Lengths;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy, boxed, or_too_long};
use crate::operand::OpError;
use crate::operand::tagged_sums::TaggedSums;
use crate::policy::Tile;
use crate::{Offset, Scalar};

/// The method of row tiles with long rows cut into pieces.
pub(super) struct BinnedMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for BinnedMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::Binned
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        let (gathers, lengths) = (Gathers::of(matrix)?, Lengths::count(matrix)?);
        or_too_long(Binned::new(matrix, lengths, gathers)?, SpmvMethod::Binned, lengths)
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        let has_pieces = features.are_filled() && features.lengths.long.rows > 0;
        has_pieces.then(|| BINNED.microseconds(&Matrix::new(features).binned()))
    }

    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        Ok(boxed(Binned::new(matrix, features.lengths, features.gathers)?))
    }
}

/// Row tiles, with long rows cut into pieces.
struct Binned<V: Scalar, O: Offset> {
    launch: Launch<BinnedRows<V, O>>,
    group: WarpRows,
    lengths: Lengths,
    long_rows: DeviceVec<u32>,
    first_pieces: DeviceVec<u32>,
    piece_rows: DeviceVec<u32>,
    /// One part per piece, one sum per long row.
    sums: TaggedSums,
}

impl<V: Scalar, O: Offset> Binned<V, O> {
    /// Lists the long rows. `None` if a group of rows is longer than a kernel counts, or there are too many pieces.
    fn new(matrix: &DeviceCsr<V, O>, lengths: Lengths, gathers: Gathers) -> Result<Option<Self>, OpError> {
        let (rows, nonzeros) = (matrix.nrows(), matrix.nnz());
        let long = lengths.long;
        let mean = (nonzeros as u64 - long.nonzeros) as f64 / (rows as u64 - long.rows).max(1) as f64;
        let (info, group) = fit::<BinnedRows<V, O>>(mean);
        if !group.counts(nonzeros, lengths.longest) || long.pieces > u64::from(u32::MAX / 2) {
            return Ok(None);
        }
        let device = matrix.device();
        let block_warps = info.block_size as usize / 32;
        let blocks = (long.pieces as usize).div_ceil(block_warps) + group.warps(rows).div_ceil(block_warps);
        let mut binned = Self {
            launch: gathers.divide(device.instance(info).blocks(blocks)?),
            group,
            lengths,
            long_rows: device.uninitialized(long.rows as usize)?,
            first_pieces: device.uninitialized(long.rows as usize)?,
            piece_rows: device.uninitialized(long.pieces as usize)?,
            sums: TaggedSums::new::<V>(device, long.pieces as usize, long.rows as usize)?,
        };
        binned.list(matrix)?;
        Ok(Some(binned))
    }

    fn list(&mut self, matrix: &DeviceCsr<V, O>) -> Result<(), OpError> {
        let (device, pattern) = (matrix.device(), matrix.pattern().view());
        let count = self.lengths.long.rows as u32;
        let list_launch = device.kernel().threads(matrix.nrows())?;
        let number_launch = device.kernel().warps(count as usize)?;
        let mut listed = device.zeros::<u64>(1)?;
        let list = ListLongRows {
            pattern,
            long_rows: self.long_rows.as_global_mut(),
            first_pieces: self.first_pieces.as_global_mut(),
            listed: listed.as_global_mut(),
            limit: self.lengths.limit,
        };
        let number = NumberPieces {
            pattern,
            long_rows: self.long_rows.as_global(),
            first_pieces: self.first_pieces.as_global(),
            piece_rows: self.piece_rows.as_global_mut(),
            count,
        };
        // SAFETY: the views are of the matrix's row offsets and of the plan's own buffers, which have an element for
        // each row over the limit, and for each of their pieces, as they were counted in the same offsets; buffers are
        // freed in the stream's order.
        unsafe {
            list_launch.launch(list)?;
            number_launch.launch(number)?;
        }
        Ok(())
    }
}

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for Binned<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let mut work = self.sums.lock()?;
        let long = LongRows {
            rows: self.long_rows.as_global(),
            first_pieces: self.first_pieces.as_global(),
            piece_rows: self.piece_rows.as_global(),
            sums: work.view(),
            pieces: self.lengths.long.pieces as u32,
            limit: self.lengths.limit,
        };
        let lanes_log2 = self.group.lanes_log2;
        // SAFETY: the long rows are the matrix's. Their sums are this launch's until the next one in the stream.
        unsafe { product.launch(&self.launch, |product| BinnedRows { product, long, lanes_log2 }) }
    }

    fn shape(&self) -> ScheduleShape {
        let long = self.lengths.long;
        let workspace_bytes =
            self.long_rows.bytes() + self.first_pieces.bytes() + self.piece_rows.bytes() + self.sums.bytes();
        let details =
            SpmvDetails::Binned { rows_per_warp: self.group.rows, long_rows: long.rows, pieces: long.pieces };
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            details: Some(details),
            workspace_bytes,
        }
    }
}
