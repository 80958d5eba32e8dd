//! One group of lanes per row.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::{kernel, thread, Arena, Element, Float, Global, Shared, Stored};

use super::group::{DenseRows, Group, InGlobal, InShared, Sums};
use super::update::DenseUpdate;
use super::width::{Elements, Packets, Width, MAX_WIDTH};
use crate::{CsrView, Offset};

kernel! {
    /// Computes the rows of C that are not long: one group of lanes per row and tile of columns, blocks of one tile of
    /// columns after another. Its variants are the widths: [`Packets`] where rows of B and C begin at multiples of 16
    /// bytes and `columns` is as many bytes, [`Elements`] elsewhere.
    pub struct SpmmRows<S: Stored, T: Stored, O: Offset> {
        /// A.
        pub matrix: CsrView<S, O>,
        /// B.
        pub b: DenseRows<T>,
        /// C, by rows or by columns.
        pub update: DenseUpdate<T>,
        /// Columns of B and C.
        pub columns: u32,
        /// Elements from a row of C to the next; where C is stored by columns, from a column to the next.
        pub c_stride: u64,
        /// Whether C is stored by columns.
        pub c_by_columns: u32,
        /// The most nonzeros of a row that is not long.
        pub longest: u32,
        /// The lanes of a row.
        pub group: Group,
    }
    shared: shared_bytes::<S, T, P>(BLOCK);
    body: SpmmRows::multiply_rows::<P, BLOCK>;
    entries: {
        spmm_rows_f32_u32 in spmm_f32: <S = f32, T = f32, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f32_u64 in spmm_f32: <S = f32, T = f32, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f64_u32 in spmm_f64: <S = f64, T = f64, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f64_u64 in spmm_f64: <S = f64, T = f64, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f16_u32 in spmm_f16: <S = f16, T = f16, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f16_u64 in spmm_f16: <S = f16, T = f16, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f16_f32_u32 in spmm_f16_f32: <S = f16, T = f32, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_f16_f32_u64 in spmm_f16_f32: <S = f16, T = f32, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_bf16_u32 in spmm_bf16: <S = bf16, T = bf16, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_bf16_u64 in spmm_bf16: <S = bf16, T = bf16, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_bf16_f32_u32 in spmm_bf16_f32: <S = bf16, T = f32, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_rows_bf16_f32_u64 in spmm_bf16_f32: <S = bf16, T = f32, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_row_elements_f32_u32 in spmm_f32: <S = f32, T = f32, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f32_u64 in spmm_f32: <S = f32, T = f32, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f64_u32 in spmm_f64: <S = f64, T = f64, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f64_u64 in spmm_f64: <S = f64, T = f64, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f16_u32 in spmm_f16: <S = f16, T = f16, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f16_u64 in spmm_f16: <S = f16, T = f16, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f16_f32_u32 in spmm_f16_f32: <S = f16, T = f32, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_f16_f32_u64 in spmm_f16_f32: <S = f16, T = f32, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_bf16_u32 in spmm_bf16: <S = bf16, T = bf16, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_bf16_u64 in spmm_bf16: <S = bf16, T = bf16, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_bf16_f32_u32 in spmm_bf16_f32: <S = bf16, T = f32, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_row_elements_bf16_f32_u64 in spmm_bf16_f32: <S = bf16, T = f32, O = u64>, with P = Elements, 128 x 1 resident 10;
    }
}

/// Columns in an access of a width, for constants.
const fn width<T: Stored, W: Width>() -> usize {
    if size_of::<W::Moved<T>>() == 16 {
        16 / T::SIZE
    } else {
        1
    }
}

/// Nonzeros that a block copies to shared memory if its rows have no more: a few for each thread, so that a block waits
/// for them once instead of once in each round of each row.
const STAGED: usize = 512;

/// Shared memory of a block: first its nonzeros; then its part of C, with one more row per column, against bank conflicts,
/// and a flag per row.
const fn shared_bytes<S: Stored, T: Stored, W: Width>(block: usize) -> usize {
    let nonzeros = STAGED * (4 + S::SIZE);
    let part =
        (block + thread::WARP_SIZE as usize) * width::<T, W>() * <T::Compute as Element>::SIZE + block * 4;
    if nonzeros > part {
        nonzeros
    } else {
        part
    }
}

impl<S: Stored, T: Stored<Compute = S::Compute>, O: Offset> SpmmRows<S, T, O> {
    #[inline(always)]
    fn multiply_rows<W: Width, const BLOCK: usize>(self, arena: Arena) {
        let Self { matrix, group, columns, .. } = self;
        // 1. Find the group's row and the lane's columns.
        let block_rows = BLOCK as u32 >> group.lanes_log2();
        let row_blocks = matrix.rows.div_ceil(block_rows);
        let tile = thread::block() / row_blocks;
        let first_row = (thread::block() - tile * row_blocks) as usize * block_rows as usize;
        let row = first_row + group.index() as usize;
        let tile_column = (tile << group.columns_log2) * W::len::<T>() as u32;
        let own_column = group.column_lane() * W::len::<T>() as u32;
        let has_columns = tile_column + own_column < columns;

        let (mut begin, mut len, mut is_kept) = (0, 0, false);
        if row < matrix.rows as usize {
            begin = matrix.row_offsets.load(row).to_usize();
            let row_len = matrix.row_offsets.load(row + 1).to_usize() - begin;
            is_kept = row_len <= self.longest as usize;
            len = if is_kept { row_len as u32 } else { 0 };
        }
        // Lanes past the last column repeat the first lane's, which is free, and store nothing. B may have no rows.
        let lane_column = tile_column + if has_columns { own_column } else { 0 };
        let lane_b = if len > 0 { self.b.skip_columns(lane_column) } else { self.b };
        // 2. Sum the row, from shared memory if the block's nonzeros fit there.
        let block_begin = matrix.row_offsets.load(first_row).to_usize();
        let rows_left = matrix.rows as usize - first_row;
        let end_row =
            first_row + if rows_left < block_rows as usize { rows_left } else { block_rows as usize };
        let block_len = matrix.row_offsets.load(end_row).to_usize() - block_begin;
        let mut sums = if block_len <= STAGED {
            let first = begin.wrapping_sub(block_begin) as u32;
            let column_indices = matrix.column_indices.skip(block_begin);
            let values = matrix.values.skip(block_begin);
            let staged = stage::<S, BLOCK>(arena, column_indices, values, block_len as u32);
            group.sum::<W, S, T>(InShared { first, len, ..staged }, lane_b)
        } else {
            let column_indices = matrix.column_indices.skip(begin);
            let nonzeros = InGlobal { column_indices, values: matrix.values.skip(begin), len };
            group.sum::<W, S, T>(nonzeros, lane_b)
        };
        group.reduce::<W, T>(&mut sums);

        // 3. Store: rows of C directly, columns by way of shared memory.
        if self.c_by_columns == 0 {
            if is_kept && has_columns && group.side() == 0 {
                let index = row * self.c_stride as usize + (tile_column + own_column) as usize;
                self.update.store_row::<W>(index, &sums);
            }
        } else {
            // The nonzeros were in the same memory.
            thread::barrier();
            let part = Part::<T::Compute>::take::<T, W, BLOCK>(arena, group);
            part.fill::<W, T>(group, &sums, is_kept);
            thread::barrier();
            let columns_left = columns - tile_column;
            let update = self.update.skip(tile_column as usize * self.c_stride as usize + first_row);
            part.store::<W, T, BLOCK>(group, update, self.c_stride, rows_left, columns_left);
        }
    }
}

/// Copies a block's nonzeros, at most [`STAGED`], to shared memory: all loads are issued before the first is used.
#[inline(always)]
fn stage<S: Element, const BLOCK: usize>(
    mut arena: Arena,
    column_indices: Global<u32>,
    values: Global<S>,
    len: u32,
) -> InShared<S> {
    const ITEMS: usize = 4;
    const { assert!(BLOCK * ITEMS == STAGED, "the threads hold what a block stages") };
    let staged = InShared { values: arena.take(STAGED), column_indices: arena.take(STAGED), first: 0, len };
    let place = |item: usize| thread::index() as usize + item * BLOCK;
    let mut own_columns = [0; ITEMS];
    let mut own_values = [S::ZERO; ITEMS];
    for item in 0..ITEMS {
        own_columns[item] = column_indices.load_if(place(item), place(item) < len as usize);
    }
    for item in 0..ITEMS {
        own_values[item] = values.load_if(place(item), place(item) < len as usize);
    }
    for item in 0..ITEMS {
        if place(item) < len as usize {
            staged.column_indices.store(place(item), own_columns[item]);
            staged.values.store(place(item), own_values[item]);
        }
    }
    thread::barrier();
    staged
}

/// A block's part of C, to be stored by columns: consecutive threads then store consecutive rows.
struct Part<V> {
    sums: Shared<V>,
    is_kept: Shared<u32>,
    rows_log2: u32,
}

impl<V: Float> Part<V> {
    #[inline(always)]
    fn take<T: Stored<Compute = V>, W: Width, const BLOCK: usize>(mut arena: Arena, group: Group) -> Self {
        let is_kept = arena.take(BLOCK);
        let sums = arena.take((BLOCK + thread::WARP_SIZE as usize) * W::len::<T>());
        Self { sums, is_kept, rows_log2: const { (BLOCK as u32).ilog2() } - group.lanes_log2() }
    }

    #[inline(always)]
    fn place(&self, column: u32, row: u32) -> usize {
        (column * ((1 << self.rows_log2) + 1) + row) as usize
    }

    #[inline(always)]
    fn fill<W: Width, T: Stored<Compute = V>>(&self, group: Group, sums: &Sums<V>, is_kept: bool) {
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

    /// Stores what lies within the `rows_left` rows and `columns_left` columns from the block's first element on.
    #[inline(always)]
    fn store<W: Width, T: Stored<Compute = V>, const BLOCK: usize>(
        &self,
        group: Group,
        update: DenseUpdate<T>,
        c_stride: u64,
        rows_left: usize,
        columns_left: u32,
    ) {
        let len = (W::len::<T>() as u32) << (group.columns_log2 + self.rows_log2);
        let mut at = thread::index();
        while at < len {
            let (row, column) = (at & ((1 << self.rows_log2) - 1), at >> self.rows_log2);
            if (row as usize) < rows_left && column < columns_left && self.is_kept.load(row as usize) != 0 {
                let index = column as usize * c_stride as usize + row as usize;
                let old = update.load(index);
                update.c.store_streaming(index, update.combine(self.sums.load(self.place(column, row)), old));
            }
            at += BLOCK as u32;
        }
    }
}

const _: () = assert!(width::<f16, Packets>() == MAX_WIDTH && width::<f64, Elements>() == 1);
