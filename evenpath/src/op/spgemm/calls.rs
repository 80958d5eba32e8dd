//! Calls of SpGEMM on a matrix.

use super::base::SpgemmOperands;
use super::options::SpgemmOptions;
use super::plan::SpgemmPlan;
use super::{masked, plan};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Entry, Offset, Scalar};

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
    /// Only products at the mask's entries are multiplied. For each entry of A, the columns of the shorter of a row of B and a row of the
    /// mask are looked up in the longer one, so a small mask saves most of the time of the product. The result shares the
    /// mask's pattern. On devices with kernels it takes, beside its values, about 16 bytes per row and per nonzero of A, and half a value
    /// per product at most. `options` say what it may take; the method is ignored.
    ///
    /// Products are added in the order of A's entries. On devices with kernels, rows with more than a thousand lookups are divided
    /// into parts, and the sums of the parts are added in their order. The values are bitwise the same from run to run, and on
    /// all GPUs, real and simulated.
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
    pub fn spgemm_masked<M: Entry>(
        &self,
        b: &Self,
        mask: &DeviceCsr<M, O>,
        options: SpgemmOptions,
    ) -> Result<Self, OpError> {
        masked::multiply(SpgemmOperands::check(self, b)?, mask, options)
    }

    /// Computes the entries of A·B where `mask` has none: those of [`spgemm`](Self::spgemm) without the mask's. A is m × k,
    /// B is k × n, the mask and the result are m × n. The mask's values do not matter.
    ///
    /// The whole product is computed first, as `options` say, and then the mask's entries are left out of it.
    ///
    /// ```
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// // A path of three vertices: who is two steps away, and no neighbor?
    /// let device = Device::cpu();
    /// let a = Csr::from_triplets(3, 3, [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)])?;
    /// let itself = Csr::from_triplets(3, 3, [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)])?;
    /// let (a, itself) = (device.upload(&a)?, device.upload(&itself)?);
    /// let two_steps = a.spgemm_masked_out(&a, &itself, SpgemmOptions::default())?.download()?;
    /// assert!(two_steps.iter().eq([(0, 2, 1.0), (2, 0, 1.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm_masked`](Self::spgemm_masked).
    pub fn spgemm_masked_out<M: Entry>(
        &self,
        b: &Self,
        mask: &DeviceCsr<M, O>,
        options: SpgemmOptions,
    ) -> Result<Self, OpError> {
        masked::multiply_outside(SpgemmOperands::check(self, b)?, mask, options)
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
