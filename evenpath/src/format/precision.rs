//! Matrices with values of the other precision.

use std::sync::Arc;

use super::DeviceCsr;
use crate::Offset;
use crate::operand::OpError;
use crate::sequence::vector;

impl<O: Offset> DeviceCsr<f64, O> {
    /// Returns the matrix with its values rounded to `f32`. The pattern is shared. Later changes of either's values do not change the
    /// other's. Does not wait.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(1, 2, [(0, 0, 0.1), (0, 1, 2.0)])?)?;
    /// assert_eq!(a.narrow()?.values().download()?, [0.1_f32, 2.0]);
    /// assert_eq!(a.narrow()?.widen()?.values().download()?, [f64::from(0.1_f32), 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub fn narrow(&self) -> Result<DeviceCsr<f32, O>, OpError> {
        let mut values = self.device().uninitialized(self.nnz())?;
        vector::narrow(&self.values_now(), &mut values)?;
        Ok(DeviceCsr::from_valid(Arc::clone(self.pattern()), values))
    }
}

impl<O: Offset> DeviceCsr<f32, O> {
    /// Returns the matrix with its values in `f64`, exactly. The pattern is shared. Later changes of either's values do not change the
    /// other's. Does not wait.
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub fn widen(&self) -> Result<DeviceCsr<f64, O>, OpError> {
        let mut values = self.device().uninitialized(self.nnz())?;
        vector::widen(&self.values_now(), &mut values)?;
        Ok(DeviceCsr::from_valid(Arc::clone(self.pattern()), values))
    }
}
