//! Inverses of the blocks on the diagonal.

use evenpath_kernels::factorization::InvertBlocks;

use crate::format::DeviceBsr;
use crate::op::triangular::entries::first_row;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::{Offset, Value, cpu};

impl<V: Value, O: Offset> DeviceBsr<V, O> {
    /// Inverts the blocks on the diagonal of this n × n matrix: the block Jacobi preconditioner, an n × n matrix with these blocks alone, to
    /// be multiplied by vectors. Duplicates are added up first, and a block that is not stored is singular.
    ///
    /// Each block is inverted by elimination with pivots of the largest magnitude in their column (Golub, Van Loan, *Matrix
    /// Computations*, 2013, section 3.4), with the same bits on every device. Waits for the device.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// // [0 2 | .]
    /// // [1 . | 7]
    /// // [. . | 4]
    /// let a = Csr::from_triplets(3, 3, [(0, 1, 2.0), (1, 0, 1.0), (1, 2, 7.0), (2, 2, 4.0)])?;
    /// let device = Device::best()?;
    /// let inverses = device.upload(&a.to_bsr(2)?)?.invert_diagonal_blocks()?;
    /// let (x, mut y) = (device.upload(&[4.0, 3.0, 8.0])?, device.zeros(3)?);
    /// inverses.spmv(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [3.0, 2.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or a block is singular: the error names the first row for which there is no pivot. If this thread
    /// captures a graph, there is too little memory, or the device was lost.
    pub fn invert_diagonal_blocks(&self) -> Result<Self, OpError> {
        let device = self.device();
        device.check_threads()?;
        device.refuse_in_graph("the host waits for the row of a pivot")?;
        let (rows, size) = (self.nrows(), self.block_size());
        check_shape("A", self.shape(), (rows, rows))?;
        let mut blocks = self.diagonal_blocks()?;
        let row = if let Some(blocks) = blocks.host_slice_mut() {
            cpu::invert_blocks(blocks, size, rows)
        } else {
            let lanes = device.kernel().threads(self.block_rows() * size.next_power_of_two())?;
            let mut found = device.zeros(1)?;
            let kernel = InvertBlocks {
                blocks: blocks.as_global_mut(),
                count: self.block_rows() as u32,
                size: size as u32,
                rows: rows as u32,
                found: found.as_global_mut(),
            };
            // SAFETY: there are the values of `count` blocks, one word that is zero, and a lane for each column; buffers are freed in
            // the stream's order.
            unsafe { lanes.launch(kernel) }?;
            first_row(found.get(0)?)
        };
        match row {
            Some(row) => Err(OpError::Singular { row }),
            None => Ok(Self::block_diagonal(rows, size, blocks)?),
        }
    }
}
