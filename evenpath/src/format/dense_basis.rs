//! Products with the leading columns of a dense matrix: a vector's coordinates in a basis, and combinations of the basis. Krylov
//! methods orthogonalize by them.

use evenpath_kernels::basis::{AddColumns, ColumnDots, FinishColumnDots};
use evenpath_kernels::complex_dots::ComplexColumnDots;
use evenpath_simt::GlobalMut;
use evenpath_simt::kernel::Kernel;

use super::DeviceDense;
use crate::device::{DeviceSlice, instance};
use crate::operand::check::{check_len, check_vector};
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
use crate::sequence::BLOCKS;
use crate::{Scalar, cpu};

/// Threads of a warp.
const WARP: usize = 32;

impl<V: Scalar> DeviceDense<V> {
    /// Computes `result[j]` = vⱼᵀx, where vⱼ is column j. The matrix has n rows, `x` n elements, and `result` at most as many as there
    /// are columns: as many leading columns are used. Does not wait. Results are the same to the bit in every run.
    ///
    /// Fast for matrices that are stored by columns.
    ///
    /// ```
    /// use evenpath::{Device, DeviceDense, Layout};
    ///
    /// let device = Device::best()?;
    /// let basis = DeviceDense::try_new(device.upload(&[1.0, 0.0, 1.0, 1.0])?, 2, 2, Layout::ColumnMajor)?;
    /// let (x, mut h) = (device.upload(&[3.0, 4.0])?, device.zeros(2)?);
    /// basis.dots_into(&x, &mut h)?;
    /// assert_eq!(h.download()?, [3.0, 7.0]);
    /// let mut y = device.zeros(2)?;
    /// basis.add_columns(2.0, &h, &mut y)?; // y += 2·(3·v₀ + 7·v₁)
    /// assert_eq!(y.download()?, [20.0, 14.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector has another length or is on another device; then nothing is written. If there is too little memory for 8192
    /// elements a column, or the device was lost.
    pub fn dots_into(&self, x: &DeviceSlice<V>, result: &mut DeviceSlice<V>) -> Result<(), OpError> {
        self.dots(false, x, result)
    }

    /// Computes `result[j]` = vⱼᴴx, where vⱼᴴ is the conjugate transpose of column j: the coordinates of x if the columns are
    /// orthonormal. Otherwise like [`dots_into`](Self::dots_into), whose results are the same for real numbers.
    ///
    /// ```
    /// use evenpath::{Complex, Device, DeviceDense, Layout};
    ///
    /// let device = Device::best()?;
    /// let (i, one) = (Complex::new(0.0, 1.0), Complex::new(1.0, 0.0));
    /// let basis = DeviceDense::try_new(device.upload(&[i, one])?, 2, 1, Layout::ColumnMajor)?;
    /// let (x, mut h) = (device.upload(&[i, one])?, device.zeros(1)?);
    /// basis.dots_conjugated_into(&x, &mut h)?;
    /// assert_eq!(h.download()?, [Complex::new(2.0, 0.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`dots_into`](Self::dots_into).
    pub fn dots_conjugated_into(
        &self,
        x: &DeviceSlice<V>,
        result: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.dots(true, x, result)
    }

    /// The inner products of columns, or of their conjugates, and x.
    fn dots(
        &self,
        is_conjugated: bool,
        x: &DeviceSlice<V>,
        result: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let cols = self.check_basis(("x", x), ("result", result))?;
        if let (Some(matrix), Some(x), Some(result)) =
            (self.as_vec().host_slice(), x.host_slice(), result.host_slice_mut())
        {
            let strides = self.strides();
            if is_conjugated {
                cpu::column_dots(matrix, strides, V::conj, x, result);
            } else {
                cpu::column_dots(matrix, strides, |element| element, x, result);
            }
            return Ok(());
        }
        let (matrix, rows, cols) = (self.as_vec().as_global(), x.len() as u64, cols as u32);
        let (row_stride, col_stride) = self.strides();
        let (row_stride, col_stride) = (row_stride as u64, col_stride as u64);
        let x = x.as_global();
        if V::IS_COMPLEX {
            let is_conjugated = u32::from(is_conjugated);
            self.launch_dots(result, rows, |sums| ComplexColumnDots {
                matrix,
                x,
                sums,
                rows,
                cols,
                is_conjugated,
                row_stride,
                col_stride,
            })
        } else {
            self.launch_dots(result, rows, |sums| ColumnDots {
                matrix,
                x,
                sums,
                rows,
                cols,
                row_stride,
                col_stride,
            })
        }
    }

    /// Launches the kernel of a function of its partial sums, and adds these.
    fn launch_dots<K: Kernel>(
        &self,
        result: &mut DeviceSlice<V>,
        rows: u64,
        kernel: impl FnOnce(GlobalMut<V>) -> K,
    ) -> Result<(), OpError> {
        let (device, cols) = (self.device(), result.len());
        let instance = instance::<K>();
        let blocks = (rows as usize).div_ceil(instance.tile_items()).clamp(1, BLOCKS);
        let count = blocks * instance.block_size as usize / WARP;
        let (launch, finish_launch) = (device.kernel().blocks(blocks)?, device.kernel().blocks(cols)?);
        let mut sums = device.uninitialized(count * cols)?;
        let kernel = kernel(sums.as_global_mut());
        let finish =
            FinishColumnDots { sums: sums.as_global(), count: count as u32, result: result.as_global_mut() };
        // SAFETY: the matrix has those rows and at least those columns, the sums one per warp and column, the result one per column,
        // on this device; buffers are freed in the stream's order.
        unsafe {
            launch.launch(kernel)?;
            finish_launch.launch(finish)?;
        }
        Ok(())
    }

    /// Computes y += `alpha`·Σⱼ `coefficients[j]`·vⱼ, where vⱼ is column j. The matrix has n rows, `y` n elements, and `coefficients` at
    /// most as many as there are columns. Does not wait.
    ///
    /// # Errors
    ///
    /// If a vector has another length or is on another device, or `alpha` is not one element; then nothing is written. If the
    /// device was lost.
    pub fn add_columns<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        coefficients: &DeviceSlice<V>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let cols = self.check_basis(("y", y), ("coefficients", coefficients))?;
        let (alpha, _) = factors(self.device(), alpha, V::ONE)?;
        let (row_stride, col_stride) = self.strides();
        if let (Some(alpha), Some(matrix), Some(coefficients), Some(y)) =
            (alpha.known(), self.as_vec().host_slice(), coefficients.host_slice(), y.host_slice_mut())
        {
            cpu::add_columns(alpha, matrix, (row_stride, col_stride), coefficients, y);
            return Ok(());
        }
        let launch = self.device().kernel().threads(y.len())?;
        let kernel = AddColumns {
            matrix: self.as_vec().as_global(),
            coefficients: coefficients.as_global(),
            y: y.as_global_mut(),
            alpha: alpha.view(),
            rows: y.len() as u64,
            cols: cols as u32,
            row_stride: row_stride as u64,
            col_stride: col_stride as u64,
        };
        // SAFETY: the matrix has those rows and at least those columns, the coefficients one per column, the factor one element, on
        // this device; buffers are freed in the stream's order.
        Ok(unsafe { launch.launch(kernel) }?)
    }

    /// Checks a vector over the rows and one over leading columns. Returns the number of these.
    fn check_basis(
        &self,
        rows: (&'static str, &DeviceSlice<V>),
        (operand, cols): (&'static str, &DeviceSlice<V>),
    ) -> Result<usize, OpError> {
        check_vector(self.device(), rows, self.nrows())?;
        check_vector(self.device(), (operand, cols), cols.len())?;
        check_len(operand, cols.len(), cols.len().min(self.ncols()))?;
        Ok(cols.len())
    }
}
