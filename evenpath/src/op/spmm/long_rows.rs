use evenpath_kernels::block::tagged_sums::TaggedWords;
use evenpath_kernels::spmm::{Group, LONG_COUNTERS, Pieces, SpmmLongRows};
use evenpath_simt::thread::WARP_SIZE;

use crate::device::{Device, DeviceError, DeviceVec};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operand::tagged_sums::TaggedSums;
use crate::sequence::sort::{self, SortOptions, index_bits};
use crate::{Offset, Scalar, Storage};

/// Limits on the maximum number of steps of a group of lanes in a row that is not cut. The maximum is large
/// enough that a longer row is worth a warp or a block of its own, and that a piece's sums, one per column,
/// are few beside the elements gathered for it; it is small enough that a row does not delay its block. It is
/// at the lower end if all groups together have few steps, so that a row delays the whole product.
const MOST_STEPS: std::ops::RangeInclusive<u32> = 32..=512;
const MOST_STEPS_OF_MANY: u32 = 128;

/// Upper end of [`MOST_STEPS`] if whole rows keep the device busy. Only rows much longer than the others
/// delay the product then.
const MOST_STEPS_IF_BUSY: u32 = 1 << 16;

/// Rows longer than the mean by this factor are cut, within the limits of [`MOST_STEPS`]: if all of very many
/// rows are long, none is cut, because pieces of short rows cost more than the rows.
const LONG_BY: f64 = 2.0;

/// A row is never cut if it takes at most one over this of a group's share of all steps, whatever the mean,
/// within the lower limits of [`MOST_STEPS`].
const SHARE_OF_LONG: u32 = 4;

/// Number of warps of a multiprocessor that should have work. If there are too few nonzeros for rows of
/// [`LONG_BY`] times the mean, they are divided evenly among the groups.
const BUSY_WARPS: f64 = 16.0;

/// log2 of the number of lanes that sum a piece, and of its nonzeros: for a warp, or a block. A lane stages 4
/// nonzeros.
const WARP_PIECE: [u32; 2] = [5, 7];
const BLOCK_PIECE: [u32; 2] = [7, 9];

/// Number of blocks that a multiprocessor runs at once. If there are no more pieces, a block sums each;
/// pieces are then shorter, down to the nonzeros of a warp's.
const BUSY_BLOCKS: u64 = 8;

/// Maximum number of nonzeros in a row that is not cut: for groups `group`, of a matrix with the given rows
/// and nonzeros. `is_busy` if the rows alone keep the device busy.
fn longest_row((rows, nonzeros): (usize, usize), multiprocessors: u32, group: Group, is_busy: bool) -> u32 {
    let mean_steps = nonzeros as f64 / (rows.max(1) as f64 * f64::from(1 << group.side_log2));
    // A warp processes a nonzero for each of its lanes over a column.
    let a_step = f64::from(multiprocessors) * BUSY_WARPS * f64::from(WARP_SIZE >> group.columns_log2);
    let share = (nonzeros as f64 / a_step) as u32;
    let least = (share / SHARE_OF_LONG).clamp(*MOST_STEPS.start(), MOST_STEPS_OF_MANY);
    let most = if is_busy { MOST_STEPS_IF_BUSY } else { *MOST_STEPS.end() };
    let steps = ((LONG_BY * mean_steps) as u32).min(share).clamp(least, most);
    steps.next_power_of_two() << group.side_log2
}

/// log2 of the nonzeros in a block's piece, for a matrix with this number of nonzeros.
fn block_piece_log2(nonzeros: usize, multiprocessors: u32) -> u32 {
    let share = nonzeros as u64 / (u64::from(multiprocessors) * BUSY_BLOCKS).max(1);
    share.max(1).ilog2().clamp(WARP_PIECE[1], BLOCK_PIECE[1])
}

/// The rows that are cut into pieces, and the pieces.
pub(super) struct LongRows {
    /// Maximum number of nonzeros in a row that is not long.
    pub(super) longest: u32,
    /// Number of long rows.
    pub(super) count: u64,
    /// log2 of the lanes of a piece, and of its nonzeros.
    lanes_log2: u32,
    piece_log2: u32,
    /// The row of each piece.
    piece_rows: DeviceVec<u32>,
    /// The index of each piece within its row.
    piece_places: DeviceVec<u32>,
    /// The pieces in the order in which blocks take them: by their first columns, so that those that run at
    /// the same time gather from one part of B, which L1 then holds.
    order: DeviceVec<u32>,
}

impl LongRows {
    /// Finds the long rows; `is_busy` if rows alone keep the device busy. Counts, waits for the counts, and
    /// lists. Blocks sum pieces unless that leaves most of them with little to do.
    pub(super) fn find<S: Storage, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        multiprocessors: u32,
        group: Group,
        is_busy: bool,
    ) -> Result<Self, OpError> {
        let (rows, nonzeros) = (matrix.nrows(), matrix.nnz());
        let mut found = Self {
            longest: longest_row((rows, nonzeros), multiprocessors, group, is_busy),
            count: 0,
            lanes_log2: BLOCK_PIECE[0],
            piece_log2: block_piece_log2(nonzeros, multiprocessors),
            piece_rows: matrix.device().uninitialized(0)?,
            piece_places: matrix.device().uninitialized(0)?,
            order: matrix.device().uninitialized(0)?,
        };
        let [count, mut pieces] = found.count(matrix)?;
        if count == 0 {
            return Ok(found);
        }
        if u64::from(pieces) > u64::from(multiprocessors) * BUSY_BLOCKS {
            [found.lanes_log2, found.piece_log2] = WARP_PIECE;
            let [_, by_warps] = found.count(matrix)?;
            if by_warps / 2 > pieces {
                [found.lanes_log2, found.piece_log2] = BLOCK_PIECE;
                [_, pieces] = found.count(matrix)?;
            } else {
                pieces = by_warps;
            }
        }
        found.count = u64::from(count);
        found.piece_rows = matrix.device().uninitialized(pieces as usize)?;
        found.piece_places = matrix.device().uninitialized(pieces as usize)?;
        found.order = matrix.device().uninitialized(pieces as usize)?;
        let mut first_columns = matrix.device().uninitialized(pieces as usize)?;
        found.launch(matrix, &mut first_columns)?;
        if !found.run_at_once(multiprocessors) {
            let bits = SortOptions::default().with_bits(0..index_bits(matrix.ncols()));
            sort::pairs_in_place(&mut first_columns, &mut found.order, bits)?;
        }
        Ok(found)
    }

    /// Returns whether all pieces are summed at the same time, so that their order does not matter.
    fn run_at_once(&self, multiprocessors: u32) -> bool {
        let of_a_block = 1 << (BLOCK_PIECE[0] - self.lanes_log2);
        self.pieces() as u64 <= u64::from(multiprocessors) * BUSY_BLOCKS * of_a_block
    }

    /// Counts long rows and their pieces, without memory for them.
    fn count<S: Storage, O: Offset>(&mut self, matrix: &DeviceCsr<S, O>) -> Result<[u32; 2], DeviceError> {
        if matrix.nnz() <= self.longest as usize {
            return Ok([0, 0]);
        }
        let counters = self.launch(matrix, &mut matrix.device().uninitialized(0)?)?.download()?;
        Ok([counters[0], counters[1]])
    }

    /// Lists the pieces, in order of their rows, and their first columns, as far as there is room for all.
    /// Returns the counters.
    fn launch<S: Storage, O: Offset>(
        &mut self,
        matrix: &DeviceCsr<S, O>,
        first_columns: &mut DeviceVec<u32>,
    ) -> Result<DeviceVec<u32>, DeviceError> {
        let device = matrix.device();
        let launch = device.kernel().threads(matrix.nrows())?;
        let mut counters = device.zeros(LONG_COUNTERS)?;
        let kernel = SpmmLongRows {
            pattern: matrix.pattern().view(),
            counters: counters.as_global_mut(),
            piece_rows: self.piece_rows.as_global_mut(),
            piece_places: self.piece_places.as_global_mut(),
            piece_columns: first_columns.as_global_mut(),
            piece_numbers: self.order.as_global_mut(),
            room: self.piece_rows.len() as u32,
            longest: self.longest,
            piece_log2: self.piece_log2,
        };
        // SAFETY: the views are of the matrix's row offsets and of own buffers, which have room for all or for none of
        // what is listed, and which are freed in the stream's order. Pieces are counted in 32 bits: 2³² of them would be of a
        // matrix of more than 2³⁸ nonzeros, which no device has memory for.
        unsafe { launch.launch(kernel) }?;
        Ok(counters)
    }

    /// Allocates memory for the sums of the pieces, in `columns` columns and `tiles` tiles of columns.
    pub(super) fn sums<V: Scalar>(
        &self,
        device: &Device,
        columns: usize,
        tiles: usize,
    ) -> Result<TaggedSums, DeviceError> {
        let of_all = |of_a_piece: usize| {
            let too_large = DeviceError::TooLarge { elements: usize::MAX, element_bytes: size_of::<V>() };
            // A part has several words.
            let elements = self.pieces().checked_mul(of_a_piece);
            elements.filter(|elements| *elements <= usize::MAX / 64).ok_or(too_large)
        };
        TaggedSums::new::<V>(device, of_all(columns)?, of_all(tiles)?)
    }

    /// The pieces as a kernel argument, with `1 << columns_log2` lanes over columns.
    pub(super) fn view(&self, sums: TaggedWords, columns_log2: u32) -> Pieces {
        Pieces {
            rows: self.piece_rows.as_global(),
            places: self.piece_places.as_global(),
            order: self.order.as_global(),
            sums,
            count: self.pieces() as u32,
            len_log2: self.piece_log2,
            group: Group { columns_log2, side_log2: self.lanes_log2 - columns_log2 },
        }
    }

    /// Number of blocks of `block_size` threads that sum the pieces.
    pub(super) fn blocks(&self, block_size: u32) -> usize {
        self.pieces().div_ceil((block_size >> self.lanes_log2) as usize)
    }

    pub(super) fn pieces(&self) -> usize {
        self.piece_rows.len()
    }

    /// Maximum number of nonzeros in a piece.
    pub(super) fn longest_piece(&self) -> u32 {
        1 << self.piece_log2
    }

    pub(super) fn bytes(&self) -> u64 {
        self.piece_rows.bytes() + self.piece_places.bytes() + self.order.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_according_to_the_work() {
        let longest = |rows, nonzeros, columns_log2, side_log2| {
            longest_row((rows, nonzeros), 132, Group { columns_log2, side_log2 }, false)
        };
        assert_eq!(longest(1_000_000, 20_000_000, 5, 0), 128, "a long row among shorter ones");
        assert_eq!(longest(1_000_000, 3_000_000, 5, 0), 128, "a long row among many short ones");
        assert_eq!(longest(20_000, 60_000, 5, 0), 32, "a long row among few short ones");
        assert_eq!(longest(100_000, 30_000_000, 5, 0), 512, "long rows, and enough of them");
        assert_eq!(longest(124, 90_000, 5, 0), 64, "few long rows");
        assert_eq!(longest(25_000, 1_500_000, 4, 0), 128, "twice the mean");
        assert_eq!(longest(25_000, 750_000, 4, 0), 64, "twice the mean");
        assert_eq!(longest(10_000, 700_000, 0, 3), 256, "eight nonzeros a step, of 32 rows a warp");
        assert_eq!(longest(0, 0, 5, 0), 32);
        assert_eq!(longest(1, 1 << 40, 5, 0), 512);
        assert_eq!(longest(1, usize::MAX, 0, 5), 512 << 5);
    }

    #[test]
    fn only_exceptional_rows_are_cut_if_rows_keep_the_device_busy() {
        let longest = |rows, nonzeros| {
            longest_row((rows, nonzeros), 132, Group { columns_log2: 5, side_log2: 0 }, true)
        };
        assert_eq!(longest(2000, 4_000_000), 2048, "none of 2000");
        assert_eq!(longest(100_000, 30_000_000), 1024, "more than twice the mean");
        assert_eq!(longest(1_000_000, 20_000_000), 128);
        assert_eq!(longest(1 << 17, 1 << 45), 1 << 16);
    }

    #[test]
    fn pieces_are_shorter_if_nonzeros_are_few() {
        assert_eq!(
            [0, 90_000, 500_000, 1 << 40].map(|nonzeros| block_piece_log2(nonzeros, 132)),
            [7, 7, 8, 9]
        );
        assert_eq!(block_piece_log2(1, 0), 7);
    }
}
