//! Row blocks, made without the host: consecutive rows that have few nonzeros together, or one row that has many.

use evenpath_simt::{device, kernel, thread, Arena, GlobalMut};

use crate::block::list::UnorderedList;
use crate::block::search::partition_point;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Cuts rows into row blocks of at most `share` + the longest row − 1 nonzeros: one thread per row block. A row counts as a quarter of a nonzero, so that a block has at most four times as many rows as nonzeros of its
    /// share, also where rows are empty. The block begins with the first row that begins at or after a multiple of `share`.
    pub struct CutRowBlocks<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the first row of each row block, and the number of rows; `blocks` + 1.
        pub block_rows: GlobalMut<u32>,
        /// Row blocks.
        pub blocks: u32,
        /// Nonzeros and quarters of rows between the beginnings of row blocks.
        pub share: u32,
    }
    shared: 0;
    body: CutRowBlocks::cut_row_blocks;
    entry: spmv_cut_row_blocks_{O} in spmv_plan: O in [u32, u64], 256 x 1;
}

/// Rows that count as one nonzero where rows are cut.
pub const ROWS_PER_NONZERO: u64 = 4;

/// Returns where a row begins, in quarters of nonzeros.
#[device]
fn position(row: usize, offset: usize) -> u64 {
    ROWS_PER_NONZERO * offset as u64 + row as u64
}

impl<O: Offset> CutRowBlocks<O> {
    #[device]
    fn cut_row_blocks(self, _: Arena) {
        let block = u64::from(thread::block()) * u64::from(thread::block_size()) + u64::from(thread::index());
        if block > u64::from(self.blocks) {
            return;
        }
        let start = ROWS_PER_NONZERO * block * u64::from(self.share);
        let GlobalPattern { row_offsets, rows, .. } = self.pattern;
        let first = partition_point(0, rows, |row| {
            position(row as usize, row_offsets.load(row as usize).to_usize()) < start
        });
        self.block_rows.store(block as usize, if block == u64::from(self.blocks) { rows } else { first });
    }
}

kernel! {
    /// Lists the rows with which row blocks begin, and the number of rows, in any order: one thread for each. A row of more than `most`
    /// nonzeros is a row block of its own. The others are cut as by [`CutRowBlocks`], into at most `share` + `most` − 1 nonzeros.
    pub struct ListRowBlocks<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the rows.
        pub starts: UnorderedList,
        /// Nonzeros and quarters of rows between the beginnings of row blocks.
        pub share: u32,
        /// Maximum number of nonzeros of a row that is not alone.
        pub most: u32,
    }
    shared: 0;
    body: ListRowBlocks::list_row_blocks::<BLOCK>;
    entry: spmv_list_row_blocks_{O} in spmv_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> ListRowBlocks<O> {
    #[device]
    fn list_row_blocks<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        self.starts.add(row as u32, self.is_start(row));
    }

    /// Returns whether a row begins a row block; the number of rows counts as one that does.
    #[device]
    fn is_start(self, row: usize) -> bool {
        let rows = self.pattern.rows as usize;
        if row == 0 || row >= rows {
            return row <= rows;
        }
        let offset = |row| self.pattern.row_offsets.load(row).to_usize();
        let (last, begin, end) = (offset(row - 1), offset(row), offset(row + 1));
        let window = |row, offset| position(row, offset) / (ROWS_PER_NONZERO * u64::from(self.share));
        let is_long = |len| len > self.most as usize;
        is_long(begin - last) || is_long(end - begin) || window(row - 1, last) != window(row, begin)
    }
}
