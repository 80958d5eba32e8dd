//! Kronecker products on a device.

use evenpath_kernels::GlobalPattern;
use evenpath_kernels::kronecker::{KroneckerEntries, KroneckerOffsets, KroneckerRows};

use super::DeviceCsr;
use crate::device::{DeviceVec, no_aligned_input};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::matrix::KroneckerShape;
use crate::operand::OpError;
use crate::{Offset, Storage};

impl<V: Storage, O: Offset> DeviceCsr<V, O> {
    /// Returns the Kronecker product A ⊗ B: each entry of A replaced by that entry times B. For A of m × n and B of p × q, it
    /// is m·p × n·q, and entry (i, j) of A and entry (k, l) of B give entry (i·p + k, j·q + l). It is canonical if A and B are.
    ///
    /// Writes each entry of the product once, and counts none: the number is known. Products of 16-bit values are rounded once.
    /// Runs in the order of the device's stream; the call does not wait. [`Csr::kronecker`](crate::Csr::kronecker) does the same
    /// on the host.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 10.0)])?)?;
    /// let b = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?)?;
    /// let product = a.kronecker(&b)?.download()?;
    /// assert_eq!(product.to_dense()?, [0.0, 2.0, 0.0, 20.0, 3.0, 0.0, 30.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the product exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or has more nonzeros than `O` counts. If B is on another
    /// device, this thread captures a graph, there is too little memory, or the device was lost.
    pub fn kronecker(&self, b: &Self) -> Result<Self, OpError> {
        let device = self.device();
        device.check_same(b.device())?;
        device.refuse_in_graph("a Kronecker product has a new pattern")?;
        let (values, b_values) = (self.values_now(), b.values_now());
        let shape = KroneckerShape::new::<O>((self.shape(), self.nnz()), (b.shape(), b.nnz()))?;
        let views = (self.pattern().host_view(&values), b.pattern().host_view(&b_values));
        if let (Some(a), Some(b)) = views {
            return Ok(Self::adopt(device, a.kronecker(b)?)?);
        }
        let (mut columns, mut products) =
            (device.uninitialized(shape.nnz)?, device.uninitialized(shape.nnz)?);
        let row_offsets = self.product_offsets(b, &shape)?;
        let view = GlobalPattern {
            row_offsets: row_offsets.as_global(),
            column_indices: no_aligned_input(),
            nonzeros: shape.nnz as u64,
            rows: shape.rows as u32,
        };
        let (tiles, launch) = PathTiles::of_view(device, view, device.kernel())?;
        let kernel = KroneckerEntries::<V, O> {
            factors: self.offsets_with(b),
            a: self.pattern().with_values(&values),
            b: b.pattern().with_values(&b_values),
            b_cols: b.ncols() as u32,
            product: view,
            tile_rows: tiles.rows.as_global(),
            columns: columns.as_global_mut(),
            values: products.as_global_mut(),
        };
        // SAFETY: the tiles are the product's, of the kernel's length; it has a column and a value per nonzero, and its
        // offsets are those of these factors. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let is_canonical = self.pattern().is_canonical() && b.pattern().is_canonical();
        let pattern = DevicePattern::known((shape.rows, shape.cols), row_offsets, columns, is_canonical);
        Ok(Self::from_valid(pattern, products))
    }

    /// The row offsets of the product.
    fn product_offsets(&self, b: &Self, shape: &KroneckerShape) -> Result<DeviceVec<O>, OpError> {
        let device = self.device();
        let mut row_offsets = device.uninitialized(shape.rows + 1)?;
        let launch = device.kernel().threads(shape.rows + 1)?;
        let kernel = KroneckerRows {
            factors: self.offsets_with(b),
            row_offsets: row_offsets.as_global_mut(),
            rows: shape.rows as u32,
            nonzeros: shape.nnz as u64,
        };
        // SAFETY: there are `rows` + 1 offsets, and a row of A and of B for each row; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(row_offsets)
    }

    fn offsets_with(&self, b: &Self) -> KroneckerOffsets<O> {
        KroneckerOffsets {
            a_offsets: self.pattern().row_offsets.as_global(),
            b_offsets: b.pattern().row_offsets.as_global(),
            b_nonzeros: b.nnz() as u64,
            b_rows: b.nrows() as u32,
        }
    }
}
