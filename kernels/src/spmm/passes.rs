//! Short rows: each group of lanes sums several, one after the other.

use evenpath_simt::{device, thread, Arena, Shared, Stored, WidenTo};

use super::group::DenseView;
use super::nonzeros::{InShared, Nonzeros};
use super::rows::{LaneColumns, SpmmRows};
use super::stage::{stage, staged};
use super::width::Width;
use crate::Offset;

impl<S: WidenTo<T::Compute>, T: Stored, O: Offset> SpmmRows<S, T, O> {
    /// Sums the block's rows in passes, each of a row for each group: from shared memory if the nonzeros of all of them
    /// fit there. So a block waits once for the ends of its rows and once for their nonzeros, not in each pass.
    #[device]
    pub(super) fn multiply_in_passes<W: Width, const BLOCK: usize>(
        self,
        mut arena: Arena,
        lane: LaneColumns,
        block: u32,
    ) {
        let Self { matrix, group, .. } = self;
        let offset = |row: usize| matrix.row_offsets.load(row).to_usize();
        // 1. Stage the ends of the rows and their nonzeros.
        let most = (BLOCK >> group.lanes_log2()) << self.passes_log2;
        let first_row = block as usize * most;
        let rows_left = matrix.rows as usize - first_row;
        let rows = if rows_left < most { rows_left as u32 } else { most as u32 };
        let begin = offset(first_row);
        let len = offset(first_row + rows as usize) - begin;
        let fits = len <= const { staged(BLOCK) };
        let ends: Shared<u32> = arena.take(BLOCK);
        if thread::index() < rows {
            // Ends that do not fit into 32 bits are not used.
            let end = offset(first_row + 1 + thread::index() as usize) - begin;
            ends.store(thread::index() as usize, end as u32);
        }
        let stretch = if fits { self.stretch(begin, len as u32) } else { self.stretch(0, 0) };
        let nonzeros = stage::<S, BLOCK>(arena, const { (BLOCK as u32).ilog2() }, stretch);

        // 2. Sum and store them. B may have no rows; then there are no nonzeros.
        let b = if len > 0 { self.b.skip_columns(lane.first()) } else { self.b };
        let rows = BlockRows { first: first_row, count: rows };
        if fits {
            self.multiply_each::<W, _, BLOCK>(lane, b, rows, |row| {
                let mut own = InShared { len: 0, ..nonzeros };
                let mut is_kept = false;
                if row < rows.count {
                    own.first = if row > 0 { ends.load(row as usize - 1) } else { 0 };
                    let len = ends.load(row as usize) - own.first;
                    is_kept = len <= self.longest;
                    own.len = if is_kept { len } else { 0 };
                }
                (own, is_kept)
            });
        } else {
            self.multiply_each::<W, _, BLOCK>(lane, b, rows, |row| {
                let (begin, len, is_kept) = self.row(rows.first + row as usize);
                (self.stretch(begin, len), is_kept)
            });
        }
    }

    /// Sums rows. `find` returns the nonzeros of a row, and whether it is summed here, which long rows are not. It is
    /// also called for rows beyond the last.
    #[device]
    fn multiply_each<W: Width, N: Nonzeros<S>, const BLOCK: usize>(
        self,
        lane: LaneColumns,
        b: DenseView<T>,
        rows: BlockRows,
        find: impl Fn(u32) -> (N, bool),
    ) {
        let group = self.group;
        let mut pass = 0;
        while pass < rows.count {
            let row = pass + group.index();
            let (nonzeros, is_kept) = find(row);
            let mut sums = group.sum::<W, S, T>(nonzeros, b);
            group.reduce::<W, T>(&mut sums);
            if is_kept && lane.is_inside && group.side() == 0 {
                self.store_by_rows::<W>(rows.first + row as usize, lane, &sums);
            }
            pass += BLOCK as u32 >> group.lanes_log2();
        }
    }
}

/// The rows of a block.
#[derive(Clone, Copy)]
struct BlockRows {
    first: usize,
    count: u32,
}
