//! Transposition on the device.

use evenpath_kernels::complex::GatherElements;
use evenpath_kernels::spmv::{ColumnOffsets, MergePartition, RowIndices};
use evenpath_kernels::vector::{Gather, GatherIndices, Iota};

use super::DeviceCsr;
use crate::device::{DeviceSlice, DeviceVec, Kernels};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::operand::{OpError, Pairs};
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::sort::{self, SortOptions};
use crate::sequence::vector;
use crate::{Offset, Scalar};

/// A transpose, and the permutation of its values.
pub(crate) struct Transpose<V: Scalar, O: Offset> {
    pub(crate) matrix: DeviceCsr<V, O>,
    /// For each nonzero of the transpose, its index in the matrix.
    pub(crate) permutation: DeviceVec<u32>,
}

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Returns Aᵀ, for A of m rows and n columns a matrix of n rows and m columns, in its own memory: later
    /// changes of A's values do not affect it. Its rows are sorted; duplicates keep their order, and there
    /// are none if A has none.
    ///
    /// On a GPU the indices of the nonzeros are sorted by column (a stable radix sort of the bits that
    /// columns have), which temporarily takes 24 bytes per nonzero beside the result.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 2, 3.0)])?;
    /// let transposed = Device::best()?.upload(&a)?.transpose()?;
    /// assert_eq!(transposed.shape(), (3, 2));
    /// assert_eq!(transposed.download()?.to_dense()?, [1.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are 2³² nonzeros or more and the device is not the CPU, there is too little memory, or the
    /// device was lost.
    pub fn transpose(&self) -> Result<Self, OpError> {
        self.device().refuse_in_graph("a matrix is transposed")?;
        let values = self.values_now();
        if let Some(view) = self.pattern().host_view(&values) {
            return Ok(Self::adopt(self.device(), view.transpose()?)?);
        }
        Ok(transpose(self, &values)?.matrix)
    }

    /// Returns Aᴴ, the conjugate transpose, for A of m rows and n columns a matrix of n rows and m columns, in its own memory. Otherwise
    /// like [`transpose`](Self::transpose), which it is for real values.
    ///
    /// ```
    /// use evenpath::{Complex, Csr, Device};
    ///
    /// let i = Complex::new(0.0, 1.0);
    /// let a = Device::best()?.upload(&Csr::from_triplets(1, 2, [(0, 0, i), (0, 1, 2.0 + i)])?)?;
    /// assert_eq!(a.conjugate_transpose()?.download()?.values(), [-i, 2.0 - i]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`transpose`](Self::transpose).
    pub fn conjugate_transpose(&self) -> Result<Self, OpError> {
        let transposed = self.transpose()?;
        transposed.conjugate()?;
        Ok(transposed)
    }
}

/// Computes the transpose, with `values` in the order of the matrix's nonzeros, on a device with kernels.
pub(crate) fn transpose<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    values: &DeviceSlice<V>,
) -> Result<Transpose<V, O>, OpError> {
    let nonzeros = check_countable(matrix)?;
    matrix.device().prepare(kernels::<V, O>)?;
    let (device, pattern) = (matrix.device(), matrix.pattern());
    let numbers = vector::iota(device, nonzeros)?;
    let (columns, permutation) =
        sort::pairs(Pairs::new(&pattern.column_indices, &numbers), by_column(pattern.cols))?;
    drop(numbers);
    let row_offsets = column_offsets(&columns, pattern.cols)?;
    drop(columns);
    let row_indices = row_indices(matrix)?;
    // SAFETY: the permutation's elements are the indices of the nonzeros, of which there are as many row
    // indices and values; all are on this device.
    let (column_indices, values) = unsafe {
        (vector::gather_indices(&row_indices, &permutation)?, vector::gather(values, &permutation)?)
    };
    let pattern = DevicePattern::new(pattern.cols, pattern.rows, row_offsets, column_indices);
    Ok(Transpose { matrix: DeviceCsr::from_valid(pattern, values), permutation })
}

/// The kernels of a transposition, to be compiled ahead.
fn kernels<V: Scalar, O: Offset>() -> Kernels {
    pair_kernels::<u32, u32>()
        .and::<Iota>()
        .and::<ColumnOffsets<O>>()
        .and::<RowIndices<O>>()
        .and::<MergePartition<O>>()
        .and::<GatherIndices>()
        .and::<Gather<V>>()
        .and::<GatherElements<V>>()
}

/// Returns the number of nonzeros, which must fit into 32 bits.
pub(crate) fn check_countable<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<u32, OpError> {
    let len = matrix.nnz();
    let too_long = OpError::TooLong { what: "sorting nonzeros by column", len, limit: u32::MAX as usize };
    u32::try_from(len).map_err(|_| too_long)
}

/// Options to sort column indices below `cols`.
pub(crate) fn by_column(cols: usize) -> SortOptions {
    SortOptions::default().with_bits(0..usize::BITS - cols.saturating_sub(1).leading_zeros())
}

/// Start of each column in sorted columns, or of each row in sorted rows.
pub(crate) fn column_offsets<O: Offset>(
    column_indices: &DeviceSlice<u32>,
    cols: usize,
) -> Result<DeviceVec<O>, OpError> {
    let device = column_indices.device();
    let launch = device.kernel().threads(cols + 1)?;
    let mut column_offsets = device.uninitialized(cols + 1)?;
    let kernel = ColumnOffsets {
        column_indices: column_indices.as_global(),
        column_offsets: column_offsets.as_global_mut(),
        cols: cols as u32,
        nonzeros: column_indices.len() as u64,
    };
    // SAFETY: there are `cols` + 1 offsets and as many columns as nonzeros; `O` holds the number of nonzeros, because it
    // does so in the matrix's own row offsets.
    unsafe { launch.launch(kernel) }?;
    Ok(column_offsets)
}

/// The row of each nonzero.
pub(crate) fn row_indices<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<DeviceVec<u32>, OpError> {
    let device = matrix.device();
    let (tiles, launch) = PathTiles::find(matrix, device.kernel())?;
    let mut row_indices = device.uninitialized(matrix.nnz())?;
    let kernel = RowIndices {
        pattern: matrix.pattern().view(),
        row_indices: row_indices.as_global_mut(),
        tile_rows: tiles.rows.as_global(),
    };
    // SAFETY: the tiles are the matrix's, of the kernel's length; there is one row index per nonzero.
    unsafe { launch.launch(kernel) }?;
    Ok(row_indices)
}
