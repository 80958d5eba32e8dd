//! The diagonal of a matrix, and matrices of a diagonal.

use evenpath_kernels::entries::KeepDiagonal;

use super::DeviceCsr;
use crate::device::{Device, DeviceKind, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::matrix::check_dimensions;
use crate::operand::OpError;
use crate::operand::check::check_countable;
use crate::operation::Operator;
use crate::sequence::{reduce, vector};
use crate::{Offset, Value};

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Returns the diagonal: min(m, n) elements for a matrix of m rows and n columns, zero where no entry is stored, and
    /// the sum of duplicates. Runs in the order of the device's stream; the call does not wait.
    ///
    /// On a GPU it takes temporary memory for a value per nonzero, so that rows of any length are equal work.
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
    /// If there are 2³² nonzeros or more and the device is not the CPU, there is too little memory, or the device was
    /// lost.
    pub fn diagonal(&self) -> Result<DeviceVec<V>, OpError> {
        let (device, pattern, values) = (self.device(), self.pattern(), self.values_now());
        let mut diagonal = device.uninitialized(self.nrows())?;
        if device.kind() == DeviceKind::Cpu {
            if let (Some(view), Some(diagonal)) = (pattern.host_view(&values), diagonal.host_slice_mut()) {
                view.write_diagonal(diagonal);
            }
        } else {
            let mut own = values.copied()?;
            let (tiles, launch) = PathTiles::find(self, device.kernel())?;
            let kernel = KeepDiagonal {
                pattern: pattern.view(),
                values: own.as_global_mut(),
                tile_rows: tiles.rows.as_global(),
            };
            // SAFETY: the tiles are the matrix's, of the kernel's length, and there is a value per nonzero; buffers are
            // freed in the stream's order.
            unsafe { launch.launch(kernel) }?;
            reduce::by_valid_offsets_into(&pattern.row_offsets, &own, Operator::Sum, &mut diagonal)?;
        }
        diagonal.truncate(self.nrows().min(self.ncols()));
        Ok(diagonal)
    }
}

impl<V: Value> DeviceCsr<V> {
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
