//! Reductions of the rows and columns of a matrix.

use evenpath_kernels::entries::{CountRows, FinishRowNorms, RowNorms, TILE_SUMS};
use evenpath_kernels::map::Mapping;

use super::DeviceCsr;
use super::path_tiles::PathTiles;
use crate::device::{DeviceSlice, DeviceVec};
use crate::operand::OpError;
use crate::operation::{Map, Operator, Reduction};
use crate::sequence::{map, reduce};
use crate::{Offset, Value};

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Reduces the stored values of each row: one element per row. Entries that are not stored do not count as zeros.
    /// Runs in the order of the device's stream; the call does not wait. Results are the same to the bit in every run.
    ///
    /// ```
    /// use evenpath::csr::Reduction;
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, -4.0), (0, 2, 3.0), (1, 2, 2.0)])?;
    /// let a = Device::best()?.upload(&a)?;
    /// assert_eq!(a.reduce_rows(Reduction::Sum)?.download()?, [-1.0, 2.0]);
    /// assert_eq!(a.reduce_rows(Reduction::Norm2)?.download()?, [5.0, 2.0]);
    /// assert_eq!(a.reduce_columns(Reduction::AbsMax)?.download()?, [4.0, 0.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are 2³² nonzeros or more, the device is not the CPU, and the reduction is neither [`Norm2`](Reduction::Norm2) nor
    /// [`Count`](Reduction::Count); if there is too little memory, or the device was lost.
    pub fn reduce_rows(&self, reduction: Reduction) -> Result<DeviceVec<V>, OpError> {
        let (device, values) = (self.device(), self.values_now());
        if let Some(view) = self.pattern().host_view(&values) {
            let mut result = device.uninitialized(self.nrows())?;
            if let Some(result) = result.host_slice_mut() {
                result.copy_from_slice(&view.reduce_rows(reduction));
            }
            return Ok(result);
        }
        let absolute = |operator| self.reduce_mapped(Map::Abs.mapping(), operator);
        match reduction {
            Reduction::Sum => self.reduce_values(&values, Operator::Sum),
            Reduction::Min => self.reduce_values(&values, Operator::Min),
            Reduction::Max => self.reduce_values(&values, Operator::Max),
            Reduction::AbsSum => absolute(Operator::Sum),
            Reduction::AbsMax => self.row_magnitudes(V::ZERO, V::INFINITE),
            Reduction::Norm2 => self.row_norms(),
            Reduction::Count => self.row_counts(),
        }
    }

    /// Reduces the stored values of each column: one element per column. Entries that are not stored do not count as
    /// zeros. The values of a column are combined in the order of their rows.
    ///
    /// The matrix is [transposed](Self::transpose), with its temporary memory, and then reduced by rows.
    ///
    /// # Errors
    ///
    /// The same as for [`transpose`](Self::transpose).
    pub fn reduce_columns(&self, reduction: Reduction) -> Result<DeviceVec<V>, OpError> {
        self.device().refuse_in_graph("the columns of a matrix are reduced, for which it is transposed")?;
        self.transpose()?.reduce_rows(reduction)
    }

    /// Combines values, one per nonzero, by row.
    fn reduce_values(&self, values: &DeviceSlice<V>, operator: Operator) -> Result<DeviceVec<V>, OpError> {
        let mut result = self.device().uninitialized(self.nrows())?;
        reduce::by_valid_offsets_into(&self.pattern().row_offsets, values, operator, &mut result)?;
        Ok(result)
    }

    /// Combines functions of the values by row.
    fn reduce_mapped(&self, mapping: Mapping<V>, operator: Operator) -> Result<DeviceVec<V>, OpError> {
        let mut mapped = self.values_now().copied()?;
        map::apply(mapping, &mut mapped)?;
        self.reduce_values(&mapped, operator)
    }

    /// The maximum absolute value of each row, from `low` to `high`.
    fn row_magnitudes(&self, low: V, high: V) -> Result<DeviceVec<V>, OpError> {
        let mut result = self.reduce_mapped(Map::Abs.mapping(), Operator::Max)?;
        map::apply(Map::Clamp { low, high }.mapping(), &mut result)?;
        Ok(result)
    }

    /// The norm of each row, whose values are read once.
    fn row_norms(&self) -> Result<DeviceVec<V>, OpError> {
        let (device, pattern, values) = (self.device(), self.pattern(), self.values_now());
        let mut norms = device.uninitialized(self.nrows())?;
        let (tiles, launch) = PathTiles::find(self, device.kernel::<RowNorms<V, O>>())?;
        let count = tiles.count as usize;
        let mut sums = device.uninitialized(TILE_SUMS * count)?;
        let finish_launch = device.kernel().blocks(count)?;
        let kernel = RowNorms {
            pattern: pattern.view(),
            values: values.as_global(),
            tile_rows: tiles.rows.as_global(),
            norms: norms.as_global_mut(),
            sums: sums.as_global_mut(),
        };
        let finish = FinishRowNorms {
            row_offsets: pattern.row_offsets.as_global(),
            tile_rows: tiles.rows.as_global(),
            sums: sums.as_global(),
            norms: norms.as_global_mut(),
            tile_items: launch.info().tile_items() as u32,
        };
        // SAFETY: the tiles are the matrix's, of the first kernel's length; there is a value per nonzero, a norm per row, and memory for
        // the sums of each tile; buffers are freed in the stream's order.
        unsafe {
            launch.launch(kernel)?;
            finish_launch.launch(finish)?;
        }
        Ok(norms)
    }

    fn row_counts(&self) -> Result<DeviceVec<V>, OpError> {
        let (device, rows) = (self.device(), self.nrows());
        let launch = device.kernel().threads(rows)?;
        let mut counts = device.uninitialized(rows)?;
        let kernel = CountRows {
            row_offsets: self.pattern().row_offsets.as_global(),
            counts: counts.as_global_mut(),
            rows: rows as u32,
        };
        // SAFETY: there are `rows` + 1 offsets and `rows` counts; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(counts)
    }
}
