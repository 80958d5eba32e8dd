//! The diagonal of a matrix, and matrices of a diagonal.

use evenpath_kernels::diagonal::{FindDiagonal, GatherDiagonal};

use super::DeviceCsr;
use crate::device::{Device, DeviceKind, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::matrix::check_dimensions;
use crate::operand::OpError;
use crate::operand::check::check_countable;
use crate::sequence::vector;
use crate::{Offset, Scalar};

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Returns the diagonal: min(m, n) elements for a matrix of m rows and n columns, zero where no entry is stored, and
    /// the sum of duplicates in their order. Runs in the order of the device's stream; the call does not wait.
    ///
    /// On a GPU it reads the columns of all entries and the values of those on the diagonal, and takes temporary memory for 16 bytes
    /// per element. Where duplicates are far apart in a row, one thread adds them up.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 4.0), (0, 2, 1.0), (1, 0, 2.0)])?;
    /// assert_eq!(Device::best()?.upload(&a)?.diagonal()?.download()?, [4.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub fn diagonal(&self) -> Result<DeviceVec<V>, OpError> {
        let (device, pattern, values) = (self.device(), self.pattern(), self.values_now());
        let len = self.nrows().min(self.ncols());
        if device.kind() == DeviceKind::Cpu {
            let mut diagonal = device.uninitialized(self.nrows())?;
            if let (Some(view), Some(diagonal)) = (pattern.host_view(&values), diagonal.host_slice_mut()) {
                view.write_diagonal(diagonal);
            }
            diagonal.truncate(len);
            return Ok(diagonal);
        }
        let (mut firsts, mut lasts) = (device.zeros(len)?, device.zeros(len)?);
        let (tiles, launch) = PathTiles::find(self, device.kernel())?;
        let find = FindDiagonal {
            pattern: pattern.view(),
            tile_rows: tiles.rows.as_global(),
            firsts: firsts.as_global_mut(),
            lasts: lasts.as_global_mut(),
        };
        // SAFETY: the tiles are the matrix's, of the kernel's length, and there is an element for each number of a row that is one of a
        // column; buffers are freed in the stream's order.
        unsafe { launch.launch(find) }?;
        let mut diagonal = device.uninitialized(len)?;
        let launch = device.kernel().threads(len)?;
        let gather = GatherDiagonal {
            columns: pattern.column_indices.as_global(),
            values: values.as_global(),
            firsts: firsts.as_global(),
            lasts: lasts.as_global(),
            diagonal: diagonal.as_global_mut(),
            len: len as u32,
        };
        // SAFETY: there are `len` elements each, whose indices are those of nonzeros; buffers are freed in the stream's order.
        unsafe { launch.launch(gather) }?;
        Ok(diagonal)
    }
}

impl<V: Scalar> DeviceCsr<V> {
    /// Creates the identity matrix of n rows and columns.
    ///
    /// # Errors
    ///
    /// If `n` exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), there is too little memory, or the device was
    /// lost.
    pub fn identity(device: &Device, n: usize) -> Result<Self, OpError> {
        let pattern = diagonal_pattern(device, n)?;
        let mut ones = device.uninitialized(n)?;
        vector::fill(V::ONE, &mut ones)?;
        Ok(Self::from_valid(pattern, ones))
    }

    /// Creates a matrix of n rows and columns with the n elements of `diagonal` on the diagonal, zeros among them, and
    /// no other entries.
    ///
    /// ```
    /// use evenpath::{Device, DeviceCsr};
    ///
    /// let device = Device::best()?;
    /// let a = DeviceCsr::from_diagonal(&device.upload(&[2.0, 3.0])?)?;
    /// let b = a.spadd(1.0, &DeviceCsr::identity(&device, 2)?, 10.0)?;
    /// assert_eq!(b.download()?.to_dense()?, [12.0, 0.0, 0.0, 13.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more elements than [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), there is too little memory, or
    /// the device was lost.
    pub fn from_diagonal(diagonal: &DeviceSlice<V>) -> Result<Self, OpError> {
        let device = diagonal.device();
        let pattern = diagonal_pattern(device, diagonal.len())?;
        let mut values = device.uninitialized(diagonal.len())?;
        values.copy_from(diagonal)?;
        Ok(Self::from_valid(pattern, values))
    }
}

/// The pattern of a diagonal matrix.
fn diagonal_pattern(device: &Device, n: usize) -> Result<DevicePattern<u32>, OpError> {
    check_dimensions(n, n)?;
    check_countable("a diagonal matrix", n + 1)?;
    let (row_offsets, columns) = (vector::iota(device, n as u32 + 1)?, vector::iota(device, n as u32)?);
    Ok(DevicePattern::canonical(n, n, row_offsets, columns))
}
