//! Changes of a matrix's values in place: scaled, by row and by column, and mapped.

use evenpath_kernels::entries::{ScaleColumns, ScaleRows};

use super::DeviceCsr;
use crate::device::{DeviceError, DeviceKind, DeviceSlice};
use crate::format::path_tiles::PathTiles;
use crate::operand::OpError;
use crate::operand::check::check_vector;
use crate::operation::Map;
use crate::sequence::{complex, map};
use crate::{Offset, Scalar, Value};

/// Changes of all values in place. Like [`set_values`](DeviceCsr::set_values), they apply to clones, plans and graphs
/// too; in a captured graph, each launch changes the values again.
impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Multiplies every value by `factor`: A becomes αA. Runs in the order of the device's stream; the call does not
    /// wait.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?)?;
    /// a.scale(2.0)?;
    /// a.scale_rows(&device.upload(&[1.0, 0.5])?)?;
    /// a.scale_columns(&device.upload(&[10.0, 1.0])?)?;
    /// assert_eq!(a.download()?.to_dense()?, [20.0, 4.0, 0.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the values are [borrowed](Self::values), there is too little memory, or the device was lost.
    pub fn scale(&self, factor: V) -> Result<(), OpError> {
        self.shared_values().change(|values| complex::scale(factor, values))
    }

    /// Replaces every value by its complex conjugate; real values stay. Runs in the order of the device's stream; the call does not
    /// wait.
    ///
    /// ```
    /// use evenpath::{Complex, Csr, Device};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(1, 1, [(0, 0, Complex::new(1.0, 2.0))])?)?;
    /// a.conjugate()?;
    /// assert_eq!(a.values().download()?, [Complex::new(1.0, -2.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the values are [borrowed](Self::values), there is too little memory, or the device was lost.
    pub fn conjugate(&self) -> Result<(), OpError> {
        if !V::IS_COMPLEX {
            return Ok(());
        }
        self.shared_values().change(complex::conjugate)
    }
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Replaces every value by a function of it. Runs in the order of the device's stream; the call does not wait.
    ///
    /// ```
    /// use evenpath::vector::Map;
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(1, 2, [(0, 0, -4.0), (0, 1, 9.0)])?)?;
    /// a.map_values(Map::Abs)?;
    /// a.map_values(Map::Sqrt)?;
    /// assert_eq!(a.values().download()?, [2.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the values are [borrowed](Self::values), there is too little memory, or the device was lost.
    pub fn map_values(&self, map: Map<V>) -> Result<(), OpError> {
        self.shared_values().change(|values| map::apply(map.mapping(), values))
    }
}

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Multiplies every row by its element of `factors`, which has one per row: A becomes DA, for D with these elements
    /// on the diagonal. Runs in the order of the device's stream; the call does not wait.
    ///
    /// # Errors
    ///
    /// If there is not one factor per row, they are on another device, the values are [borrowed](Self::values), there
    /// is too little memory, or the device was lost.
    pub fn scale_rows(&self, factors: &DeviceSlice<V>) -> Result<(), OpError> {
        check_vector(self.device(), ("factors", factors), self.nrows())?;
        self.shared_values().change(|values| scale_rows(self, factors, values))
    }

    /// Multiplies every column by its element of `factors`, which has one per column: A becomes AD, for D with these
    /// elements on the diagonal. Runs in the order of the device's stream; the call does not wait.
    ///
    /// # Errors
    ///
    /// If there is not one factor per column, they are on another device, the values are [borrowed](Self::values),
    /// there is too little memory, or the device was lost.
    pub fn scale_columns(&self, factors: &DeviceSlice<V>) -> Result<(), OpError> {
        check_vector(self.device(), ("factors", factors), self.ncols())?;
        let columns = self.column_indices();
        self.shared_values().change(|values| {
            if let (Some(columns), Some(factors)) = (columns.host_slice(), factors.host_slice()) {
                if let Some(values) = values.host_slice_mut() {
                    crate::matrix::scale_columns(columns, factors, values);
                }
                return Ok(());
            }
            let launch = columns.device().kernel().threads(columns.len())?;
            let kernel = ScaleColumns {
                column_indices: columns.as_global(),
                values: values.as_global_mut(),
                factors: factors.as_global(),
                len: columns.len() as u64,
            };
            // SAFETY: there is a value for each column index, each of which has a factor; buffers are freed in the
            // stream's order.
            unsafe { launch.launch(kernel) }
        })
    }
}

/// Multiplies values, one per nonzero of the matrix, by the factors of their rows.
fn scale_rows<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    factors: &DeviceSlice<V>,
    values: &mut DeviceSlice<V>,
) -> Result<(), DeviceError> {
    let (device, pattern) = (matrix.device(), matrix.pattern());
    if device.kind() == DeviceKind::Cpu {
        if let (Some(offsets), Some(factors), Some(values)) =
            (pattern.row_offsets.host_slice(), factors.host_slice(), values.host_slice_mut())
        {
            crate::matrix::scale_rows(offsets, values, |row, value| factors[row] * value);
        }
        return Ok(());
    }
    let (tiles, launch) = PathTiles::find(matrix, device.kernel())?;
    let kernel = ScaleRows {
        pattern: pattern.view(),
        values: values.as_global_mut(),
        factors: factors.as_global(),
        tile_rows: tiles.rows.as_global(),
    };
    // SAFETY: the tiles are the matrix's, of the kernel's length; there is a value per nonzero and a factor per row;
    // buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
}
