//! The plan of a sum: the pattern of C, kept for further values.

use std::fmt;
use std::sync::Arc;

use super::info::ElementwisePlanInfo;
use super::operands::SpaddOperands;
use super::path::Path;
use crate::device::{DeviceError, Event};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::operation::Elementwise;
use crate::{Offset, Scalar};

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Computes C = `alpha`·A + `beta`·B. A, B and C are m × n; C is a new canonical matrix.
    ///
    /// C has an entry wherever A or B has one, even if the sum, `alpha` or `beta` is zero: its pattern depends on theirs
    /// alone. Values of a matrix whose factor is zero are ignored, including NaN. Where both have an entry, the result
    /// is fl(fl(αa) + fl(βb)) on every device.
    ///
    /// Method: merge path over (row, column) tuples in two phases, count and fill (after Dalton, Baxter, Merrill, Olson,
    /// Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015, section III-B); on the CPU, rows
    /// are merged in parallel. Between the phases the call waits for the device, to learn the size of C. If A and B are known to be
    /// canonical and have no more than 262,144 nonzeros together, both phases are one launch, the call waits after it, and C keeps
    /// memory for as many nonzeros.
    /// Temporary memory is about 0.27 bytes per row and per nonzero of both matrices.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// // [1 2]   [. 10]
    /// // [. 3]   [5  .]
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// let b = Csr::from_triplets(2, 2, [(0, 1, 10.0), (1, 0, 5.0)])?;
    /// let device = Device::cpu();
    /// let (a, b) = (device.upload(&a)?, device.upload(&b)?);
    ///
    /// let c = a.spadd(1.0, &b, 2.0)?.download()?;
    /// assert_eq!(c.to_dense()?, [1.0, 22.0, 10.0, 3.0]);
    /// let c = a.multiply_elements(&b)?.download()?;
    /// assert_eq!((c.nnz(), c.get(0, 1)), (1, Some(20.0)));
    /// let c = a.mask_out(&b)?.download()?;
    /// assert_eq!((c.nnz(), c.get(0, 1)), (2, None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes or devices differ, the columns of a row do not increase ([`OpError::NotCanonical`]; checked once per
    /// pattern), `O` cannot count the nonzeros of C
    /// ([`MatrixError::OffsetOverflow`](crate::error::MatrixError::OffsetOverflow)), there is not enough memory, or the
    /// device was lost.
    pub fn spadd(&self, alpha: V, b: &Self, beta: V) -> Result<Self, OpError> {
        self.elementwise(Elementwise::Sum, alpha, b, beta)
    }

    /// Computes C = A ∘ B, the element-wise product. A, B and C are m × n; C has an entry wherever both have
    /// one.
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd).
    pub fn multiply_elements(&self, b: &Self) -> Result<Self, OpError> {
        self.elementwise(Elementwise::Product, V::ONE, b, V::ONE)
    }

    /// Returns the entries of A at positions where B has an entry, regardless of its value. A, B and the
    /// result are m × n.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::cpu();
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// let b = Csr::from_triplets(2, 2, [(0, 1, 0.0), (1, 0, 5.0), (1, 1, 5.0)])?;
    /// let masked = device.upload(&a)?.mask(&device.upload(&b)?)?;
    /// assert_eq!(masked.download()?.to_dense()?, [0.0, 2.0, 0.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd).
    pub fn mask(&self, b: &Self) -> Result<Self, OpError> {
        self.elementwise(Elementwise::Mask, V::ONE, b, V::ONE)
    }

    /// Returns the entries of A at positions where B has none: the difference of the patterns. A, B and the
    /// result are m × n.
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd).
    pub fn mask_out(&self, b: &Self) -> Result<Self, OpError> {
        self.elementwise(Elementwise::MaskOut, V::ONE, b, V::ONE)
    }

    /// Computes any element-wise operation, with factors for A and B. A, B and the result are m × n.
    ///
    /// ```
    /// use evenpath::spadd::Elementwise;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::cpu();
    /// let a = Csr::from_triplets(1, 3, [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// let b = Csr::from_triplets(1, 3, [(0, 1, 10.0), (0, 2, 5.0)])?;
    /// let (a, b) = (device.upload(&a)?, device.upload(&b)?);
    /// let difference = a.elementwise(Elementwise::Sum, 1.0, &b, -1.0)?;
    /// assert_eq!(difference.download()?.values(), [1.0, -8.0, -5.0]);
    /// let product = a.elementwise(Elementwise::Product, 3.0, &b, 1.0)?;
    /// assert_eq!(product.download()?.values(), [60.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd).
    pub fn elementwise(&self, operation: Elementwise, alpha: V, b: &Self, beta: V) -> Result<Self, OpError> {
        let operands = SpaddOperands::new(operation, self, b)?;
        let factors = (alpha, beta);
        if let Some(result) = operands.in_one_pass(factors)? {
            return Ok(result);
        }
        let (pattern, values) = operands.fill(operands.walk()?.as_ref(), Some(factors))?;
        let Some(values) = values else { unreachable!("values were requested") };
        Ok(Self::from_valid(pattern, values))
    }

    /// Returns the number of entries of the result of an operation: the first of its two phases.
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd), but there may be more entries than `O` can count.
    pub fn count_elementwise(&self, operation: Elementwise, b: &Self) -> Result<u64, OpError> {
        let operands = SpaddOperands::new(operation, self, b)?;
        Ok(match operands.walk()? {
            Some(path) => path.results(),
            None => operands.merge()?.counts().iter().sum(),
        })
    }

    /// Computes the pattern of αA + βB once, for changing values: see [`ElementwisePlan`]. A and B are m × n.
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd).
    pub fn plan_spadd(&self, b: &Self) -> Result<ElementwisePlan<V, O>, OpError> {
        self.plan_elementwise(Elementwise::Sum, b)
    }

    /// Like [`plan_spadd`](Self::plan_spadd), for any element-wise operation.
    ///
    /// # Errors
    ///
    /// The same as for [`spadd`](Self::spadd).
    pub fn plan_elementwise(
        &self,
        operation: Elementwise,
        b: &Self,
    ) -> Result<ElementwisePlan<V, O>, OpError> {
        let operands = SpaddOperands::new(operation, self, b)?;
        let start = self.device().record()?;
        let path = operands.walk()?;
        let (pattern, _) = operands.fill(path.as_ref(), None)?;
        let analysis = (start, self.device().record()?);
        let (a, b) = (self.clone(), b.clone());
        Ok(ElementwisePlan { operation, a, b, pattern: Arc::new(pattern), path, analysis })
    }
}

/// An element-wise operation on two matrices with a precomputed pattern of the result; created by [`DeviceCsr::plan_spadd`].
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(1, 3, [(0, 0, 1.0), (0, 2, 2.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let plan = a.plan_spadd(&a)?;
/// assert_eq!(plan.run(1.0, 1.0)?.download()?.values(), [2.0, 4.0]);
/// a.set_values(&[10.0, 20.0])?;
/// assert_eq!(plan.run(1.0, -1.0)?.download()?.values(), [0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ElementwisePlan<V: Scalar, O: Offset = u32> {
    operation: Elementwise,
    a: DeviceCsr<V, O>,
    b: DeviceCsr<V, O>,
    pattern: Arc<DevicePattern<O>>,
    /// The path, on devices that run kernels.
    path: Option<Path>,
    analysis: (Event, Event),
}

impl<V: Scalar, O: Offset> ElementwisePlan<V, O> {
    /// Computes the result from the current values of both matrices. All results share one pattern. The launch is
    /// asynchronous, ordered on the device's stream.
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the values, or the device was lost.
    pub fn run(&self, alpha: V, beta: V) -> Result<DeviceCsr<V, O>, OpError> {
        let operands = SpaddOperands { operation: self.operation, a: &self.a, b: &self.b };
        let values = match &self.path {
            Some(path) => operands.fill_values(path, self.nnz(), (alpha, beta))?,
            None => operands.values_on_host(
                &operands.merge()?,
                self.pattern.row_offsets.host_slice().unwrap_or_default(),
                (alpha, beta),
            )?,
        };
        Ok(DeviceCsr::from_valid(Arc::clone(&self.pattern), values))
    }

    /// The operation and costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<ElementwisePlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let workspace_bytes = self.path.as_ref().map_or(0, Path::bytes);
        let analysis_ms = end.elapsed_since(start)?;
        Ok(ElementwisePlanInfo { operation: self.operation, nnz: self.nnz(), workspace_bytes, analysis_ms })
    }

    fn nnz(&self) -> usize {
        self.pattern.column_indices.len()
    }
}

impl<V: Scalar, O: Offset> fmt::Debug for ElementwisePlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ElementwisePlan({} of {:?} and {:?}, {} nonzeros)",
            self.operation,
            self.a,
            self.b,
            self.nnz()
        )
    }
}
