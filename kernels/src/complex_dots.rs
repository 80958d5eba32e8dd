//! Inner products of complex vectors: of two vectors, and of one with each column of a tall matrix.
//!
//! Elements have up to 16 bytes, so a thread has half as many in flight as in [`Dot`](crate::vector::Dot) and
//! [`ColumnDots`](crate::basis::ColumnDots), which these kernels resemble.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, GlobalMut};

use crate::block::reduce::BlockReduce;

/// Returns the number, or its conjugate.
#[device]
fn factor<V: Arithmetic>(number: V, is_conjugated: bool) -> V {
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
    fn dot<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let reduce = BlockReduce::<V, BLOCK>::take(&mut arena);
        let (len, is_conjugated) = (self.len as usize, self.is_conjugated != 0);
        let stride = thread::grid_size() as usize * BLOCK * ITEMS;
        let mut first = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        let mut sum = V::ZERO;
        while first < len {
            let (mut left, mut right) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS]);
            for item in 0..ITEMS {
                let index = first + item * BLOCK;
                left[item] = self.x.load_if(index, index < len);
                right[item] = self.y.load_if(index, index < len);
            }
            for item in 0..ITEMS {
                sum = factor(left[item], is_conjugated).fma(right[item], sum);
            }
            first += stride;
        }
        reduce.share(sum, |a, b| a + b);
        if thread::index() == 0 {
            self.sums.store(thread::block() as usize, reduce.total(|a, b| a + b));
        }
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
        const LANES: usize = thread::WARP_SIZE as usize;
        let (rows, is_conjugated) = (self.rows as usize, self.is_conjugated != 0);
        let warps = thread::grid_size() as usize * (BLOCK / LANES);
        let own = thread::block() as usize * (BLOCK / LANES) + thread::warp() as usize;
        let tile = own * LANES * ITEMS + thread::lane() as usize;
        let mut col = 0;
        while col < self.cols as usize {
            let first_of_column = col * self.col_stride as usize;
            let (mut first, mut sum) = (tile, V::ZERO);
            while first < rows {
                let (mut left, mut right) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS]);
                for item in 0..ITEMS {
                    let row = first + item * LANES;
                    let at = first_of_column + row * self.row_stride as usize;
                    left[item] = self.matrix.load_if(at, row < rows);
                    right[item] = self.x.load_if(row, row < rows);
                }
                for item in 0..ITEMS {
                    sum = factor(left[item], is_conjugated).fma(right[item], sum);
                }
                first += warps * LANES * ITEMS;
            }
            let sum = warp::reduce_add(sum);
            if thread::lane() == 0 {
                self.sums.store(col * warps + own, sum);
            }
            col += 1;
        }
    }
}
