//! Products with the leading columns of a dense matrix that has many rows and few columns: the bases of Krylov methods.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, GlobalMut};

use crate::block::reduce::BlockReduce;
use crate::factor::Factor;

kernel! {
    /// Partial sums of the inner products of x and each column: warp w has tiles w, w + warps, w + 2 × warps, … of 32 × `ITEMS` rows.
    pub struct ColumnDots<V: Arithmetic> {
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
        /// Distance of rows in elements.
        pub row_stride: u64,
        /// Distance of columns in elements.
        pub col_stride: u64,
    }
    shared: 0;
    body: ColumnDots::column_dots::<BLOCK, ITEMS>;
    entry: basis_dots_{V} in basis: V in [f32, f64], 256 x 8;
}

impl<V: Arithmetic> ColumnDots<V> {
    #[device]
    fn column_dots<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        self.add_up::<BLOCK, ITEMS>(|element| element);
    }

    /// Adds up the products of `left` of the elements of each column with those of x. A thread has `ITEMS` of each in flight.
    #[device]
    pub(crate) fn add_up<const BLOCK: usize, const ITEMS: usize>(self, left: impl Fn(V) -> V) {
        const LANES: usize = thread::WARP_SIZE as usize;
        let rows = self.rows as usize;
        let warps = thread::grid_size() as usize * (BLOCK / LANES);
        let own = thread::block() as usize * (BLOCK / LANES) + thread::warp() as usize;
        let tile = own * LANES * ITEMS + thread::lane() as usize;
        let mut col = 0;
        while col < self.cols as usize {
            let first_of_column = col * self.col_stride as usize;
            let (mut first, mut sum) = (tile, V::ZERO);
            while first < rows {
                let (mut column, mut x) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS]);
                for item in 0..ITEMS {
                    let row = first + item * LANES;
                    column[item] =
                        self.matrix.load_if(first_of_column + row * self.row_stride as usize, row < rows);
                    x[item] = self.x.load_if(row, row < rows);
                }
                for item in 0..ITEMS {
                    sum = left(column[item]).fma(x[item], sum);
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

kernel! {
    /// Adds up the sums of the warps of [`ColumnDots`], in an order that depends only on their number: one block per column.
    pub struct FinishColumnDots<V: Arithmetic> {
        /// The sums of the warps, for each column.
        pub sums: Global<V>,
        /// Number of sums per column.
        pub count: u32,
        /// Output: one element per column.
        pub result: GlobalMut<V>,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: FinishColumnDots::finish::<BLOCK>;
    entries: {
        basis_finish_dots_{V} in basis: V in [f32, f64], 256 x 1;
        basis_finish_dots_{V} in dot_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> FinishColumnDots<V> {
    #[device]
    fn finish<const BLOCK: usize>(self, mut arena: Arena) {
        let reduce = BlockReduce::<V, BLOCK>::take(&mut arena);
        let (count, col) = (self.count as usize, thread::block() as usize);
        let (mut sum, mut index) = (V::ZERO, thread::index() as usize);
        while index < count {
            sum += self.sums.load(col * count + index);
            index += BLOCK;
        }
        reduce.share(sum, |a, b| a + b);
        if thread::index() == 0 {
            self.result.store(col, reduce.total(|a, b| a + b));
        }
    }
}

kernel! {
    /// `y += alpha * sum of h[j] * column j`: one thread per row.
    pub struct AddColumns<V: Arithmetic> {
        /// The matrix.
        pub matrix: Global<V>,
        /// Coefficients of the columns.
        pub coefficients: Global<V>,
        /// The vector that is added to.
        pub y: GlobalMut<V>,
        /// Factor of the sum.
        pub alpha: Factor<V>,
        /// Rows of the matrix.
        pub rows: u64,
        /// Columns of the sum.
        pub cols: u32,
        /// Distance of rows in elements.
        pub row_stride: u64,
        /// Distance of columns in elements.
        pub col_stride: u64,
    }
    shared: 0;
    body: AddColumns::add_columns::<BLOCK>;
    entries: {
        basis_add_columns_{V} in basis: V in [f32, f64], 256 x 1;
        basis_add_columns_{V} in dot_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

/// Columns that a thread of [`AddColumns`] loads before it adds any.
const IN_FLIGHT: usize = 4;

impl<V: Arithmetic> AddColumns<V> {
    #[device]
    fn add_columns<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row >= self.rows as usize {
            return;
        }
        let (first, cols) = (row * self.row_stride as usize, self.cols as usize);
        let (mut sum, mut col) = (V::ZERO, 0);
        while col < cols {
            let (mut values, mut coefficients) = ([V::ZERO; IN_FLIGHT], [V::ZERO; IN_FLIGHT]);
            for item in 0..IN_FLIGHT {
                let is_column = col + item < cols;
                values[item] =
                    self.matrix.load_if(first + (col + item) * self.col_stride as usize, is_column);
                coefficients[item] = self.coefficients.load_if(col + item, is_column);
            }
            for item in 0..IN_FLIGHT {
                sum = values[item].fma(coefficients[item], sum);
            }
            col += IN_FLIGHT;
        }
        self.y.store(row, self.alpha.get().fma(sum, self.y.load(row)));
    }
}
