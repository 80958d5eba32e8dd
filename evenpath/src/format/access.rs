//! The arrays of a CSR matrix, borrowed where they are.

use super::DeviceCsr;
use super::values::CsrValues;
use crate::device::DeviceSlice;
use crate::operand::OpError;
use crate::{Entry, Offset};

impl<V: Entry, O: Offset> DeviceCsr<V, O> {
    /// Borrows the row offsets, one more than there are rows: the nonzeros of row i are those from offset i to
    /// offset i + 1.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(2, 3, [(0, 2, 1.0), (1, 0, 2.0)])?)?;
    /// assert_eq!(a.row_offsets().download()?, [0, 1, 2]);
    /// assert_eq!((a.column_indices().download()?, a.values().download()?), (vec![2, 0], vec![1.0, 2.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn row_offsets(&self) -> &DeviceSlice<O> {
        &self.pattern().row_offsets
    }

    /// Borrows the column of each nonzero, row by row.
    pub fn column_indices(&self) -> &DeviceSlice<u32> {
        &self.pattern().column_indices
    }

    /// Borrows the value of each nonzero, row by row. Until the result is dropped, the values of the matrix and its
    /// clones cannot be changed: [`set_values`](Self::set_values) and similar methods return
    /// [`OpError::ValuesBorrowed`]. A graph that was captured before and writes them still does.
    pub fn values(&self) -> CsrValues<'_, V> {
        self.shared_values().borrow()
    }

    /// Changes the values by `update`, which gets a copy of them: one per nonzero, row by row. Then they replace the
    /// values like in [`set_values_from`](Self::set_values_from), for plans too. `update` may use the matrix, whose
    /// values are still the old ones. If another thread changes the values meanwhile, its change is lost.
    ///
    /// In a captured graph, each launch does so.
    ///
    /// ```
    /// use evenpath::{Csr, Device, vector};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 2.0)])?)?;
    /// a.update_values(|values| vector::axpby(10.0, &a.values(), 1.0, values))?;
    /// assert_eq!(a.values().download()?, [11.0, 22.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of `update`; if the values are borrowed, there is too little memory for the copy, or the device was
    /// lost. Then the values stay.
    pub fn update_values(
        &self,
        update: impl FnOnce(&mut DeviceSlice<V>) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let mut values = self.values_now().copied()?;
        update(&mut values)?;
        self.set_values_from(&values)
    }
}
