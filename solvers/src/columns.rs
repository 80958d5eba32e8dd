//! Vectors as the columns of a dense matrix, each aligned for kernels that read several elements at once.

use evenpath::device::{DeviceView, DeviceViewMut};
use evenpath::{Device, DeviceDense, Layout, Scalar};

use crate::error::{Error, Result};

/// Bytes to which every column is aligned.
const ALIGNMENT: usize = 16;

/// Allocates `cols` columns of zeros.
pub(crate) fn aligned_columns<V: Scalar>(
    device: &Device,
    rows: usize,
    cols: usize,
) -> Result<DeviceDense<V>> {
    let stride = rows.next_multiple_of(ALIGNMENT / size_of::<V>());
    let memory = device.zeros(stride.saturating_mul(cols))?;
    DeviceDense::try_with_leading_dimension(memory, rows, cols, Layout::ColumnMajor, stride)
        .map_err(|invalid| invalid.kind().clone().into())
}

/// A column of a matrix that is stored by columns.
pub(crate) fn column<V: Scalar>(matrix: &DeviceDense<V>, at: usize) -> Result<DeviceView<'_, V>> {
    let start = at * matrix.leading_dimension();
    Ok(matrix.as_vec().slice(start..start + matrix.nrows())?)
}

/// A column of a matrix that is stored by columns, mutably.
pub(crate) fn column_mut<V: Scalar>(matrix: &mut DeviceDense<V>, at: usize) -> Result<DeviceViewMut<'_, V>> {
    let (start, rows) = (at * matrix.leading_dimension(), matrix.nrows());
    Ok(matrix.as_mut_slice().slice_mut(start..start + rows)?)
}

/// Checks that a matrix is stored by columns.
pub(crate) fn check_layout<V: Scalar>(matrix: &DeviceDense<V>) -> Result<()> {
    match matrix.layout() {
        Layout::ColumnMajor => Ok(()),
        Layout::RowMajor => Err(Error::Option {
            option: "the layout",
            value: Layout::RowMajor.to_string(),
            needed: "column-major",
        }),
    }
}
