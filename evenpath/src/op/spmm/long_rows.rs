use evenpath_kernels::spmm::{LONG_COUNTERS, SpmmLongRows};

use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, instance};
use crate::{Offset, Storage};

/// Nonzeros of a row that one group of lanes sums, at most, and of a piece of a longer one: long enough that a piece's
/// sums, a number a column, are little beside what is gathered for it, short enough that the last group is not waited for.
const LONGEST: std::ops::RangeInclusive<u32> = 128..=512;

/// How much longer than the mean a row is that is cut, unless [`LONGEST`] says otherwise: where all rows are long none is
/// cut, because pieces of short rows cost more than the rows.
const LONG_BY: f64 = 4.0;

/// The rows that are cut into pieces, and the pieces.
pub(super) struct LongRows {
    /// Most nonzeros of a row that is not long, and of a piece.
    pub(super) longest: u32,
    /// The long rows, in any order.
    pub(super) rows: DeviceVec<u32>,
    /// The first piece of each.
    pub(super) first_pieces: DeviceVec<u32>,
    /// The row of each piece.
    pub(super) piece_rows: DeviceVec<u32>,
    /// Its number within the row.
    pub(super) piece_ranks: DeviceVec<u32>,
}

impl LongRows {
    /// Finds them: counts, waits for the counts, and lists.
    pub(super) fn find<S: Storage, O: Offset>(matrix: &DeviceCsr<S, O>) -> Result<Self, DeviceError> {
        let device = matrix.device();
        let mean = matrix.nnz() as f64 / matrix.rows().max(1) as f64;
        let longest = ((LONG_BY * mean) as u32).clamp(*LONGEST.start(), *LONGEST.end()).next_power_of_two();
        // Pieces, of which there are less than twice as many as full ones, are counted in 32 bits.
        let longest = longest.max((matrix.nnz() as u64 >> 30) as u32 + 1);
        let with_room = |rows: usize, pieces: usize| {
            Ok::<_, DeviceError>(Self {
                longest,
                rows: device.uninitialised(rows)?,
                first_pieces: device.uninitialised(rows)?,
                piece_rows: device.uninitialised(pieces)?,
                piece_ranks: device.uninitialised(pieces)?,
            })
        };
        let mut none = with_room(0, 0)?;
        if matrix.nnz() <= longest as usize {
            return Ok(none);
        }
        let counters = none.launch(matrix)?.to_vec()?;
        let (rows, pieces) = (counters[0] as usize, counters[1] as usize);
        if rows == 0 {
            return Ok(none);
        }
        let mut found = with_room(rows, pieces)?;
        found.launch(matrix)?;
        Ok(found)
    }

    /// Lists the long rows as far as there is room for all; the counters.
    fn launch<S: Storage, O: Offset>(
        &mut self,
        matrix: &DeviceCsr<S, O>,
    ) -> Result<DeviceVec<u32>, DeviceError> {
        let device = matrix.device();
        let mut counters = device.zeros(LONG_COUNTERS)?;
        let kernel = SpmmLongRows {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            counters: counters.as_global_mut(),
            long_rows: self.rows.as_global_mut(),
            first_pieces: self.first_pieces.as_global_mut(),
            piece_rows: self.piece_rows.as_global_mut(),
            piece_ranks: self.piece_ranks.as_global_mut(),
            rows: matrix.rows() as u32,
            room: self.rows.len() as u32,
            longest: self.longest,
        };
        let info = instance::<SpmmLongRows<O>>();
        let grid = matrix.rows().div_ceil(info.block_size as usize) as u32;
        // SAFETY: the views are of the matrix's row offsets and of own buffers, which have room for all or for none of
        // what is listed, and which are freed in the stream's order.
        unsafe { device.launch(kernel, info, grid, 0) }?;
        Ok(counters)
    }

    pub(super) fn pieces(&self) -> usize {
        self.piece_rows.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        8 * (self.rows.len() + self.piece_rows.len()) as u64
    }
}
