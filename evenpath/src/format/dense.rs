use std::fmt;

use evenpath_simt::{Aligned16, GlobalMut};

use crate::Entry;
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec};
use crate::matrix::MatrixError;
use crate::names::named;
use crate::operand::OpError;
use crate::operand::check::check_shape;

/// Memory layout of a dense matrix.
///
/// ```
/// use evenpath::{Device, Layout};
///
/// let device = Device::cpu();
/// let by_rows = device.zeros_dense::<f64>(2, 3, Layout::RowMajor)?;
/// let by_columns = device.zeros_dense::<f64>(2, 3, Layout::ColumnMajor)?;
/// assert_eq!((by_rows.leading_dimension(), by_columns.leading_dimension()), (3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// `row-major`: row after row.
    #[default]
    RowMajor,
    /// `column-major`: column after column.
    ColumnMajor,
}

impl Layout {
    /// Length and number of contiguous lines: rows or columns.
    fn line(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Self::RowMajor => (cols, rows),
            Self::ColumnMajor => (rows, cols),
        }
    }

    /// Number of elements from the first to the last of a matrix, including gaps, if it does not overflow.
    pub(crate) fn elements(self, rows: usize, cols: usize, leading_dimension: usize) -> Option<usize> {
        let (line, lines) = self.line(rows, cols);
        match lines.checked_sub(1) {
            Some(full) if line > 0 => full.checked_mul(leading_dimension)?.checked_add(line),
            _ => Some(0),
        }
    }
}

named! {
    Layout, "layout":
    RowMajor = "row-major",
    ColumnMajor = "column-major",
}

/// A dense matrix in a device's memory: a [`DeviceVec`] and its layout.
///
/// ```
/// use evenpath::{Device, DeviceDense, Layout};
///
/// let device = Device::cpu();
/// // [1 2 3]
/// // [4 5 6]
/// let values = device.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let matrix = DeviceDense::try_new(values, 2, 3, Layout::RowMajor)?;
/// assert_eq!(matrix.leading_dimension(), 3);
/// let second_row = matrix.as_vec().slice(3..)?;
/// assert_eq!(second_row.download()?, [4.0, 5.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceDense<T: Entry> {
    vec: DeviceVec<T>,
    rows: usize,
    cols: usize,
    layout: Layout,
    leading_dimension: usize,
}

/// A vector that cannot hold a matrix of the requested shape: the reason, and the vector.
///
/// ```
/// use evenpath::{Device, DeviceDense, Layout};
///
/// let values = Device::cpu().upload(&[1.0, 2.0, 3.0])?;
/// let refused = DeviceDense::try_new(values, 2, 2, Layout::RowMajor).unwrap_err();
/// assert_eq!(refused.to_string(), "3 elements cannot hold a 2 x 2 matrix with leading dimension 2");
/// let matrix = DeviceDense::try_new(refused.into_vec(), 1, 3, Layout::RowMajor)?; // the vector came back
/// assert_eq!(matrix.download()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InvalidDense<T: Entry> {
    error: MatrixError,
    vec: DeviceVec<T>,
}

impl Device {
    /// Creates a dense matrix of zeros, of `rows` rows and `cols` columns without gaps.
    ///
    /// # Errors
    ///
    /// If there is too little memory, on the device or within its limit, or the device was lost.
    pub fn zeros_dense<T: Entry>(
        &self,
        rows: usize,
        cols: usize,
        layout: Layout,
    ) -> Result<DeviceDense<T>, DeviceError> {
        let Some(len) = rows.checked_mul(cols) else {
            return Err(DeviceError::TooLarge { elements: usize::MAX, element_bytes: size_of::<T>() });
        };
        let (leading_dimension, _) = layout.line(rows, cols);
        Ok(DeviceDense { vec: self.zeros(len)?, rows, cols, layout, leading_dimension })
    }
}

impl<T: Entry> DeviceDense<T> {
    /// Creates a matrix of `rows` rows and `cols` columns without gaps from a vector of `rows * cols`
    /// elements.
    ///
    /// ```
    /// use evenpath::{Device, DeviceDense, Layout};
    ///
    /// let values = Device::cpu().upload(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])?;
    /// // [1 2 3]
    /// // [4 5 6]
    /// let matrix = DeviceDense::try_new(values, 2, 3, Layout::ColumnMajor)?;
    /// assert_eq!(matrix.leading_dimension(), 2);
    ///
    /// let refused = DeviceDense::try_new(matrix.into_vec(), 2, 4, Layout::ColumnMajor).unwrap_err();
    /// assert_eq!(refused.to_string(), "6 elements cannot hold a 2 x 4 matrix with leading dimension 2");
    /// assert_eq!(refused.into_vec().len(), 6); // the vector comes back
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it does not have `rows * cols` elements; the error holds the vector.
    pub fn try_new(
        vec: DeviceVec<T>,
        rows: usize,
        cols: usize,
        layout: Layout,
    ) -> Result<Self, InvalidDense<T>> {
        let (leading_dimension, _) = layout.line(rows, cols);
        let has_more = rows.checked_mul(cols).is_some_and(|needed| needed < vec.len());
        let matrix = Self::try_with_leading_dimension(vec, rows, cols, layout, leading_dimension)?;
        if has_more {
            let vec = matrix.vec;
            let error = MatrixError::DenseLength { rows, cols, leading_dimension, len: vec.len() };
            return Err(InvalidDense { error, vec });
        }
        Ok(matrix)
    }

    /// Creates a matrix of `rows` rows and `cols` columns from a vector, with rows, or columns if
    /// column-major, that start `leading_dimension` elements apart. Operations neither read nor write the
    /// gaps between them, or the elements after the last.
    ///
    /// # Errors
    ///
    /// If the leading dimension is less than the length of a row, or column, or the vector is too short; the
    /// error holds the vector.
    pub fn try_with_leading_dimension(
        vec: DeviceVec<T>,
        rows: usize,
        cols: usize,
        layout: Layout,
        leading_dimension: usize,
    ) -> Result<Self, InvalidDense<T>> {
        let (line, _) = layout.line(rows, cols);
        if leading_dimension < line {
            let error = MatrixError::LeadingDimension { rows, cols, leading_dimension, needed: line };
            return Err(InvalidDense { error, vec });
        }
        let needed = layout.elements(rows, cols, leading_dimension);
        if needed.is_none_or(|needed| vec.len() < needed) {
            let error = MatrixError::DenseLength { rows, cols, leading_dimension, len: vec.len() };
            return Err(InvalidDense { error, vec });
        }
        Ok(Self { vec, rows, cols, layout, leading_dimension })
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// The memory layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Distance in elements between the starts of consecutive rows, or of columns if column-major.
    pub fn leading_dimension(&self) -> usize {
        self.leading_dimension
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.vec.device()
    }

    /// The elements in the order of memory.
    pub fn as_vec(&self) -> &DeviceVec<T> {
        &self.vec
    }

    /// Replaces all elements, in the order of memory, including gaps: `values` has as many elements as
    /// [`as_vec`](Self::as_vec).
    ///
    /// ```
    /// use evenpath::{Device, DeviceDense, Layout};
    ///
    /// let memory = Device::cpu().zeros(5)?;
    /// let mut matrix = DeviceDense::try_with_leading_dimension(memory, 2, 2, Layout::RowMajor, 3)?;
    /// matrix.copy_from_slice(&[1.0, 2.0, f64::NAN, 3.0, 4.0])?; // the gap after the first row, too
    /// assert_eq!(matrix.as_vec().get(3)?, 3.0);
    /// assert!(matrix.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceSlice::copy_from_slice`].
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.vec.copy_from_slice(values)
    }

    /// Copies all elements to the host, in the order of memory, including gaps.
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceSlice::download`].
    pub fn download(&self) -> Result<Vec<T>, DeviceError> {
        self.vec.download()
    }

    /// Returns the underlying vector.
    pub fn into_vec(self) -> DeviceVec<T> {
        self.vec
    }

    /// The elements in the order of memory, including gaps, mutably.
    pub fn as_mut_slice(&mut self) -> &mut DeviceSlice<T> {
        &mut self.vec
    }

    /// The elements in the order of memory, including gaps, for kernels that store several elements at once.
    pub(crate) fn as_aligned_mut(&mut self) -> GlobalMut<T, Aligned16> {
        self.vec.as_aligned_mut()
    }

    /// Number of elements in a row or column, whichever is contiguous.
    pub(crate) fn line_len(&self) -> usize {
        self.layout.line(self.rows, self.cols).0
    }

    /// Distance in elements between consecutive rows, and between consecutive columns.
    pub(crate) fn strides(&self) -> (usize, usize) {
        match self.layout {
            Layout::RowMajor => (self.leading_dimension, 1),
            Layout::ColumnMajor => (1, self.leading_dimension),
        }
    }
}

impl<T: Entry> fmt::Debug for DeviceDense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cols, layout, .. } = self;
        write!(f, "DeviceDense<{}>({layout} {rows} x {cols}, on {})", T::NAME, self.device())
    }
}

impl<T: Entry> InvalidDense<T> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// The vector.
    pub fn into_vec(self) -> DeviceVec<T> {
        self.vec
    }
}

impl<T: Entry> fmt::Display for InvalidDense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

evenpath_simt::debug_as_message!(InvalidDense<T: Entry>);

impl<T: Entry> std::error::Error for InvalidDense<T> {}

impl<T: Entry> From<InvalidDense<T>> for MatrixError {
    fn from(refused: InvalidDense<T>) -> Self {
        refused.error
    }
}

/// Checks that a matrix, named in errors, is on `device` and has the required shape.
pub(crate) fn check_dense<T: Entry>(
    device: &Device,
    (operand, matrix): (&'static str, &DeviceDense<T>),
    needed: (usize, usize),
) -> Result<(), OpError> {
    device.check_same(matrix.device())?;
    check_shape(operand, (matrix.rows, matrix.cols), needed)
}
