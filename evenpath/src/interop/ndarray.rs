use std::ops::Mul;

use ndarray::{Array1, Array2, ArrayBase, Data, Ix1, Ix2, ShapeBuilder};

use crate::{Csr, Device, DeviceDense, DeviceError, DeviceVec, Layout, Offset, OpError, Storage, Value};

/// Transfers of `ndarray` arrays.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::{Csr, Device};
/// use ndarray::{Array2, array};
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!((&a * &array![10.0, 1.0])?, array![12.0, 3.0]);
///
/// let device = Device::best()?;
/// let b = device.upload_array2(&array![[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])?;
/// let mut c = device.upload_array2(&Array2::zeros((2, 3)))?;
/// let plan = device.upload(&a)?.plan_spmm(SpmmOptions::default())?;
/// plan.run(1.0, &b, 0.0, &mut c)?;
/// assert_eq!(c.download_array2()?, array![[1.0, 2.0, 3.0], [0.0, 3.0, 3.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Device {
    /// Copies a one-dimensional array to the device. A strided array is first made contiguous.
    ///
    /// # Errors
    ///
    /// If there is not enough memory on the device or within its limit, or the device was lost.
    pub fn upload_array1<T: Storage>(
        &self,
        array: &ArrayBase<impl Data<Elem = T>, Ix1>,
    ) -> Result<DeviceVec<T>, DeviceError> {
        match array.as_slice() {
            Some(values) => self.upload(values),
            None => self.upload(&array.to_vec()),
        }
    }

    /// Copies a two-dimensional array to the device, keeping its row- or column-major layout. An array with another layout
    /// is first copied to row-major.
    ///
    /// # Errors
    ///
    /// If there is not enough memory on the device or within its limit, or the device was lost.
    pub fn upload_array2<T: Storage>(
        &self,
        array: &ArrayBase<impl Data<Elem = T>, Ix2>,
    ) -> Result<DeviceDense<T>, DeviceError> {
        let (rows, cols) = array.dim();
        let (values, layout) = match (array.as_slice(), array.t().to_slice()) {
            (Some(values), _) => (self.upload(values)?, Layout::RowMajor),
            (None, Some(values)) => (self.upload(values)?, Layout::ColumnMajor),
            (None, None) => {
                let values: Vec<T> = array.iter().copied().collect();
                (self.upload(&values)?, Layout::RowMajor)
            }
        };
        match DeviceDense::try_new(values, rows, cols, layout) {
            Ok(matrix) => Ok(matrix),
            Err(_) => unreachable!("the number of elements matches the shape"),
        }
    }
}

impl<T: Storage> DeviceVec<T> {
    /// Copies the elements to an array on the host.
    ///
    /// # Errors
    ///
    /// The same as for [`download`](crate::DeviceSlice::download).
    pub fn download_array1(&self) -> Result<Array1<T>, DeviceError> {
        Ok(Array1::from_vec(self.download()?))
    }
}

impl<T: Storage> DeviceDense<T> {
    /// Copies the elements to an array on the host, in the same layout but without gaps.
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceSlice::download`](crate::DeviceSlice::download).
    pub fn download_array2(&self) -> Result<Array2<T>, DeviceError> {
        let (rows, cols, leading) = (self.nrows(), self.ncols(), self.leading_dimension());
        let mut values = self.as_vec().download()?;
        let (line, lines) = match self.layout() {
            Layout::RowMajor => (cols, rows),
            Layout::ColumnMajor => (rows, cols),
        };
        if leading > line {
            for number in 1..lines {
                values.copy_within(number * leading..number * leading + line, number * line);
            }
        }
        values.truncate(line * lines);
        let is_by_columns = self.layout() == Layout::ColumnMajor;
        match Array2::from_shape_vec((rows, cols).set_f(is_by_columns), values) {
            Ok(array) => Ok(array),
            Err(_) => unreachable!("the number of elements matches the shape"),
        }
    }
}

impl<V: Value, O: Offset, S: Data<Elem = V>> Mul<&ArrayBase<S, Ix1>> for &Csr<V, O> {
    type Output = Result<Array1<V>, OpError>;

    /// A·x: see [`Csr::spmv`].
    fn mul(self, x: &ArrayBase<S, Ix1>) -> Self::Output {
        let y = match x.as_slice() {
            Some(x) => (self * x)?,
            None => (self * &x.to_vec())?,
        };
        Ok(Array1::from_vec(y))
    }
}
