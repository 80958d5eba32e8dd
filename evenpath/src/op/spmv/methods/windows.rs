use evenpath_kernels::spmv::{self as kernels, AlignedProduct, FindWindows, RowWindows, WINDOW_TOTALS};

use super::row_tiles::{WarpRows, fit};
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::Features;
use crate::op::spmv::found_windows::WindowStatistics;
use crate::op::spmv::lengths::Lengths;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::reason::Reason;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy, boxed, or_too_long};
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::policy::Tile;
use crate::{Offset, Value};

/// Rows of a block.
const BLOCK_ROWS: u32 = 512;

/// The most bytes of a window: three blocks with their products fit in a multiprocessor's shared memory.
const WINDOW_BYTES: usize = 48 << 10;

/// The method of row tiles whose part of x is copied to shared memory first.
pub(super) struct WindowsMethod;

impl<V: Value, O: Offset> Strategy<V, O> for WindowsMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::Windows
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        let lengths = Lengths::count(matrix)?;
        or_too_long(WindowsSchedule::find(matrix, lengths)?, SpmvMethod::Windows, lengths)
    }

    fn examine(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &mut Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        if !features.may_have_windows() {
            return Ok(None);
        }
        let windows = WindowsSchedule::find(matrix, features.lengths)?;
        features.windows = windows.as_ref().map(|windows| windows.found);
        Ok(boxed(windows))
    }

    fn rule(&self, features: &Features, _: Option<SpmvMethod>) -> Option<Reason> {
        let found = features.windows.filter(|_| features.are_for_windows())?;
        let uses = found.uses();
        let text = format!("the rows of a block use the same elements of x {uses} times");
        Some(Reason::Property(text.into()))
    }
}

/// Row tiles whose part of x is copied to shared memory first.
struct WindowsSchedule<V: Value, O: Offset> {
    launch: Launch<RowWindows<V, O>>,
    group: WarpRows,
    firsts: DeviceVec<u32>,
    lens: DeviceVec<u32>,
    found: WindowStatistics,
}

impl<V: Value, O: Offset> WindowsSchedule<V, O> {
    /// Finds the windows, and waits for them. `None` if a group of rows is longer than a kernel counts.
    fn find(matrix: &DeviceCsr<V, O>, lengths: Lengths) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        let (info, group) = fit::<RowWindows<V, O>>(lengths.mean);
        if !group.counts(matrix.nnz(), lengths.longest) {
            return Ok(None);
        }
        let blocks = matrix.nrows().div_ceil(BLOCK_ROWS as usize);
        let find = device.kernel().blocks(blocks)?;
        let mut firsts = device.uninitialized(blocks)?;
        let mut lens = device.uninitialized(blocks)?;
        let mut totals = device.zeros::<u64>(WINDOW_TOTALS)?;
        let kernel = FindWindows {
            pattern: matrix.pattern().view(),
            firsts: firsts.as_global_mut(),
            lens: lens.as_global_mut(),
            totals: totals.as_global_mut(),
            cols: matrix.ncols() as u32,
            block_rows: BLOCK_ROWS,
            limit: (WINDOW_BYTES / V::SIZE) as u32,
        };
        // SAFETY: the views are of the matrix's pattern, of an element for each block, and of as many totals as the
        // kernel has; buffers are freed in the stream's order.
        unsafe { find.launch(kernel) }?;
        let totals = totals.download()?;
        let found =
            WindowStatistics { covered: totals[0], elements: totals[1], longest: totals[2], near: totals[3] };
        let window_bytes = found.longest as u32 * V::SIZE as u32;
        let launch = device.instance(info).shared_bytes(window_bytes).blocks(blocks)?;
        Ok(Some(Self { launch, group, firsts, lens, found }))
    }
}

impl<V: Value, O: Offset> SpmvSchedule<V, O> for WindowsSchedule<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let x = Aligned::new(product.x)?;
        let kernel = |kernels::SpmvArguments { matrix, update, .. }| RowWindows {
            product: AlignedProduct { matrix, x: x.view(), update },
            firsts: self.firsts.as_global(),
            lens: self.lens.as_global(),
            longest: self.found.longest as u32,
            block_rows: BLOCK_ROWS,
            lanes_log2: self.group.lanes_log2,
        };
        // SAFETY: the windows are those of the matrix's pattern, none longer than the launch's shared memory.
        unsafe { product.launch(&self.launch, kernel) }
    }

    fn shape(&self) -> ScheduleShape {
        let workspace_bytes = self.firsts.bytes() + self.lens.bytes();
        let details =
            SpmvDetails::Windows { rows_per_warp: self.group.rows, longest_window: self.found.longest };
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            details: Some(details),
            workspace_bytes,
        }
    }
}
