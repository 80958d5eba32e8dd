//! Import of tensors as vectors and dense matrices.

use super::abi::{CPU, CUDA, CUDA_HOST, DLDevice, DLTensor};
use super::element::TensorElement;
use super::error::DlpackError;
use super::tensor::Tensor;
use crate::device::{Device, DeviceKind, DeviceVec};
use crate::{DeviceDense, Layout, Storage};

impl Tensor {
    /// Converts a one-dimensional tensor to a vector in the tensor's memory, which is freed with the vector.
    /// If the memory is read-only or not aligned to sixteen bytes, the vector is a copy.
    ///
    /// # Errors
    ///
    /// If the tensor is on another device, or has a different type or number of dimensions, or its elements
    /// are not contiguous. If a copy is needed and there is too little memory for it, or the device was lost.
    /// The tensor is dropped.
    pub fn into_vec<T: TensorElement>(self, device: &Device) -> Result<DeviceVec<T>, DlpackError> {
        self.check::<T>(device, 1)?;
        let [len] = self.lengths("a vector with contiguous elements")?;
        if len > 1 && self.strides() != [1] {
            return Err(self.strides_error("a vector with contiguous elements"));
        }
        self.elements(device, len)
    }

    /// Converts a two-dimensional tensor, rows and columns, to a dense matrix; otherwise like
    /// [`into_vec`](Self::into_vec).
    ///
    /// # Errors
    ///
    /// The same as for [`into_vec`](Self::into_vec); the elements of each row or of each column must be
    /// contiguous.
    pub fn into_dense<T: TensorElement + Storage>(
        self,
        device: &Device,
    ) -> Result<DeviceDense<T>, DlpackError> {
        const NEEDED: &str = "a matrix with contiguous rows or columns";
        self.check::<T>(device, 2)?;
        let [rows, cols] = self.lengths(NEEDED)?;
        let [to_row, to_col] = self.strides()[..] else { return Err(self.strides_error(NEEDED)) };
        // The stride between lines does not matter if there is one line, nor the stride along a line of one
        // element.
        let leads = |along: i64, length: usize, across: i64, lines: usize| {
            let is_line = length <= 1 || along == 1;
            let leading = if lines <= 1 { Some(length) } else { usize::try_from(across).ok() };
            leading.filter(|&leading| is_line && leading >= length)
        };
        let by_rows = leads(to_col, cols, to_row, rows).map(|leading| (Layout::RowMajor, leading));
        let by_columns = leads(to_row, rows, to_col, cols).map(|leading| (Layout::ColumnMajor, leading));
        let Some((layout, leading)) = by_rows.or(by_columns) else { return Err(self.strides_error(NEEDED)) };
        let Some(len) = layout.elements(rows, cols, leading) else { return Err(self.strides_error(NEEDED)) };
        let vec = self.elements(device, len)?;
        let matrix = DeviceDense::try_with_leading_dimension(vec, rows, cols, layout, leading);
        Ok(matrix.map_err(crate::matrix::MatrixError::from)?)
    }

    /// Checks type, device and number of dimensions.
    fn check<T: TensorElement>(&self, device: &Device, dimensions: usize) -> Result<(), DlpackError> {
        let found = self.data_type();
        if found != T::DATA_TYPE {
            return Err(DlpackError::DataType { expected: T::DATA_TYPE, found });
        }
        let found = self.device();
        let DLDevice { device_type, device_id } = found;
        let is_same = match device.kind() {
            DeviceKind::Cpu => device_type == CPU || device_type == CUDA_HOST,
            DeviceKind::Cuda(ordinal) => device_type == CUDA && u32::try_from(device_id) == Ok(ordinal),
            DeviceKind::Simulated => false,
        };
        if !is_same {
            return Err(DlpackError::Device { device: device.to_string(), found });
        }
        if !device.shares_memory()? {
            return Err(DlpackError::NotShared { device: device.to_string() });
        }
        let found = self.shape().len();
        if found == dimensions {
            return Ok(());
        }
        Err(DlpackError::Dimensions { expected: dimensions, found })
    }

    /// Lengths of the N dimensions.
    fn lengths<const N: usize>(&self, needed: &'static str) -> Result<[usize; N], DlpackError> {
        let lengths: Result<Vec<usize>, _> =
            self.shape().iter().map(|&length| usize::try_from(length)).collect();
        let lengths = lengths.ok().and_then(|lengths| lengths.try_into().ok());
        lengths.ok_or_else(|| self.strides_error(needed))
    }

    fn strides_error(&self, needed: &'static str) -> DlpackError {
        DlpackError::Strides { shape: self.shape().to_vec(), strides: self.strides(), needed }
    }

    /// Returns the tensor's first `len` elements in the order of memory. Everything else was checked.
    fn elements<T: TensorElement>(self, device: &Device, len: usize) -> Result<DeviceVec<T>, DlpackError> {
        let &DLTensor { data, byte_offset, .. } = self.managed.tensor();
        let (address, is_read_only) = (data as u64 + byte_offset, self.managed.is_read_only());
        // SAFETY: the tensor's producer guarantees its memory, which is freed with it.
        Ok(unsafe { DeviceVec::import(device, (address, len), is_read_only, move || drop(self)) }?)
    }
}
