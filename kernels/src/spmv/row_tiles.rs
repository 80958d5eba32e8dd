//! SpMV by row tiles: every warp takes the same number of consecutive rows.
//!
//! Suits matrices whose row lengths differ little. Only the lengths are analyzed, nothing is stored, and there is one
//! launch.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Arithmetic, Global, Shared};

use super::columns::ColumnForm;
use super::product::SpmvArguments;
use super::row_group::{product_bytes, warp_products, PacketNonzeros, RowGroup, StridedNonzeros};
use crate::unroll::unroll;
use crate::{GlobalCsr, Offset};

kernel! {
    /// Computes y = αAx + βy, each warp for 32·`ROWS` / 2^`lanes_log2` rows; its variants are the rows that a lane
    /// sums. Groups of rows with 2³² − 2¹⁰ nonzeros and more are beyond it.
    pub struct RowTiles<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
        /// log2 of the lanes per row; 0 for all variants but `OneRow`.
        pub lanes_log2: u32,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: RowTiles::row_tiles::<P, BLOCK, ITEMS>;
    entries: {
        spmv_row_tiles_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = f32, O in [u32, u64],
            (P, B, N, R) in [
                (OneRow as 1, 64, 8, 16), (OneRow as 1, 128, 12, 8), (TwoRows as 2, 128, 12, 0), (FourRows as 4, 64, 4, 0),
                (FourRows as 4, 64, 8, 16),
            ], B x N resident R;
        spmv_row_tiles_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = f64, O in [u32, u64],
            (P, B, N, R) in [
                (OneRow as 1, 128, 5, 8), (OneRow as 1, 128, 6, 8), (TwoRows as 2, 128, 6, 8), (FourRows as 4, 64, 4, 16),
            ], B x N resident R;
        spmv_row_tiles_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = Complex<f32> as c32, O in [u32, u64],
            (P, B, N, R) in [
                (OneRow as 1, 128, 5, 8), (OneRow as 1, 128, 6, 8), (TwoRows as 2, 128, 6, 8), (FourRows as 4, 64, 4, 16),
            ], B x N resident R;
        spmv_row_tiles_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = Complex<f64> as c64, O in [u32, u64],
            (P, B, N, R) in [
                (OneRow as 1, 128, 4, 6), (OneRow as 1, 128, 5, 6), (TwoRows as 2, 128, 4, 6), (FourRows as 4, 64, 4, 10),
            ], B x N resident R;
    }
}

/// Number of rows that a lane sums.
pub trait RowShare {
    /// Computes the rows of this thread's warp; those over the tile's limit are left out if `LIMITED`.
    fn run<
        V: Arithmetic,
        O: Offset,
        C: ColumnSource,
        const LIMITED: bool,
        const BLOCK: usize,
        const ITEMS: usize,
    >(
        tile: RowTileOperands<V, O, C>,
        arena: Arena,
    );
}

macro_rules! row_shares {
    ($($(#[$doc:meta])* $name:ident = $rows:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl RowShare for $name {
            #[device]
            fn run<
                V: Arithmetic,
                O: Offset,
                C: ColumnSource,
                const LIMITED: bool,
                const BLOCK: usize,
                const ITEMS: usize,
            >(
                tile: RowTileOperands<V, O, C>,
                arena: Arena,
            ) {
                tile.run::<$rows, LIMITED, BLOCK, ITEMS>(arena);
            }
        }
    )*};
}

row_shares! {
    /// One row, or a part of one.
    OneRow = 1;
    /// Two rows.
    TwoRows = 2;
    /// Four rows.
    FourRows = 4;
}

/// Operands of a kernel of row tiles.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, missing_docs)]
pub struct RowTileOperands<V: Arithmetic, O: Offset, C> {
    pub(super) product: SpmvArguments<V, O>,
    /// Columns of the matrix.
    pub(super) columns: C,
    /// Number of the block among those that take rows.
    pub(super) block: u32,
    pub(super) lanes_log2: u32,
    /// The most nonzeros of a row that is not left out.
    pub(super) limit: u32,
}

/// Columns of a matrix, which may have a different form in each tile.
pub trait ColumnSource: Copy {
    /// Runs `sums` with the columns of the rows starting at `first`. Data about columns is loaded before `bounds` and
    /// used after them, so that there is one wait for memory.
    fn with_columns(self, first: u32, bounds: impl FnOnce() -> (usize, usize), sums: impl SumRows);
}

/// Work on rows whose columns are known.
pub trait SumRows {
    /// Does the work.
    fn run(self, columns: impl ColumnForm, bounds: (usize, usize));
}

impl ColumnSource for Global<u32, Aligned16> {
    #[device]
    fn with_columns(self, _: u32, bounds: impl FnOnce() -> (usize, usize), sums: impl SumRows) {
        sums.run(self, bounds());
    }
}

impl<V: Arithmetic, O: Offset, C: ColumnSource> RowTileOperands<V, O, C> {
    #[device]
    fn run<const ROWS: usize, const LIMITED: bool, const BLOCK: usize, const ITEMS: usize>(
        self,
        mut arena: Arena,
    ) {
        const { assert!(BLOCK.is_multiple_of(32)) };
        let products = warp_products::<V, BLOCK, ITEMS>(&mut arena);
        let count = (32 * ROWS as u32) >> self.lanes_log2;
        let warp = u64::from(self.block) * (BLOCK / 32) as u64 + u64::from(thread::warp());
        let GlobalCsr { row_offsets, rows, .. } = self.product.matrix;
        if warp * u64::from(count) >= u64::from(rows) {
            return;
        }
        let first = warp as u32 * count;
        let end = rows.min(first + count);
        let group = RowGroup::<ROWS> { first, end, lanes_log2: self.lanes_log2, limit: self.limit };
        let bounds = || group.bounds(row_offsets);
        let sums = GroupSums::<V, O, C, LIMITED, ROWS, ITEMS> { tile: self, group, products };
        self.columns.with_columns(first, bounds, sums);
    }
}

/// The sums of a group of rows, stored.
struct GroupSums<V: Arithmetic, O: Offset, C, const LIMITED: bool, const ROWS: usize, const ITEMS: usize> {
    tile: RowTileOperands<V, O, C>,
    group: RowGroup<ROWS>,
    products: Shared<V>,
}

impl<
        V: Arithmetic,
        O: Offset,
        C: ColumnSource,
        const LIMITED: bool,
        const ROWS: usize,
        const ITEMS: usize,
    > SumRows for GroupSums<V, O, C, LIMITED, ROWS, ITEMS>
{
    #[device]
    fn run(self, columns: impl ColumnForm, bounds: (usize, usize)) {
        let Self { tile, group, products } = self;
        let SpmvArguments { matrix, x, .. } = tile.product;
        let gather = |column: u32| x.load(column as usize);
        // Wide loads in f32. In f64 they gain nothing, but lanes that gather for consecutive nonzeros do.
        let sums = if V::SIZE == 4 {
            group.sums::<V, O, _, PacketNonzeros, LIMITED, ITEMS>(matrix, columns, bounds, products, gather)
        } else {
            group.sums::<V, O, _, StridedNonzeros, LIMITED, ITEMS>(matrix, columns, bounds, products, gather)
        };
        let is_long = |row: u32| matrix.pattern().row_len(row as usize) > u64::from(tile.limit);
        unroll!(for index in 0..ROWS {
            let row = group.row(index);
            if group.stores() && row < group.end && !(LIMITED && is_long(row)) {
                tile.product.update.store(row as usize, sums[index]);
            }
        });
    }
}

impl<V: Arithmetic, O: Offset> RowTiles<V, O> {
    #[device]
    fn row_tiles<P: RowShare, const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        let tile = RowTileOperands {
            product: self.product,
            columns: self.product.matrix.column_indices,
            block: thread::block(),
            lanes_log2: self.lanes_log2,
            limit: u32::MAX,
        };
        P::run::<V, O, Global<u32, Aligned16>, false, BLOCK, ITEMS>(tile, arena);
    }
}
