//! A group of lanes a row.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::{kernel, thread, Arena, Element, Float, Global, GlobalMut, Shared, Stored};

use super::group::{Group, InGlobal, InShared, Sums};
use super::width::{Elements, Packets, Width, MAX_WIDTH};
use crate::Offset;

kernel! {
    /// Computes the rows of C that are not long: a group of lanes a row and tile of columns, blocks of one tile of
    /// columns after another. Its variants are the widths: [`Packets`] where rows of B and C begin at multiples of 16
    /// bytes and `columns` is as many bytes, [`Elements`] elsewhere.
    pub struct SpmmRows<S: Stored, T: Stored, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one a nonzero.
        pub column_indices: Global<u32>,
        /// Values, one a nonzero.
        pub values: Global<S>,
        /// B, by rows.
        pub b: Global<T>,
        /// C, by rows or by columns; read only where `beta` is not zero.
        pub c: GlobalMut<T>,
        /// Rows of A and C.
        pub rows: u32,
        /// Columns of B and C.
        pub columns: u32,
        /// Elements from a row of B to the next.
        pub b_stride: u32,
        /// Elements from a row of C to the next; where C is stored by columns, from a column to the next.
        pub c_stride: u64,
        /// Whether C is stored by columns.
        pub c_by_columns: u32,
        /// Most nonzeros of a row that is not long.
        pub longest: u32,
        /// [`Group::columns_log2`].
        pub columns_log2: u32,
        /// [`Group::side_log2`].
        pub side_log2: u32,
        /// Factor of the product.
        pub alpha: <S as Stored>::Compute,
        /// Factor of what C held.
        pub beta: <S as Stored>::Compute,
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

/// Nonzeros that a block brings to shared memory, if its rows have no more: a few for each thread, so that a block waits
/// for them once and not once in each round of each row.
const STAGED: usize = 512;

/// Shared memory of a block: first its nonzeros; then its part of C, with a row more a column, against conflicts, and a
/// flag a row.
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

/// αsum + βc as C holds it; c does not count where β is zero.
#[inline(always)]
pub(super) fn combine<T: Stored>(alpha: T::Compute, sum: T::Compute, beta: T::Compute, old: T) -> T {
    let product = alpha * sum;
    T::narrow(if beta == T::Compute::ZERO { product } else { beta.fma(old.widen(), product) })
}

impl<S: Stored, T: Stored<Compute = S::Compute>, O: Offset> SpmmRows<S, T, O> {
    #[inline(always)]
    fn multiply_rows<W: Width, const BLOCK: usize>(self, arena: Arena) {
        let Self { values, c, columns, .. } = self;
        let group = Group { columns_log2: self.columns_log2, side_log2: self.side_log2 };
        let block_rows = BLOCK as u32 >> group.lanes_log2();
        let row_blocks = self.rows.div_ceil(block_rows);
        let tile = thread::block() / row_blocks;
        let first_row = (thread::block() - tile * row_blocks) as usize * block_rows as usize;
        let row = first_row + group.index() as usize;
        let tile_column = (tile << self.columns_log2) * W::len::<T>() as u32;
        let own_column = group.column_lane() * W::len::<T>() as u32;
        let has_columns = tile_column + own_column < columns;

        let (mut begin, mut len, mut is_kept) = (0, 0, false);
        if row < self.rows as usize {
            begin = self.row_offsets.load(row).to_usize();
            let row_len = self.row_offsets.load(row + 1).to_usize() - begin;
            is_kept = row_len <= self.longest as usize;
            len = if is_kept { row_len as u32 } else { 0 };
        }
        // Lanes past the last column repeat the first lane's, which costs nothing, and store nothing. B may have no rows.
        let lane_column = tile_column + if has_columns { own_column } else { 0 };
        let lane_b = if len > 0 { self.b.skip(lane_column as usize) } else { self.b };
        let block_begin = self.row_offsets.load(first_row).to_usize();
        let rows_left = self.rows as usize - first_row;
        let end_row =
            first_row + if rows_left < block_rows as usize { rows_left } else { block_rows as usize };
        let block_len = self.row_offsets.load(end_row).to_usize() - block_begin;
        let mut sums = if block_len <= STAGED {
            let first = begin.wrapping_sub(block_begin) as u32;
            let (columns, values) = (self.column_indices.skip(block_begin), values.skip(block_begin));
            let staged = stage::<S, BLOCK>(arena, columns, values, block_len as u32);
            group.sum::<W, S, T>(InShared { first, len, ..staged }, lane_b, self.b_stride)
        } else {
            let nonzeros =
                InGlobal { columns: self.column_indices.skip(begin), values: values.skip(begin), len };
            group.sum::<W, S, T>(nonzeros, lane_b, self.b_stride)
        };
        group.reduce::<W, T>(&mut sums);

        if self.c_by_columns == 0 {
            if is_kept && has_columns && group.side() == 0 {
                let index = row * self.c_stride as usize + (tile_column + own_column) as usize;
                store_row::<W, T>(c, index, self.alpha, &sums, self.beta);
            }
        } else {
            // The nonzeros have been there.
            thread::barrier();
            let part = Part::<T::Compute>::take::<T, W, BLOCK>(arena, group);
            part.fill::<W, T>(group, &sums, is_kept);
            thread::barrier();
            let columns_left = columns - tile_column;
            let c = c.skip(tile_column as usize * self.c_stride as usize + first_row);
            part.store::<W, T, BLOCK>(
                group,
                c,
                self.c_stride,
                rows_left,
                columns_left,
                self.alpha,
                self.beta,
            );
        }
    }
}

/// Brings a block's nonzeros, at most [`STAGED`], to shared memory: all are on their way before one is waited for.
#[inline(always)]
fn stage<S: Element, const BLOCK: usize>(
    mut arena: Arena,
    columns: Global<u32>,
    values: Global<S>,
    len: u32,
) -> InShared<S> {
    const ITEMS: usize = 4;
    const { assert!(BLOCK * ITEMS == STAGED, "the threads hold what a block stages") };
    let staged = InShared { values: arena.take(STAGED), columns: arena.take(STAGED), first: 0, len };
    let place = |item: usize| thread::index() as usize + item * BLOCK;
    let mut own_columns = [0; ITEMS];
    let mut own_values = [S::ZERO; ITEMS];
    for item in 0..ITEMS {
        own_columns[item] = columns.load_if(place(item), place(item) < len as usize);
    }
    for item in 0..ITEMS {
        own_values[item] = values.load_if(place(item), place(item) < len as usize);
    }
    for item in 0..ITEMS {
        if place(item) < len as usize {
            staged.columns.store(place(item), own_columns[item]);
            staged.values.store(place(item), own_values[item]);
        }
    }
    thread::barrier();
    staged
}

/// Stores a lane's columns of one row of C.
#[inline(always)]
fn store_row<W: Width, T: Stored>(
    c: GlobalMut<T>,
    index: usize,
    alpha: T::Compute,
    sums: &Sums<T::Compute>,
    beta: T::Compute,
) {
    let old = if beta == T::Compute::ZERO { W::zeros::<T>() } else { W::load_mut(c, index) };
    let mut new = W::zeros::<T>();
    for at in 0..W::len::<T>() {
        W::set(&mut new, at, combine(alpha, sums[at], beta, W::get::<T>(old, at)));
    }
    W::store(c, index, new);
}

/// A block's part of C on its way to be stored by columns: neighbouring threads then store neighbouring rows.
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

    /// Stores what lies within the `rows_left` rows and `columns_left` columns from the block's first on.
    #[inline(always)]
    fn store<W: Width, T: Stored<Compute = V>, const BLOCK: usize>(
        &self,
        group: Group,
        c: GlobalMut<T>,
        c_stride: u64,
        rows_left: usize,
        columns_left: u32,
        alpha: V,
        beta: V,
    ) {
        let len = (W::len::<T>() as u32) << (group.columns_log2 + self.rows_log2);
        let mut at = thread::index();
        while at < len {
            let (row, column) = (at & ((1 << self.rows_log2) - 1), at >> self.rows_log2);
            if (row as usize) < rows_left && column < columns_left && self.is_kept.load(row as usize) != 0 {
                let index = column as usize * c_stride as usize + row as usize;
                let old = if beta == V::ZERO { T::ZERO } else { c.load(index) };
                c.store_streaming(index, combine(alpha, self.sums.load(self.place(column, row)), beta, old));
            }
            at += BLOCK as u32;
        }
    }
}

const _: () = assert!(width::<f16, Packets>() == MAX_WIDTH && width::<f64, Elements>() == 1);
