//! Tensors of other libraries as vectors and dense matrices.

use super::abi::{CPU, CUDA, CUDA_HOST, DLDevice, DLTensor};
use super::element::Element;
use super::error::DlpackError;
use super::tensor::Tensor;
use crate::device::{Device, DeviceKind, DeviceVec};
use crate::{DeviceDense, Layout, Storage};

impl Tensor {
    /// The elements of a tensor of one dimension as a vector. It is the tensor's memory, which is given back when the vector is dropped;
    /// a copy of it if that is read only, or does not begin at a multiple of sixteen bytes.
    ///
    /// # Errors
    ///
    /// If the tensor is not on the device or of another type, has another number of dimensions, or its elements do not lie side by
    /// side. If a copy is needed and there is no memory for it, or the device was lost. The tensor is given back.
    pub fn into_vec<T: Element>(self, device: &Device) -> Result<DeviceVec<T>, DlpackError> {
        self.check::<T>(device, 1)?;
        let [len] = self.lengths("a vector whose elements lie side by side")?;
        if len > 1 && self.strides() != [1] {
            return Err(self.strides_error("a vector whose elements lie side by side"));
        }
        self.elements(device, len)
    }

    /// A tensor of two dimensions, rows and columns, as a dense matrix; otherwise as [`into_vec`](Self::into_vec).
    ///
    /// # Errors
    ///
    /// As for [`into_vec`](Self::into_vec); the elements of each row or of each column must lie side by side.
    pub fn into_dense<T: Element + Storage>(self, device: &Device) -> Result<DeviceDense<T>, DlpackError> {
        const NEEDED: &str = "a matrix whose rows or columns lie side by side";
        self.check::<T>(device, 2)?;
        let [rows, cols] = self.lengths(NEEDED)?;
        let [to_row, to_col] = self.strides()[..] else { return Err(self.strides_error(NEEDED)) };
        // What leads from one line to the next does not matter where there is one line, nor what leads along one of one element.
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
    fn check<T: Element>(&self, device: &Device, dimensions: usize) -> Result<(), DlpackError> {
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

    /// The lengths of the dimensions, which are as many.
    fn lengths<const N: usize>(&self, needed: &'static str) -> Result<[usize; N], DlpackError> {
        let lengths: Result<Vec<usize>, _> =
            self.shape().iter().map(|&length| usize::try_from(length)).collect();
        let lengths = lengths.ok().and_then(|lengths| lengths.try_into().ok());
        lengths.ok_or_else(|| self.strides_error(needed))
    }

    fn strides_error(&self, needed: &'static str) -> DlpackError {
        DlpackError::Strides { shape: self.shape().to_vec(), strides: self.strides(), needed }
    }

    /// The first `len` elements in the order of memory, which the tensor has. What it is was checked.
    fn elements<T: Element>(self, device: &Device, len: usize) -> Result<DeviceVec<T>, DlpackError> {
        let &DLTensor { data, byte_offset, .. } = self.managed.tensor();
        let (address, is_read_only) = (data as u64 + byte_offset, self.managed.is_read_only());
        // SAFETY: whoever made the tensor vouches for its memory, which is given back with it.
        Ok(unsafe { DeviceVec::import(device, (address, len), is_read_only, move || drop(self)) }?)
    }
}
