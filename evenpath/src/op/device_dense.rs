use std::fmt;
use std::str::FromStr;

use crate::Storage;
use crate::device::{Device, DeviceError, DeviceVec};

/// How a dense matrix lies in memory.
///
/// ```
/// use evenpath::{Device, DeviceDense, Layout};
///
/// let by_columns = Device::cpu().upload_slice(&[1.0, 3.0, 2.0, 4.0])?; // 1 2, 3 4
/// let b = DeviceDense::try_new(by_columns, 2, 2, Layout::ColumnMajor)?;
/// assert_eq!((b.layout(), b.leading_dimension()), (Layout::ColumnMajor, 2));
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
    /// The length of a line and the number of lines, a line being what lies together: a row or a column.
    fn line(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Self::RowMajor => (cols, rows),
            Self::ColumnMajor => (rows, cols),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::RowMajor => "row-major",
            Self::ColumnMajor => "column-major",
        })
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "row-major" => Ok(Self::RowMajor),
            "column-major" => Ok(Self::ColumnMajor),
            _ => Err(format!("no layout is called `{text}`; there are row-major, column-major")),
        }
    }
}

/// A dense matrix in a device's memory: a [`DeviceVec`] and how the matrix lies in it.
///
/// ```
/// use evenpath::{Device, DeviceDense, Layout};
///
/// let device = Device::cpu();
/// // [1 2 3]
/// // [4 5 6]
/// let values = device.upload_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let matrix = DeviceDense::try_new(values, 2, 3, Layout::RowMajor)?;
/// assert_eq!((matrix.rows(), matrix.cols(), matrix.leading_dimension()), (2, 3, 3));
///
/// // A refusal says what is wrong and gives the vector back.
/// let refused = DeviceDense::try_new(matrix.into_vec(), 2, 4, Layout::RowMajor).unwrap_err();
/// assert_eq!(refused.to_string(), "6 elements for a row-major 2 x 4 matrix of leading dimension 4, which needs 8");
/// assert_eq!(refused.into_vec().len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceDense<T: Storage> {
    vec: DeviceVec<T>,
    rows: usize,
    cols: usize,
    layout: Layout,
    leading_dimension: usize,
}

/// A vector that is no matrix of the shape asked for: what is wrong, and the vector.
///
/// ```
/// use evenpath::{Device, DeviceDense, Layout};
///
/// let values = Device::cpu().upload_slice(&[1.0, 2.0, 3.0])?;
/// let refused = DeviceDense::try_new(values, 2, 2, Layout::RowMajor).unwrap_err();
/// println!("{refused}");
/// assert_eq!(refused.into_vec().to_vec()?, [1.0, 2.0, 3.0]); // they come back
/// # Ok::<(), evenpath::DeviceError>(())
/// ```
pub struct InvalidDense<T: Storage> {
    message: String,
    vec: DeviceVec<T>,
}

impl Device {
    /// A dense matrix of zeros, without gaps.
    ///
    /// # Errors
    ///
    /// If there is no memory for it, within the device or its limit, or the device was lost.
    pub fn zeros_dense<T: Storage>(
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

impl<T: Storage> DeviceDense<T> {
    /// Takes a vector as a `rows` x `cols` matrix without gaps.
    ///
    /// # Errors
    ///
    /// If it has not `rows * cols` elements; the error holds the vector.
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
            let message = format!("{} elements for a {rows} x {cols} matrix", vec.len());
            return Err(InvalidDense { message, vec });
        }
        Ok(matrix)
    }

    /// Takes a vector as a `rows` x `cols` matrix whose rows, or columns where these lie together, begin
    /// `leading_dimension` elements apart. What lies between them, and behind the last, belongs to nobody: operations
    /// neither read nor write it.
    ///
    /// # Errors
    ///
    /// If the leading dimension is less than the length of a row, or column, or the vector ends before the matrix does;
    /// the error holds the vector.
    pub fn try_with_leading_dimension(
        vec: DeviceVec<T>,
        rows: usize,
        cols: usize,
        layout: Layout,
        leading_dimension: usize,
    ) -> Result<Self, InvalidDense<T>> {
        let (line, lines) = layout.line(rows, cols);
        if leading_dimension < line {
            let message = format!(
                "leading dimension {leading_dimension} of a {layout} {rows} x {cols} matrix, which needs {line}"
            );
            return Err(InvalidDense { message, vec });
        }
        let needed = match lines.checked_sub(1) {
            Some(full) if line > 0 => {
                full.checked_mul(leading_dimension).and_then(|len| len.checked_add(line))
            }
            _ => Some(0),
        };
        if needed.is_none_or(|needed| vec.len() < needed) {
            let needed =
                needed.map_or_else(|| "more than can be addressed".into(), |needed| needed.to_string());
            let message = format!(
                "{} elements for a {layout} {rows} x {cols} matrix of leading dimension {leading_dimension}, which needs {needed}",
                vec.len()
            );
            return Err(InvalidDense { message, vec });
        }
        Ok(Self { vec, rows, cols, layout, leading_dimension })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How it lies in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Elements from the beginning of a row to that of the next, or of a column where columns lie together.
    pub fn leading_dimension(&self) -> usize {
        self.leading_dimension
    }

    /// The device whose memory it is in.
    pub fn device(&self) -> &Device {
        self.vec.device()
    }

    /// The elements in the order of memory.
    pub fn as_vec(&self) -> &DeviceVec<T> {
        &self.vec
    }

    /// Replaces all elements, in the order of memory, gaps included.
    ///
    /// # Errors
    ///
    /// As for [`DeviceVec::copy_from_slice`].
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.vec.copy_from_slice(values)
    }

    /// The vector that it was made of.
    pub fn into_vec(self) -> DeviceVec<T> {
        self.vec
    }

    pub(super) fn vec_mut(&mut self) -> &mut DeviceVec<T> {
        &mut self.vec
    }

    /// Elements from a row to the next, and from a column to the next.
    pub(super) fn strides(&self) -> (usize, usize) {
        match self.layout {
            Layout::RowMajor => (self.leading_dimension, 1),
            Layout::ColumnMajor => (1, self.leading_dimension),
        }
    }
}

impl<T: Storage> fmt::Debug for DeviceDense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cols, layout, .. } = self;
        write!(f, "DeviceDense<{}>({layout} {rows} x {cols}, on {})", T::NAME, self.device())
    }
}

impl<T: Storage> InvalidDense<T> {
    /// The vector.
    pub fn into_vec(self) -> DeviceVec<T> {
        self.vec
    }
}

impl<T: Storage> fmt::Display for InvalidDense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<T: Storage> fmt::Debug for InvalidDense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InvalidDense({}, {:?})", self.message, self.vec)
    }
}

impl<T: Storage> std::error::Error for InvalidDense<T> {}
