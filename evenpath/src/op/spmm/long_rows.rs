use evenpath_kernels::spmm::{Group, LONG_COUNTERS, SpmmLongRows};
use evenpath_simt::thread::WARP_SIZE;

use super::shape::SIDE_LANES_LOG2;
use crate::device::{Device, DeviceError, DeviceVec};
use crate::op::DeviceCsr;
use crate::{Offset, Storage};

/// The range of the most steps of a group of lanes through a row that is not cut: enough that a piece's sums, one per
/// column, are few beside what is gathered for it, and that the launches for pieces pay; few enough that the last group
/// does not delay the launch.
const MOST_STEPS: std::ops::RangeInclusive<u32> = 128..=512;

/// The least steps through a piece, of a group no wider than [`SIDE_LANES_LOG2`]. A wider group, for few rows, has pieces
/// of the same length.
const PIECE_STEPS: u32 = 64;

/// Rows this many times longer than the mean are cut, within the limits of [`MOST_STEPS`]: if all of very many rows are
/// long, none is cut, because pieces of short rows cost more than the rows.
const LONG_BY: f64 = 4.0;

/// Warps of a multiprocessor that should have work. If nonzeros are too few for rows of [`LONG_BY`] times the mean, they
/// are divided evenly among the groups.
const BUSY_WARPS: f64 = 16.0;

/// The length from which on rows are cut, and the length of their pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    longest_row: u32,
    piece: u32,
}

impl Cut {
    fn new(rows: usize, nonzeros: usize, multiprocessors: u32, group: Group) -> Self {
        let Group { columns_log2, side_log2 } = group;
        let mean_steps = nonzeros as f64 / (rows.max(1) as f64 * f64::from(1 << side_log2));
        // A warp takes a nonzero for each of its lanes over a column.
        let a_step = f64::from(multiprocessors) * BUSY_WARPS * f64::from(WARP_SIZE >> columns_log2);
        let share = (nonzeros as f64 / a_step) as u32;
        let row = ((LONG_BY * mean_steps) as u32).min(share).clamp(*MOST_STEPS.start(), *MOST_STEPS.end());
        let row = row.next_power_of_two();
        let usual_side_log2 = side_log2.min(SIDE_LANES_LOG2.saturating_sub(columns_log2));
        let least_steps = PIECE_STEPS >> (side_log2 - usual_side_log2);
        let piece = share.clamp(least_steps, row).next_power_of_two();
        // Pieces, of which there are less than twice as many as full ones, are counted in 32 bits.
        let least = (nonzeros as u64 >> 30) as u32 + 1;
        Self { longest_row: (row << side_log2).max(least), piece: (piece << side_log2).max(least) }
    }
}

/// The rows that are cut into pieces, and the pieces.
pub(super) struct LongRows {
    /// The most nonzeros of a row that is not long, and of a piece.
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
    pub(super) fn find<S: Storage, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        multiprocessors: u32,
        group: Group,
    ) -> Result<Self, DeviceError> {
        let cut = Cut::new(matrix.rows(), matrix.nnz(), multiprocessors, group);
        let mut none = Self::with_room(matrix.device(), cut.longest_row, [0, 0])?;
        let [rows, _] = none.count(matrix)?;
        if rows == 0 {
            return Ok(none);
        }
        let mut found = Self::with_room(matrix.device(), cut.piece, [0, 0])?;
        let counts = found.count(matrix)?;
        found = Self::with_room(matrix.device(), cut.piece, counts)?;
        found.launch(matrix)?;
        Ok(found)
    }

    /// Empty lists with room for `rows` rows and `pieces` pieces.
    fn with_room(device: &Device, longest: u32, [rows, pieces]: [usize; 2]) -> Result<Self, DeviceError> {
        Ok(Self {
            longest,
            rows: device.uninitialized(rows)?,
            first_pieces: device.uninitialized(rows)?,
            piece_rows: device.uninitialized(pieces)?,
            piece_ranks: device.uninitialized(pieces)?,
        })
    }

    /// How many rows are longer, and how many pieces they are; without room for them.
    fn count<S: Storage, O: Offset>(&mut self, matrix: &DeviceCsr<S, O>) -> Result<[usize; 2], DeviceError> {
        if matrix.nnz() <= self.longest as usize {
            return Ok([0, 0]);
        }
        let counters = self.launch(matrix)?.download()?;
        Ok([counters[0] as usize, counters[1] as usize])
    }

    /// Lists the long rows as far as there is room for all; the counters.
    fn launch<S: Storage, O: Offset>(
        &mut self,
        matrix: &DeviceCsr<S, O>,
    ) -> Result<DeviceVec<u32>, DeviceError> {
        let device = matrix.device();
        let launch = device.kernel().threads(matrix.rows())?;
        let mut counters = device.zeros(LONG_COUNTERS)?;
        let kernel = SpmmLongRows {
            pattern: matrix.pattern().view(),
            counters: counters.as_global_mut(),
            long_rows: self.rows.as_global_mut(),
            first_pieces: self.first_pieces.as_global_mut(),
            piece_rows: self.piece_rows.as_global_mut(),
            piece_ranks: self.piece_ranks.as_global_mut(),
            room: self.rows.len() as u32,
            longest: self.longest,
        };
        // SAFETY: the views are of the matrix's row offsets and of own buffers, which have room for all or for none of
        // what is listed, and which are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(counters)
    }

    pub(super) fn pieces(&self) -> usize {
        self.piece_rows.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows.bytes() + self.first_pieces.bytes();
        rows + self.piece_rows.bytes() + self.piece_ranks.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_by_what_there_is_to_do() {
        let cut = |rows, nonzeros, columns_log2, side_log2| {
            let Cut { longest_row, piece } = Cut::new(rows, nonzeros, 132, Group { columns_log2, side_log2 });
            (longest_row, piece)
        };
        assert_eq!(cut(1_000_000, 20_000_000, 5, 0), (128, 128), "a long row among many short ones");
        assert_eq!(cut(100_000, 30_000_000, 5, 0), (512, 512), "long rows, and enough of them");
        assert_eq!(cut(124, 90_000, 5, 0), (128, 64), "few long rows");
        assert_eq!(cut(10_000, 700_000, 0, 3), (1024, 512), "eight nonzeros a step, of 32 rows a warp");
        assert_eq!(cut(124, 90_000, 1, 4), (2048, 256), "16 nonzeros a step, because rows are few");
        assert_eq!(cut(0, 0, 5, 0), (128, 64));
        assert_eq!(cut(1, 1 << 40, 5, 0), (1025, 1025), "pieces are counted in 32 bits");
    }
}
