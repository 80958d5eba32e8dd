//! Products of matrices in BSR with dense matrices.

use evenpath_kernels::bsr::BsrSpmm;
use evenpath_simt::thread::WARP_SIZE;

use super::combine::dense_with_numbers;
use crate::format::dense::check_dense;
use crate::format::{DeviceBsr, DeviceDense, Layout};
use crate::operand::check::check_countable;
use crate::operand::{Factor, OpError};
use crate::sequence::vector::update;
use crate::{Offset, Value, cpu};

impl<V: Value, O: Offset> DeviceBsr<V, O> {
    /// Computes C = `alpha`·A·B + `beta`·C. A has m rows and n columns, B has n rows and k columns, C has m rows and k columns.
    ///
    /// B and C may have different layouts; row-major ones are faster. Runs in the order of the device's stream; the call
    /// does not wait. Results are the same to the bit in every run. If `beta` is zero, C is overwritten without being read.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceDense, Layout};
    ///
    /// let device = Device::best()?;
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let a = device.upload(&a.to_bsr(2)?)?;
    /// let b = device.upload(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0])?;
    /// let b = DeviceDense::try_new(b, 3, 2, Layout::RowMajor)?;
    /// let mut c = device.zeros_dense(2, 2, Layout::RowMajor)?;
    /// a.spmm(1.0, &b, 0.0, &mut c)?;
    /// assert_eq!(c.download()?, [201.0, 402.0, 30.0, 60.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B does not have one row per column of A, or C not the rows of A and the columns of B, or if a factor is not one
    /// element, or any of them is on another device; or if there is too little memory for the sums of block rows that are
    /// cut. Then nothing is written. If the device was lost.
    pub fn spmm<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        b: &DeviceDense<V>,
        beta: impl Into<Factor<'f, V>>,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        dense_with_numbers(self.device(), (alpha, beta), c, |alpha, beta, c| {
            check_dense(self.device(), ("B", b), (self.ncols(), b.ncols()))?;
            check_dense(self.device(), ("C", c), (self.nrows(), b.ncols()))?;
            check_countable("the columns of C", c.ncols())?;
            if c.nrows() == 0 || c.ncols() == 0 {
                return Ok(());
            }
            if let Some(arrays) = self.host_arrays() {
                let (strides, columns, leading_dimension) = (b.strides(), c.ncols(), c.leading_dimension());
                let by_columns = c.layout() == Layout::ColumnMajor;
                if let (Some(b), Some(c)) = (b.as_vec().host_slice(), c.as_mut_slice().host_slice_mut()) {
                    let b = cpu::Dense { values: b, strides };
                    let c = cpu::DenseMut { values: c, columns, by_columns, leading_dimension };
                    cpu::spmm_bsr(arrays, self.shape(), (alpha, b), (beta, c));
                }
                return Ok(());
            }
            self.launch_spmm((alpha, b), (beta, c))
        })
    }

    fn launch_spmm(
        &self,
        (alpha, b): (V, &DeviceDense<V>),
        (beta, c): (V, &mut DeviceDense<V>),
    ) -> Result<(), OpError> {
        let (pieces, columns) = (self.pieces(), c.ncols());
        let mut sums = self.device().uninitialized(pieces.count() * self.block_size() * columns)?;
        let items = pieces.count() + self.block_rows();
        let launch = self.device().kernel().warps(items * columns.div_ceil(WARP_SIZE as usize))?;
        let ((b_rows, b_columns), (c_rows, c_columns)) = (b.strides(), c.strides());
        let update = update(alpha, beta, c.as_mut_slice());
        let kernel = BsrSpmm {
            matrix: self.view(),
            b: b.as_vec().as_global(),
            update,
            pieces: pieces.view(&mut sums),
            b_row_stride: b_rows as u64,
            b_column_stride: b_columns as u64,
            c_row_stride: c_rows as u64,
            c_column_stride: c_columns as u64,
            rows: self.nrows() as u32,
            cols: self.ncols() as u32,
            columns: columns as u32,
        };
        // SAFETY: the views are of a valid matrix's arrays, of B and C, whose shapes were checked, and of as many sums for each row of
        // each piece as C has columns. All are on this device, and buffers are freed in the stream's order.
        unsafe {
            launch.launch(kernel)?;
            pieces.add_columns(&sums, (self.block_size(), self.nrows()), update, (columns, c.strides()))?;
        }
        Ok(())
    }
}
