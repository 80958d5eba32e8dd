//! Rows and columns of a matrix in another order, on its device.

use evenpath_kernels::GlobalPattern;
use evenpath_kernels::permute::CopyPermuted;

use super::chosen_columns::gather_values;
use super::listed_rows::listed_offsets;
use super::transpose::by_column;
use super::{DeviceCsr, DeviceRowOrder};
use crate::device::{DeviceVec, no_aligned_input};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::operand::check::check_countable;
use crate::operand::{OpError, Pairs};
use crate::sequence::sort;
use crate::{MatrixError, Offset, Storage};

impl<V: Storage, O: Offset> DeviceCsr<V, O> {
    /// Returns P·A·Pᵀ, in its own memory: row i and column i of the result are row and column `order[i]` of this square matrix. Later
    /// changes of this matrix's values do not affect it. Rows of the result are sorted by column; entries of the same row and column
    /// keep their order. For rows alone see [`select_rows`](Self::select_rows). [`Csr::permute`](crate::Csr::permute) does the same on
    /// the host.
    ///
    /// [`Csr::reverse_cuthill_mckee`](crate::Csr::reverse_cuthill_mckee) computes an order with a small bandwidth on the host, from the
    /// matrix before it is uploaded, or [downloaded](Self::download): upload the order, and apply it here.
    ///
    /// Takes temporary memory for eight bytes per nonzero, and that of
    /// [`sort::pairs_by_offsets`](crate::sort::pairs_by_offsets). Waits for the device.
    ///
    /// ```
    /// use evenpath::row_order::RowOrder;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let a = Csr::from_triplets(3, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0), (2, 2, 4.0)])?;
    /// let order = device.upload(&RowOrder::try_new(vec![2, 0, 1])?)?;
    /// let permuted = device.upload(&a)?.permute(&order)?;
    /// assert_eq!(permuted.download()?.to_dense()?, [4.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the order has another number of rows or is on another device, or there are 2³² nonzeros or more and
    /// the device is not the CPU. If this thread captures a graph, there is too little memory, or the device was lost.
    pub fn permute(&self, order: &DeviceRowOrder) -> Result<Self, OpError> {
        let device = self.device();
        device.refuse_in_graph("the rows and columns of a matrix are permuted")?;
        let (rows, cols) = self.shape();
        if rows != cols {
            return Err(MatrixError::NotSquare { rows, cols }.into());
        }
        order.check(device, rows)?;
        let (pattern, values) = (self.pattern(), self.values_now());
        if let Some(view) = pattern.host_view(&values) {
            return Ok(Self::adopt(device, view.permute(&order.download()?)?)?);
        }
        check_countable("a permutation of nonzeros", self.nnz())?;
        let (row_offsets, columns, sources) = permuted(pattern, order)?;
        let (columns, sources) =
            sort::pairs_by_valid_offsets(&row_offsets, Pairs::new(&columns, &sources), by_column(cols))?;
        // SAFETY: the sources are the indices of this matrix's nonzeros, each of which has a value.
        let values = unsafe { gather_values(&values, &sources) }?;
        let pattern = DevicePattern::known((rows, cols), row_offsets, columns, pattern.is_canonical());
        Ok(Self::from_valid(pattern, values))
    }
}

/// The row offsets and columns of the permuted matrix, not sorted, and the index of each of its nonzeros in the matrix.
#[expect(clippy::type_complexity)] // three arrays
fn permuted<O: Offset>(
    pattern: &DevicePattern<O>,
    order: &DeviceRowOrder,
) -> Result<(DeviceVec<O>, DeviceVec<u32>, DeviceVec<u32>), OpError> {
    let (row_offsets, nonzeros) = listed_offsets(pattern, order.order())?;
    let device = row_offsets.device();
    let (mut columns, mut sources) = (device.uninitialized(nonzeros)?, device.uninitialized(nonzeros)?);
    let view = GlobalPattern {
        row_offsets: row_offsets.as_global(),
        column_indices: no_aligned_input(),
        nonzeros: nonzeros as u64,
        rows: pattern.rows as u32,
    };
    let (tiles, launch) = PathTiles::of_view(device, view, device.kernel())?;
    let kernel = CopyPermuted {
        row_offsets: pattern.row_offsets.as_global(),
        order: order.order().as_global(),
        inverse: order.inverse().as_global(),
        permuted: view,
        tile_rows: tiles.rows.as_global(),
        columns: pattern.column_indices.as_global(),
        permuted_columns: columns.as_global_mut(),
        sources: sources.as_global_mut(),
    };
    // SAFETY: the tiles are those of the permuted matrix, of the kernel's length; its rows are as long as those of the matrix
    // that the order names, and the order and its inverse have an element per row and column. Buffers are freed in the
    // stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok((row_offsets, columns, sources))
}
