//! Calls of SpGEMM on a matrix.

use super::base::SpgemmOperands;
use super::options::SpgemmOptions;
use super::plan::SpgemmPlan;
use super::{masked, plan};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Scalar};

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Computes C = A·B, in memory of its own. A is m × k, B is k × n, C is m × n.
    ///
    /// Its rows are sorted by column, without duplicates; entries whose products cancel are kept, as zeros. The values are
    /// bitwise the same from run to run.
    ///
    /// ```
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::cpu();
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let b = Csr::from_triplets(3, 2, [(0, 1, 10.0), (1, 0, 20.0), (2, 1, 30.0)])?;
    /// let c = device.upload(&a)?.spgemm(&device.upload(&b)?, SpgemmOptions::default())?.download()?;
    /// assert_eq!(c.row_offsets(), [0, 1, 2]);
    /// assert_eq!(c.column_indices(), [1, 0]);
    /// assert_eq!(c.values(), [70.0, 60.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B has not a row for each column of A or is on another device, a matrix is not canonical, or the product has more
    /// nonzeros than `O` counts: [`spgemm_with_offsets`](Self::spgemm_with_offsets) takes those. If workspace and result would take
    /// more memory than they may, and not even a part of the rows fits. If the device was lost.
    pub fn spgemm(&self, b: &Self, options: SpgemmOptions) -> Result<Self, OpError> {
        self.spgemm_with_offsets(b, options)
    }

    /// [`spgemm`](Self::spgemm) with row offsets of type `C` in the result: `u64` counts more nonzeros than `u32`.
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm`](Self::spgemm).
    pub fn spgemm_with_offsets<C: Offset>(
        &self,
        b: &Self,
        options: SpgemmOptions,
    ) -> Result<DeviceCsr<V, C>, OpError> {
        plan::multiply(SpgemmOperands::check(self, b)?, options)
    }

    /// Computes the entries of A·B where `mask` has entries, and nothing elsewhere. A is m × k, B is k × n,
    /// the mask and the result are m × n. The result has the mask's pattern, with zeros where no products
    /// fall. The mask's values do not matter.
    ///
    /// Products elsewhere are computed and left out, so the mask saves memory but no multiplications. Takes 29 bytes per row of
    /// memory beside the values of the result, which
    /// shares the mask's pattern; `options` say what it may take, and the method is ignored.
    ///
    /// ```
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::cpu();
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// let a = device.upload(&a)?;
    /// let diagonal = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, 1.0)])?;
    /// let square = a.spgemm_masked(&a, &device.upload(&diagonal)?, SpgemmOptions::default())?;
    /// assert_eq!(square.download()?.to_dense()?, [1.0, 0.0, 0.0, 9.0]); // without the 8 at (0, 1)
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm`](Self::spgemm), and if the mask has not the product's shape, is not canonical, or is on
    /// another device.
    pub fn spgemm_masked<M: Scalar>(
        &self,
        b: &Self,
        mask: &DeviceCsr<M, O>,
        options: SpgemmOptions,
    ) -> Result<Self, OpError> {
        masked::multiply(SpgemmOperands::check(self, b)?, mask, options)
    }

    /// Prepares C = A·B for changing values ([`set_values`](Self::set_values)): finds everything that only
    /// the patterns determine. A is m × k, B is k × n, C is m × n.
    ///
    /// ```
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::cpu();
    /// let a = device.upload(&Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 2.0)])?)?;
    /// let b = device.upload(&Csr::from_triplets(2, 1, [(0, 0, 10.0), (1, 0, 20.0)])?)?;
    /// let plan = a.plan_spgemm(&b, SpgemmOptions::default())?;
    /// assert_eq!(plan.run()?.download()?.values(), [50.0]);
    /// b.set_values(&[1.0, 1.0])?;
    /// assert_eq!(plan.run()?.download()?.values(), [3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm`](Self::spgemm).
    pub fn plan_spgemm(&self, b: &Self, options: SpgemmOptions) -> Result<SpgemmPlan<V, O>, OpError> {
        SpgemmPlan::new(SpgemmOperands::check(self, b)?, options)
    }

    /// [`plan_spgemm`](Self::plan_spgemm) with row offsets of type `C` in the results.
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm`](Self::spgemm).
    pub fn plan_spgemm_with_offsets<C: Offset>(
        &self,
        b: &Self,
        options: SpgemmOptions,
    ) -> Result<SpgemmPlan<V, O, C>, OpError> {
        SpgemmPlan::new(SpgemmOperands::check(self, b)?, options)
    }
}
