//! Inner products of complex vectors: of two vectors, and of one with each column of a tall matrix.
//!
//! Elements have up to 16 bytes, so a thread has half as many in flight as in [`Dot`] and [`ColumnDots`].

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, Arena, Arithmetic, Global, GlobalMut};

use crate::basis::ColumnDots;
use crate::block::reduce::BlockReduce;
use crate::vector::Dot;

/// Returns the number, or its conjugate.
#[device]
fn conjugate_if<V: Arithmetic>(is_conjugated: bool, number: V) -> V {
    if is_conjugated {
        number.conjugate()
    } else {
        number
    }
}

kernel! {
    /// Partial sums of the inner product of x, or of its conjugate, and y: block b adds up tiles b, b + grid, b + 2 × grid, …
    /// [`FinishDot`](crate::vector::FinishDot) adds these.
    pub struct ComplexDot<V: Arithmetic> {
        /// A vector.
        pub x: Global<V>,
        /// Another.
        pub y: Global<V>,
        /// Output: one sum per block.
        pub sums: GlobalMut<V>,
        /// Elements of each vector.
        pub len: u64,
        /// 1 for the conjugate of x, otherwise 0.
        pub is_conjugated: u32,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: ComplexDot::dot::<BLOCK, ITEMS>;
    entry: vector_dot_{V} in dot_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 2;
}

impl<V: Arithmetic> ComplexDot<V> {
    #[device]
    fn dot<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        let Self { x, y, sums, len, is_conjugated } = self;
        Dot { x, y, sums, len }
            .add_up::<BLOCK, ITEMS>(arena, |element| conjugate_if(is_conjugated != 0, element));
    }
}

kernel! {
    /// Partial sums of the inner products of each column, or of its conjugate, and x: warp w has tiles w, w + warps, w + 2 × warps, … of
    /// 32 × `ITEMS` rows. [`FinishColumnDots`](crate::basis::FinishColumnDots) adds these.
    pub struct ComplexColumnDots<V: Arithmetic> {
        /// The matrix.
        pub matrix: Global<V>,
        /// The vector.
        pub x: Global<V>,
        /// Output: a sum per warp of the grid, for each column.
        pub sums: GlobalMut<V>,
        /// Rows of the matrix.
        pub rows: u64,
        /// Columns of the products.
        pub cols: u32,
        /// 1 for the conjugates of the columns, otherwise 0.
        pub is_conjugated: u32,
        /// Distance of rows in elements.
        pub row_stride: u64,
        /// Distance of columns in elements.
        pub col_stride: u64,
    }
    shared: 0;
    body: ComplexColumnDots::column_dots::<BLOCK, ITEMS>;
    entry: basis_dots_{V} in dot_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 4;
}

impl<V: Arithmetic> ComplexColumnDots<V> {
    #[device]
    fn column_dots<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { matrix, x, sums, rows, cols, is_conjugated, row_stride, col_stride } = self;
        ColumnDots { matrix, x, sums, rows, cols, row_stride, col_stride }
            .add_up::<BLOCK, ITEMS>(|element| conjugate_if(is_conjugated != 0, element));
    }
}
