//! The products of each row, and the columns that they span.

use evenpath_kernels::spgemm::{RowWork, SpgemmLongRowWork, SpgemmRowWork};

use evenpath_simt::GlobalMut;

use super::bins::ALWAYS_HASH;
use super::shapes::lanes_log2;
use crate::Offset;
use crate::device::{Device, DeviceVec, read_only};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;

/// The smallest limit for the entries of a row of A whose products one warp counts.
const LONGEST_ROW: u32 = 1024;

/// Blocks per multiprocessor that count the products of longer rows.
const LONG_ROW_BLOCKS: u32 = 4;

/// The products of each row of C, and the columns that they span.
pub(super) struct RowProducts {
    pub(super) sizes: DeviceVec<u64>,
    pub(super) firsts: DeviceVec<u32>,
    pub(super) lasts: DeviceVec<u32>,
}

impl RowProducts {
    fn with_room(device: &Device, rows: usize) -> Result<Self, OpError> {
        // One more size, so that their scan ends with the sum: kernels set it to zero, which are not launched without rows.
        let sizes = if rows == 0 { device.zeros(1)? } else { device.uninitialized(rows + 1)? };
        Ok(Self { sizes, firsts: device.uninitialized(rows)?, lasts: device.uninitialized(rows)? })
    }

    /// A view for kernels that write it.
    fn view_mut(&mut self) -> RowWork {
        RowWork {
            products: self.sizes.as_global_mut(),
            firsts: self.firsts.as_global_mut(),
            lasts: self.lasts.as_global_mut(),
        }
    }

    /// Products of each row; all warps take pieces of rows of A with more than `longest` entries, which are listed in
    /// [`listed_words`] words that are zero.
    pub(super) fn of_product<O: Offset>(
        a: &DevicePattern<O>,
        b: &DevicePattern<O>,
        longest: u32,
        long_rows: GlobalMut<u32>,
    ) -> Result<Self, OpError> {
        let device = a.row_offsets.device();
        let mut work = Self::with_room(device, a.rows)?;
        // Each lane has four loads in flight.
        let lanes_log2 = lanes_log2(a.column_indices.len() as f64 / a.rows.max(1) as f64 / 4.0, 0, 5);
        let launch = device.kernel().threads(a.rows << lanes_log2)?;
        let kernel = SpgemmRowWork {
            a: a.view(),
            b: b.view(),
            work: work.view_mut(),
            long_rows,
            longest,
            short: ALWAYS_HASH,
            lanes_log2,
        };
        // SAFETY: the views are of matrices that fit together, and of arrays with an element per row; there is room for all
        // rows that are longer; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        if a.column_indices.len() <= longest as usize {
            return Ok(work);
        }
        let blocks = device.properties().multiprocessors.max(1) * LONG_ROW_BLOCKS;
        let launch = device.kernel().blocks(blocks as usize)?;
        let kernel = SpgemmLongRowWork {
            a: a.view(),
            b: b.view(),
            work: work.view_mut(),
            long_rows: read_only(long_rows),
            blocks,
        };
        // SAFETY: as above; the listed rows are rows of A.
        unsafe { launch.launch(kernel) }?;
        Ok(work)
    }
}

/// The number of entries beyond which all warps take pieces of a row of A: many for one warp, and few rows have so many.
pub(super) fn longest(entries: usize, device: &Device) -> u32 {
    let share = entries / (64 * device.properties().multiprocessors.max(1) as usize);
    u32::try_from(4 * share).unwrap_or(u32::MAX).max(LONGEST_ROW)
}

/// Words of the list of A's rows with more than `longest` entries: their number, and room for the most that there can be.
pub(super) fn listed_words<O: Offset>(a: &DevicePattern<O>, longest: u32) -> usize {
    1 + a.column_indices.len() / longest as usize
}
