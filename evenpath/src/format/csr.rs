use std::fmt;
use std::sync::{Arc, OnceLock};

use evenpath_simt::GlobalMut;

use super::values::{MatrixValues, ValuesNow};
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Upload};
use crate::matrix::{Csr, CsrView};
use crate::operand::OpError;
use crate::operand::check::check_len;
use crate::{Entry, Offset};

/// A CSR matrix in a device's memory, uploaded by [`Device::upload`].
///
/// The pattern never changes; [`set_values`](Self::set_values) replaces the values, also for existing plans.
/// Clones share the memory.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 2, 1.0), (1, 0, 2.0)])?;
/// let a = Device::best()?.upload(&a)?;
/// a.set_values(&[3.0, 4.0])?; // the pattern stays
/// let sum = a.spadd(1.0, &a, 10.0)?; // A + 10 A
/// assert_eq!(sum.download()?.to_dense()?, [0.0, 0.0, 33.0, 44.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceCsr<V: Entry, O: Offset = u32> {
    pattern: Arc<DevicePattern<O>>,
    values: Arc<MatrixValues<V>>,
}

/// Positions of the nonzeros. The arrays are those of a valid matrix.
pub(crate) struct DevicePattern<O: Offset> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_offsets: DeviceVec<O>,
    pub(crate) column_indices: DeviceVec<u32>,
    /// Set once the columns of every row are known to increase.
    pub(crate) canonical: OnceLock<()>,
}

impl<V: Entry, O: Offset> Upload for Csr<V, O> {
    type OnDevice = DeviceCsr<V, O>;

    fn upload_to(&self, device: &Device) -> Result<DeviceCsr<V, O>, DeviceError> {
        let row_offsets = device.upload(self.row_offsets())?;
        let column_indices = device.upload(self.column_indices())?;
        let values = device.upload(self.values())?;
        let pattern = DevicePattern::new(self.nrows(), self.ncols(), row_offsets, column_indices);
        Ok(DeviceCsr::from_valid(pattern, values))
    }
}

impl<V: Entry, O: Offset> DeviceCsr<V, O> {
    /// Makes a matrix of the arrays of one in host memory: on the CPU without copying them.
    pub(crate) fn adopt(device: &Device, matrix: Csr<V, O>) -> Result<Self, DeviceError> {
        let (rows, cols) = matrix.shape();
        let (row_offsets, column_indices, values) = matrix.into_parts();
        let (row_offsets, column_indices) = (device.adopt(row_offsets)?, device.adopt(column_indices)?);
        let values = device.adopt(values)?;
        Ok(Self::from_valid(DevicePattern::new(rows, cols, row_offsets, column_indices), values))
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.pattern.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.pattern.cols
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.pattern.column_indices.len()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.pattern.row_offsets.device()
    }

    /// Copies the matrix to the host, with its shape and the order of its nonzeros.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 2, 1.0), (1, 0, 2.0)])?;
    /// let transposed = Device::best()?.upload(&a)?.transpose()?;
    /// assert_eq!(transposed.download()?, a.transpose()?); // on the device, and on the host
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<Csr<V, O>, DeviceError> {
        Ok(Csr::from_valid(
            self.nrows(),
            self.ncols(),
            self.pattern.row_offsets.download()?,
            self.pattern.column_indices.download()?,
            self.values_now().download()?,
        ))
    }

    /// Copies the matrix on its device: the copy has values of its own. It shares the pattern, which never changes. Clones share both.
    ///
    /// Runs in the order of the device's stream; the call does not wait.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 2.0)])?)?;
    /// let (copy, clone) = (a.copy()?, a.clone());
    /// a.set_values(&[3.0, 4.0])?;
    /// assert_eq!((copy.values().get(0)?, clone.values().get(0)?), (1.0, 3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub fn copy(&self) -> Result<Self, DeviceError> {
        Ok(Self::from_valid(Arc::clone(&self.pattern), self.values_now().copied()?))
    }

    /// Replaces the values: `values` has one element per nonzero, in their order. The memory stays the same.
    /// Plans made for the matrix, their copies, and [graphs](crate::device::Graph) captured with either then
    /// use the new values. On the CPU, a run in another thread keeps the old ones, and the new ones get their
    /// own memory.
    ///
    /// ```
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 2.0)])?;
    /// let a = Device::best()?.upload(&a)?;
    /// let square = a.plan_spgemm(&a, SpgemmOptions::default())?;
    /// assert_eq!(square.run()?.download()?.values(), [2.0, 2.0]);
    /// a.set_values(&[3.0, 4.0])?;
    /// assert_eq!(square.run()?.download()?.values(), [12.0, 12.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many values as nonzeros, this thread captures a graph, there is too little memory,
    /// or the device was lost; then the values stay.
    pub fn set_values(&self, values: &[V]) -> Result<(), OpError> {
        self.check_count(values.len())?;
        self.values.write(|own| own.copy_from_slice(values))
    }

    /// Replaces the values by those of a vector on the same device, with one element per nonzero. In a
    /// captured graph, each launch does so.
    ///
    /// # Errors
    ///
    /// The same as for [`set_values`](Self::set_values), except for graphs, and if the vector is on another
    /// device.
    pub fn set_values_from(&self, values: &DeviceSlice<V>) -> Result<(), OpError> {
        self.check_count(values.len())?;
        self.device().check_same(values.device())?;
        self.values.write(|own| own.copy_from(values))
    }

    /// Creates a matrix from a valid pattern, with as many values as nonzeros.
    pub(crate) fn from_valid(pattern: impl Into<Arc<DevicePattern<O>>>, values: DeviceVec<V>) -> Self {
        Self { pattern: pattern.into(), values: Arc::new(MatrixValues::new(values)) }
    }

    /// Returns the pattern and the values, which clones and plans may share.
    pub(crate) fn into_shared(self) -> (Arc<DevicePattern<O>>, Arc<MatrixValues<V>>) {
        (self.pattern, self.values)
    }

    /// Drops the column indices. Only plans that keep a copy of them may use the result.
    pub(crate) fn without_columns(self) -> Result<Self, DeviceError> {
        let none = self.device().uninitialized(0)?;
        let values = self.values;
        match Arc::try_unwrap(self.pattern) {
            Ok(pattern) => {
                Ok(Self { pattern: Arc::new(DevicePattern { column_indices: none, ..pattern }), values })
            }
            Err(pattern) => Ok(Self { pattern, values }),
        }
    }

    /// Combines the same values, also after they change, with another pattern of as many nonzeros.
    pub(crate) fn with_pattern(&self, pattern: DevicePattern<O>) -> Self {
        Self { pattern: Arc::new(pattern), values: Arc::clone(&self.values) }
    }

    /// Size in bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        let DevicePattern { row_offsets, column_indices, .. } = &*self.pattern;
        row_offsets.bytes() + column_indices.bytes() + self.values_now().bytes()
    }

    fn check_count(&self, len: usize) -> Result<(), OpError> {
        check_len("values", len, self.nnz())
    }

    pub(crate) fn pattern(&self) -> &Arc<DevicePattern<O>> {
        &self.pattern
    }

    /// Returns the current values, which stay until this is dropped.
    pub(crate) fn values_now(&self) -> ValuesNow<'_, V> {
        self.values.now()
    }

    /// Returns the values for changes, and for copies that follow them.
    pub(crate) fn shared_values(&self) -> &MatrixValues<V> {
        &self.values
    }
}

impl<O: Offset> DevicePattern<O> {
    /// Creates a pattern from the arrays of a valid matrix.
    pub(crate) fn new(
        rows: usize,
        cols: usize,
        row_offsets: DeviceVec<O>,
        column_indices: DeviceVec<u32>,
    ) -> Self {
        Self { rows, cols, row_offsets, column_indices, canonical: OnceLock::new() }
    }

    /// Creates a pattern from the arrays of a canonical matrix.
    pub(crate) fn canonical(
        rows: usize,
        cols: usize,
        row_offsets: DeviceVec<O>,
        column_indices: DeviceVec<u32>,
    ) -> Self {
        Self { rows, cols, row_offsets, column_indices, canonical: OnceLock::from(()) }
    }

    /// Creates a pattern from the arrays of a valid matrix, of which is known that it is canonical, or is not.
    pub(crate) fn known(
        (rows, cols): (usize, usize),
        row_offsets: DeviceVec<O>,
        column_indices: DeviceVec<u32>,
        is_canonical: bool,
    ) -> Self {
        let make = if is_canonical { Self::canonical } else { Self::new };
        make(rows, cols, row_offsets, column_indices)
    }

    /// Returns whether the pattern is known to be canonical.
    pub(crate) fn is_canonical(&self) -> bool {
        self.canonical.get().is_some()
    }

    /// The pattern as a kernel argument.
    pub(crate) fn view(&self) -> evenpath_kernels::GlobalPattern<O> {
        evenpath_kernels::GlobalPattern {
            row_offsets: self.row_offsets.as_global(),
            column_indices: self.column_indices.as_aligned(),
            nonzeros: self.column_indices.len() as u64,
            rows: self.rows as u32,
        }
    }

    /// The matrix with the given values, one per nonzero, as a kernel argument. A plan may have freed its
    /// columns.
    pub(crate) fn with_values<V: Entry>(&self, values: &DeviceVec<V>) -> evenpath_kernels::GlobalCsr<V, O> {
        evenpath_kernels::GlobalCsr {
            row_offsets: self.row_offsets.as_global(),
            column_indices: self.column_indices.as_aligned(),
            values: values.as_aligned(),
            nonzeros: values.len() as u64,
            rows: self.rows as u32,
        }
    }

    /// [`with_values`](Self::with_values) as elements of another type of the same size.
    pub(crate) fn with_values_as<V: Entry, E: evenpath_simt::Element>(
        &self,
        values: &DeviceVec<V>,
    ) -> evenpath_kernels::GlobalCsr<E, O> {
        let evenpath_kernels::GlobalCsr { row_offsets, column_indices, values, nonzeros, rows } =
            self.with_values(values);
        let values = values.reinterpret();
        evenpath_kernels::GlobalCsr { row_offsets, column_indices, values, nonzeros, rows }
    }

    /// The columns, for kernels that write them only if they are missing.
    pub(crate) fn columns_of_known(&self) -> GlobalMut<u32> {
        self.column_indices.as_global_unwritten()
    }

    /// Row offsets and column indices, if they are on the CPU.
    pub(crate) fn host_arrays(&self) -> Option<(&[O], &[u32])> {
        Some((self.row_offsets.host_slice()?, self.column_indices.host_slice()?))
    }

    /// The matrix with the given values, if both are on the CPU.
    pub(crate) fn host_view<'a, V: Entry>(&'a self, values: &'a DeviceSlice<V>) -> Option<CsrView<'a, V, O>> {
        let (row_offsets, column_indices) = self.host_arrays()?;
        Some(CsrView::from_valid(self.rows, self.cols, row_offsets, column_indices, values.host_slice()?))
    }
}

impl<V: Entry, O: Offset> fmt::Debug for DeviceCsr<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.nrows(), self.ncols(), self.nnz());
        write!(
            f,
            "DeviceCsr<{}, {}>({rows} x {cols}, {nnz} nonzeros, on {})",
            V::NAME,
            O::NAME,
            self.device()
        )
    }
}
