//! A block's tile of C in shared memory.

use evenpath_simt::{device, thread, Arena, Arithmetic, Shared, Stored};

use super::group::{Group, LaneSums};
use super::update::DenseUpdate;
use super::width::Width;

/// A block's tile of C, to be stored by columns: consecutive threads then store consecutive rows.
pub(super) struct TileOfC<V> {
    sums: Shared<V>,
    is_kept: Shared<u32>,
    rows_log2: u32,
}

impl<V: Arithmetic> TileOfC<V> {
    #[device]
    pub(super) fn take<T: Stored<Compute = V>, W: Width, const BLOCK: usize>(
        mut arena: Arena,
        group: Group,
    ) -> Self {
        let is_kept = arena.take(BLOCK);
        let sums = arena.take((BLOCK + thread::WARP_SIZE as usize) * W::len::<T>());
        Self { sums, is_kept, rows_log2: const { (BLOCK as u32).ilog2() } - group.lanes_log2() }
    }

    #[device]
    fn place(&self, column: u32, row: u32) -> usize {
        (column * ((1 << self.rows_log2) + 1) + row) as usize
    }

    #[device]
    pub(super) fn fill<W: Width, T: Stored<Compute = V>>(
        &self,
        group: Group,
        sums: &LaneSums<V>,
        is_kept: bool,
    ) {
        if group.side() == 0 {
            for at in 0..W::len::<T>() {
                let column = group.column_lane() * W::len::<T>() as u32 + at as u32;
                self.sums.store(self.place(column, group.index()), sums[at]);
            }
            if group.column_lane() == 0 {
                self.is_kept.store(group.index() as usize, u32::from(is_kept));
            }
        }
    }

    /// Stores the elements within the `rows_left` rows and `columns_left` columns starting at the block's first
    /// element.
    #[device]
    pub(super) fn store<W: Width, T: Stored<Compute = V>, const BLOCK: usize>(
        &self,
        group: Group,
        update: DenseUpdate<T>,
        c_stride: u64,
        rows_left: usize,
        columns_left: u32,
    ) {
        let len = (W::len::<T>() as u32) << (group.columns_log2 + self.rows_log2);
        thread::block_stride::<BLOCK>(len, |at| {
            let (row, column) = (at & ((1 << self.rows_log2) - 1), at >> self.rows_log2);
            if (row as usize) < rows_left && column < columns_left && self.is_kept.load(row as usize) != 0 {
                let index = column as usize * c_stride as usize + row as usize;
                let old = update.load(index);
                update.c.store_streaming(index, update.combine(self.sums.load(self.place(column, row)), old));
            }
        });
    }
}
