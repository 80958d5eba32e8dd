//! The products of each row, and the columns that they span.

use evenpath_kernels::spgemm::{SpgemmLongRowWork, SpgemmMaskWork, SpgemmRowWork};

use super::bins::ALWAYS_HASH;
use super::shapes::{blocks, lanes_log2};
use crate::Offset;
use crate::device::{Device, DeviceVec};
use crate::op::device_csr::Pattern;
use crate::op::{OpError, instance};

/// Entries of a row of A whose products one warp counts, if none has more.
const LONGEST_ROW: u32 = 1024;

/// Blocks per multiprocessor that count the products of longer rows.
const LONG_ROW_BLOCKS: u32 = 4;

/// The products of each row of C, and the columns that they span.
pub(super) struct Work {
    pub(super) sizes: DeviceVec<u64>,
    pub(super) firsts: DeviceVec<u32>,
    pub(super) lasts: DeviceVec<u32>,
}

impl Work {
    fn with_room(device: &Device, rows: usize) -> Result<Self, OpError> {
        // One more size, zero, so that their scan ends with the sum.
        let mut sizes = device.uninitialized(rows + 1)?;
        sizes.set_zero()?;
        Ok(Self { sizes, firsts: device.uninitialized(rows)?, lasts: device.uninitialized(rows)? })
    }

    /// Products of each row; all warps take pieces of rows of A with more than `longest` entries.
    pub(super) fn of_product<O: Offset>(
        a: &Pattern<O>,
        b: &Pattern<O>,
        longest: u32,
    ) -> Result<Self, OpError> {
        let device = a.row_offsets.device();
        let mut work = Self::with_room(device, a.rows)?;
        let info = instance::<SpgemmRowWork<O>>();
        let mut long_rows = device.zeros(listed_words(a, longest))?;
        // Each lane has four loads in flight.
        let lanes_log2 = lanes_log2(a.column_indices.len() as f64 / a.rows.max(1) as f64 / 4.0, 0, 5);
        let kernel = SpgemmRowWork {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            products: work.sizes.as_global_mut(),
            firsts: work.firsts.as_global_mut(),
            lasts: work.lasts.as_global_mut(),
            long_rows: long_rows.as_global_mut(),
            rows: a.rows as u32,
            longest,
            short: ALWAYS_HASH,
            lanes_log2,
        };
        let blocks = blocks(a, a.rows, info.block_size >> lanes_log2)?;
        // SAFETY: the views are of matrices that fit together, and of arrays with an element per row; there is room for all
        // rows that are longer; buffers are freed in the stream's order.
        unsafe { device.launch(kernel, info, blocks, 0) }?;
        if a.column_indices.len() <= longest as usize {
            return Ok(work);
        }
        let blocks = device.properties().multiprocessors.max(1) * LONG_ROW_BLOCKS;
        let kernel = SpgemmLongRowWork {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            products: work.sizes.as_global_mut(),
            firsts: work.firsts.as_global_mut(),
            lasts: work.lasts.as_global_mut(),
            long_rows: long_rows.as_global(),
            blocks,
        };
        // SAFETY: as above; the rows that are listed are rows of A.
        unsafe { device.launch(kernel, instance::<SpgemmLongRowWork<O>>(), blocks, 0) }?;
        Ok(work)
    }

    /// Entries of each row of a pattern.
    pub(super) fn of_pattern<O: Offset>(pattern: &Pattern<O>) -> Result<Self, OpError> {
        let device = pattern.row_offsets.device();
        let mut work = Self::with_room(device, pattern.rows)?;
        let info = instance::<SpgemmMaskWork<O>>();
        let kernel = SpgemmMaskWork {
            row_offsets: pattern.row_offsets.as_global(),
            columns: pattern.column_indices.as_global(),
            lengths: work.sizes.as_global_mut(),
            firsts: work.firsts.as_global_mut(),
            lasts: work.lasts.as_global_mut(),
            rows: pattern.rows as u32,
        };
        let blocks = blocks(pattern, pattern.rows, info.block_size)?;
        // SAFETY: as above.
        unsafe { device.launch(kernel, info, blocks, 0) }?;
        Ok(work)
    }
}

/// Entries of a row of A from which on all warps take pieces of it: many for one warp, and few rows have so many.
pub(super) fn longest(entries: usize, device: &Device) -> u32 {
    let share = entries / (64 * device.properties().multiprocessors.max(1) as usize);
    u32::try_from(4 * share).unwrap_or(u32::MAX).max(LONGEST_ROW)
}

/// Words of the list of A's rows with more than `longest` entries: their number, and room for the most that there can be.
pub(super) fn listed_words<O: Offset>(a: &Pattern<O>, longest: u32) -> usize {
    1 + a.column_indices.len() / longest as usize
}
