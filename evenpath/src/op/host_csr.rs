//! Operations on a [`Csr`] in host memory. They run on the CPU.

use crate::cpu::{RowMerge, Spgemm, SpgemmArrays, SpmvCut, SpmvTiles, in_pool, spmv, write_row_offsets};
use crate::device::host_zeros;
use crate::format::canonical::check_canonical_on_host;
use crate::operand::check::{check_shape, check_slices};
use crate::operand::{OpError, countable};
use crate::operation::Elementwise;
use crate::{Csr, Multiplies, Offset, Scalar};

/// Products and sums. They run on all threads of the CPU, and are the same to the last bit in every run; to
/// compute on a GPU, [`upload`](crate::Device::upload) the matrix.
///
/// The operators `&a * &x`, `&a * &b`, `&a + &b` and `&a - &b` are the same with factors of 1, and like these
/// return a
/// [`Result`]: whether shapes fit is not known before.
///
/// ```
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!((&a * &[10.0, 1.0])?, [12.0, 3.0]);
/// let sum = (&a + &a.transpose()?)?;
/// assert_eq!(sum.to_dense()?, [2.0, 2.0, 2.0, 6.0]);
/// assert_eq!((&a * &sum)?.to_dense()?, [6.0, 14.0, 6.0, 18.0]);
/// assert_eq!((&a * &[1.0]).unwrap_err().to_string(), "x has length 1, but 2 is needed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<V: Scalar, O: Offset> Csr<V, O> {
    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m. If
    /// `beta` is 0, `y` is overwritten without being read.
    ///
    /// Runs by rows, or along the merge path if one row is a large part of the matrix. A
    /// [plan](crate::DeviceCsr::plan_spmv) on [`Device::cpu`](crate::Device::cpu) divides the matrix once for many
    /// products.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let mut y = [0.5, 0.5];
    /// a.spmv(1.0, &[1.0, 10.0, 100.0], 2.0, &mut y)?;
    /// assert_eq!(y, [202.0, 31.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length; then nothing is written.
    pub fn spmv(&self, alpha: V, x: &[V], beta: V, y: &mut [V]) -> Result<(), OpError> {
        check_slices(self.shape(), x, y)?;
        let (cut, _) = SpmvCut::choose(self.row_offsets());
        spmv(self.view(), cut, (alpha, x), (beta, y));
        Ok(())
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y like [`spmv`](Self::spmv), with x, y and factors of a type that the values
    /// [multiply](Multiplies), in which products are computed and summed: `f64` for a matrix of `f32`.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a: Csr<f32> = Csr::from_triplets(1, 2, [(0, 0, 0.5), (0, 1, 2.0)])?;
    /// let mut y = [0.0];
    /// a.spmv_mixed(1.0, &[2.0, 1e-12], 0.0, &mut y)?; // x and y of f64
    /// assert_eq!(y, [1.000000000002]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length; then nothing is written.
    pub fn spmv_mixed<T: Scalar>(&self, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<(), OpError>
    where
        V: Multiplies<T>,
    {
        check_slices(self.shape(), x, y)?;
        let (cut, _) = SpmvCut::choose(self.row_offsets());
        let tiles = SpmvTiles::by_rows(self.row_offsets(), self.column_indices(), cut);
        tiles.multiply_wide(self.view(), alpha, x, beta, y);
        Ok(())
    }

    /// Returns C = `alpha`·A + `beta`·B. A, B and C are m × n. C is canonical, with an entry wherever A or B
    /// has one, like [`DeviceCsr::spadd`](crate::DeviceCsr::spadd).
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// let b = Csr::from_triplets(2, 2, [(0, 1, 10.0), (1, 0, 5.0)])?;
    /// let c = a.spadd(1.0, &b, 2.0)?;
    /// assert_eq!(c.to_dense()?, [1.0, 22.0, 10.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ, the columns of a row do not increase, `O` cannot count C's nonzeros, or there is
    /// too little memory.
    pub fn spadd(&self, alpha: V, b: &Self, beta: V) -> Result<Self, OpError> {
        let (rows, cols) = self.shape();
        check_shape("B", b.shape(), (rows, cols))?;
        check_canonical(self, b)?;
        let merge = RowMerge {
            operation: Elementwise::Sum,
            a: (self.row_offsets(), self.column_indices()),
            b: (b.row_offsets(), b.column_indices()),
        };
        let counts = merge.counts();
        let nonzeros = countable::<O>(counts.iter().sum(), WIDER)?;
        let mut row_offsets: Vec<O> = host_zeros(rows + 1)?;
        write_row_offsets(&counts, &mut row_offsets);
        let (mut column_indices, mut values) = (host_zeros(nonzeros)?, host_zeros(nonzeros)?);
        let operands = (self.values(), b.values());
        merge.write(operands, (alpha, beta), &row_offsets, (&mut column_indices, &mut values));
        Ok(Self::from_valid(rows, cols, row_offsets, column_indices, values))
    }

    /// Returns C = A·B. A is m × k, B is k × n, C is m × n, with rows sorted by column, like
    /// [`DeviceCsr::spgemm`](crate::DeviceCsr::spgemm).
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let b = Csr::from_triplets(3, 2, [(0, 1, 10.0), (1, 0, 20.0), (2, 1, 30.0)])?;
    /// assert_eq!(a.spgemm(&b)?.to_dense()?, [0.0, 70.0, 60.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B does not have one row per column of A, the columns of a row do not increase, `O` cannot count the
    /// product's nonzeros, or there is too little memory.
    pub fn spgemm(&self, b: &Self) -> Result<Self, OpError> {
        check_shape("B", b.shape(), (self.ncols(), b.ncols()))?;
        check_canonical(self, b)?;
        in_pool(self.nrows(), || self.spgemm_checked(b))
    }

    fn spgemm_checked(&self, b: &Self) -> Result<Self, OpError> {
        let (a_rows, b_cols) = (self.nrows(), b.ncols());
        // SAFETY: both were checked.
        let product = unsafe { Spgemm::new(self.view(), b.view()) };
        if let Some(SpgemmArrays { row_offsets, column_indices, values }) = product.multiply() {
            countable::<O>(column_indices.len() as u64, WIDER)?;
            return Ok(Self::from_valid(a_rows, b_cols, row_offsets, column_indices, values));
        }
        let offsets = product.row_offsets();
        let nonzeros = countable::<O>(offsets[a_rows], WIDER)?;
        let (mut column_indices, mut values) = (host_zeros(nonzeros)?, host_zeros(nonzeros)?);
        product.fill(&offsets, &mut column_indices, &mut values);
        // None exceeds the last, which `O` can count.
        let row_offsets = offsets.iter().filter_map(|&offset| O::try_from_usize(offset as usize)).collect();
        Ok(Self::from_valid(a_rows, b_cols, row_offsets, column_indices, values))
    }
}

/// Remedy if row offsets are too narrow.
const WIDER: &str = "with row offsets of u64 (try_into_offsets) there is no such limit";

fn check_canonical<V: Scalar, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> Result<(), OpError> {
    check_canonical_on_host("A", a.view())?;
    check_canonical_on_host("B", b.view())
}
