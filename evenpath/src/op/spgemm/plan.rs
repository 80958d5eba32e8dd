use std::fmt;
use std::sync::{Arc, OnceLock};

use super::base::{SpgemmOperands, Workspace};
use super::choose;
use super::info::SpgemmPlanInfo;
use super::method::SpgemmMethod;
use super::options::SpgemmOptions;
use super::strategy::{FirstRun, Info, Strategy};
use crate::device::{DeviceError, Event};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Scalar};

/// `C = AB` for two sparse matrices, whose pattern is analyzed once, and which is computed as often as values change.
///
/// Results are bitwise those of [`DeviceCsr::spgemm`], and share one pattern in memory. On devices with kernels the
/// plan keeps, if `memory_limit` has room for it beside the result, where each product goes
/// ([`SpgemmPlanInfo::kept_bytes`]), and later runs take less time. On the CPU it keeps only the pattern: rows are multiplied
/// again, and a run may take as long as [`DeviceCsr::spgemm`].
///
/// ```
/// use evenpath::spgemm::SpgemmOptions;
/// use evenpath::{Csr, Device};
///
/// let device = Device::cpu();
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
/// let a = device.upload(&a)?;
/// let plan = a.plan_spgemm(&a, SpgemmOptions::default())?;
/// assert_eq!(plan.run()?.download()?.values(), [1.0, 8.0, 9.0]);
/// a.set_values(&[1.0, 1.0, 1.0])?;
/// assert_eq!(plan.run()?.download()?.values(), [1.0, 2.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpgemmPlan<V: Scalar, O: Offset = u32, C: Offset = O> {
    a: DeviceCsr<V, O>,
    b: DeviceCsr<V, O>,
    options: SpgemmOptions,
    strategy: Box<dyn Strategy<V, O, C>>,
    /// The pattern of the results, once there is one.
    pattern: OnceLock<Arc<DevicePattern<C>>>,
    analysis: (Event, Event),
    peak_bytes: u64,
}

/// C, with nothing kept.
pub(super) fn multiply<V: Scalar, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    options: SpgemmOptions,
) -> Result<DeviceCsr<V, C>, OpError> {
    let way = choose::once(operands, options, &Workspace::new(operands.device(), options))?;
    // It charges again for the memory that it found on the way.
    let FirstRun { arrays, .. } = way.multiply(operands, &Workspace::new(operands.device(), options))?;
    let (pattern, values) = arrays.into_pattern(operands.a.nrows(), operands.b.ncols());
    Ok(DeviceCsr::from_valid(pattern, values))
}

impl<V: Scalar, O: Offset, C: Offset> SpgemmPlan<V, O, C> {
    pub(super) fn new(operands: SpgemmOperands<'_, V, O>, options: SpgemmOptions) -> Result<Self, OpError> {
        let SpgemmOperands { a, b } = operands;
        let device = operands.device();
        let start = device.record()?;
        let workspace = Workspace::new(device, options);
        let strategy = choose::strategy(operands, options.method, &workspace)?;
        Ok(Self {
            a: a.clone(),
            b: b.clone(),
            options,
            strategy,
            pattern: OnceLock::new(),
            analysis: (start, device.record()?),
            peak_bytes: workspace.peak(),
        })
    }

    /// The product of the values that the matrices have now. The first run finds the columns, the next ones only
    /// values; only with [`SpgemmMethod::GlobalSort`](super::SpgemmMethod::GlobalSort), and where
    /// [`SpgemmMethod::TwoLevelSort`](super::SpgemmMethod::TwoLevelSort) works in batches, every run does everything.
    ///
    /// A graph may be captured with runs that find only values, that is, after a run outside of it. The second run
    /// keeps more memory ([`SpgemmPlanInfo::kept_bytes`]), which a graph uses if it is there, and does not allocate.
    ///
    /// # Errors
    ///
    /// If this thread captures a graph and the run would have to find the columns. If the product has more nonzeros than row offsets of its type count, or workspace and result would take more memory
    /// than they may. If the device was lost.
    pub fn run(&self) -> Result<DeviceCsr<V, C>, OpError> {
        let operands = SpgemmOperands { a: &self.a, b: &self.b };
        let workspace = Workspace::new(self.a.device(), self.options);
        if let Some(pattern) = self.known_pattern()? {
            let values = Requirement::of::<V>(pattern.column_indices.len() as u64);
            let _charge = workspace.take("the values of the result", values)?;
            let values = self.strategy.again(operands, pattern, &workspace)?;
            return Ok(DeviceCsr::from_valid(Arc::clone(pattern), values));
        }
        let FirstRun { arrays, repeats } = self.strategy.multiply(operands, &workspace)?;
        let (pattern, values) = arrays.into_pattern(self.a.nrows(), self.b.ncols());
        let pattern = Arc::new(pattern);
        if repeats {
            // If another run was first, its pattern is the same.
            let _ = self.pattern.set(Arc::clone(&pattern));
        }
        Ok(DeviceCsr::from_valid(pattern, values))
    }

    /// The pattern of the results, if an earlier run found it. A graph takes only what is known: what a capture finds is there when the
    /// graph was launched, and the plan would have it before.
    fn known_pattern(&self) -> Result<Option<&Arc<DevicePattern<C>>>, OpError> {
        let device = self.a.device();
        if self.options.method == SpgemmMethod::GlobalSort {
            device.refuse_in_graph(
                "a product by `global-sort` waits for the size of its result in every run",
            )?;
        }
        let known = self.pattern.get();
        if known.is_none() {
            device.refuse_in_graph("the first run of a product's plan waits for the size of its result")?;
        }
        Ok(known)
    }

    /// Returns the size of the product and the costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpgemmPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let Info { method, products, nonzeros, kept_bytes, sorted } = self.strategy.info();
        let (workspace_bytes, analysis_ms) = (self.peak_bytes, end.elapsed_since(start)?);
        Ok(SpgemmPlanInfo {
            method,
            products,
            sorted_rows: sorted.rows,
            sorted_products: sorted.products,
            nnz: nonzeros,
            workspace_bytes,
            kept_bytes,
            analysis_ms,
        })
    }
}

impl<V: Scalar, O: Offset, C: Offset> fmt::Debug for SpgemmPlan<V, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpgemmPlan({:?} times {:?})", self.a, self.b)
    }
}
