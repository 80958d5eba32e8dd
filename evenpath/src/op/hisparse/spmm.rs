//! Products with dense matrices, with a copy or the frozen schedule.

use std::fmt;

use evenpath_kernels::hisparse::{HiSparseSpmm, StridedDense, StridedMut, spmm_sums_bytes};
use evenpath_simt::thread::WARP_SIZE;

use super::device::{Content, Nodes};
use super::frozen::{Frozen, MOST_QUADS};
use super::{DeviceHiSparse, SpmmOptions, SpmvMethod};
use crate::device::Event;
use crate::format::dense::check_dense;
use crate::format::{DeviceCsr, DeviceDense};
use crate::op::spmm;
use crate::operand::{Factor, OpError};
use crate::{DeviceError, Value, cpu};

/// A plan for `C = αAB + βC` with one matrix, its transposition and scale applied, and dense B and C with any number of
/// columns. By default it runs from a CSR copy that the plan makes ([`SpmvMethod::Copied`]), and on request from the leaves,
/// which are found once and traversed by each run once per 32 columns ([`SpmvMethod::Leaves`]).
///
/// Results are bitwise identical from run to run. [`SpmmOptions::multiprocessors`] makes results with a copy bitwise
/// identical on different GPUs.
///
/// ```
/// use evenpath::{Csr, Device, DeviceDense, HiSparse, Layout, hisparse};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let device = Device::cpu();
/// let b = device.upload(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0])?;
/// let b = DeviceDense::try_new(b, 3, 2, Layout::RowMajor)?;
/// let mut c = device.zeros_dense(2, 2, Layout::RowMajor)?;
/// let plan = device.upload(&a)?.plan_spmm(hisparse::SpmmOptions::default())?;
/// plan.run(1.0, &b, 0.0, &mut c)?;
/// assert_eq!(c.as_vec().download()?, [201.0, 402.0, 30.0, 60.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmmPlan<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    schedule: TreeSpmmSchedule<V>,
    analysis: (Event, Event),
}

/// The choices and costs of a plan for products with dense matrices.
///
/// ```
/// use evenpath::{Csr, Device, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
/// let info = tree.plan_spmm(hisparse::SpmmOptions::default())?.info()?;
/// println!("{info}");
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpmmPlanInfo {
    /// Source of the entries: [`Copied`](SpmvMethod::Copied) if products run from a CSR copy, otherwise
    /// [`Leaves`](SpmvMethod::Leaves); never [`Auto`](SpmvMethod::Auto).
    pub method: SpmvMethod,
    /// The number of leaves, counting shared ones at every position; 0 for a copy and on the CPU.
    pub leaves: u64,
    /// Bytes of device memory that the plan holds, besides the matrix.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
    /// The choices of the plan for the copy, if there is one.
    pub copy: Option<spmm::SpmmPlanInfo>,
}

impl SpmmPlanInfo {
    /// The options that repeat the choices of the plan. With them, a plan for the same matrix on any other GPU, real or
    /// simulated, gives bitwise identical results.
    pub fn options(&self) -> SpmmOptions {
        let multiprocessors = self.copy.as_ref().and_then(|copy| copy.options().multiprocessors);
        SpmmOptions { method: self.method, multiprocessors }
    }
}

impl fmt::Display for SpmmPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, leaves, workspace_bytes, analysis_ms, copy } = self;
        match copy {
            Some(_) => write!(f, "{method}: products run from a copy in CSR")?,
            None => write!(f, "{method}: {leaves} leaves")?,
        }
        write!(f, ", {workspace_bytes} bytes of workspace, analyzed in {analysis_ms:.4} ms")?;
        copy.as_ref().map_or(Ok(()), |copy| write!(f, ", multiplied by {copy}"))
    }
}

/// The implementation on the device.
enum TreeSpmmSchedule<V: Value> {
    Cpu,
    Leaves(Frozen),
    /// A plan for the copy, and the copy's size in bytes.
    Copied(spmm::SpmmPlan<V>, u64),
}

/// The number of columns that a copy has workspace for; more are processed in several passes.
const PASS_COLUMNS: usize = 32;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Prepares products `C = αAB + βC` with dense B and C: A is m x n, B n x k, and C m x k, for any k. By default copies
    /// the matrix to CSR, and [`SpmmPlan::run`] does not read the tree ([`SpmvMethod::Copied`]); on request finds the
    /// leaves ([`SpmvMethod::Leaves`]), from which products are slow. [`SpmmPlan::info`] reports which. Waits for the
    /// device once per level of the tree, and a few more times.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceDense, Layout, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let device = Device::best()?;
    /// let a = device.upload(&a)?.to_hisparse::<128>(hisparse::Options::default())?;
    /// let b = device.upload(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0])?;
    /// let b = DeviceDense::try_new(b, 3, 2, Layout::RowMajor)?;
    /// let mut c = device.zeros_dense(2, 2, Layout::RowMajor)?;
    /// let plan = a.plan_spmm(hisparse::SpmmOptions::default())?;
    /// plan.run(1.0, &b, 0.0, &mut c)?;
    /// assert_eq!(c.as_vec().download()?, [201.0, 402.0, 30.0, 60.0]);
    /// println!("{}", plan.info()?); // on a GPU: copied: products run from a copy in CSR, …
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory for a copy (as for [`to_csr`](Self::to_csr)) or for the list of leaves (16 bytes each,
    /// 40 while they are sorted), the matrix is too large for one launch, a copy is requested and there are 2³² nonzeros or
    /// more, or the device was lost.
    pub fn plan_spmm(&self, options: SpmmOptions) -> Result<SpmmPlan<V, D>, OpError> {
        let start = self.device().record()?;
        let matrix = self.with_number_as_scale()?;
        let schedule = match matrix.content() {
            Content::Host(_) => TreeSpmmSchedule::Cpu,
            // A strip is the work of one warp for every 32 columns, regardless of its number of parts.
            Content::Machine(nodes) if matrix.is_by_leaves(options.method) => {
                let (frozen, _) = Frozen::new::<D>(nodes, matrix.is_transposed(), |_| MOST_QUADS)?;
                TreeSpmmSchedule::Leaves(frozen)
            }
            Content::Machine(_) => {
                let copy: DeviceCsr<V> = matrix.to_csr()?;
                let bytes = copy.bytes();
                let spmm = spmm::SpmmOptions::default()
                    .with_columns(PASS_COLUMNS)
                    .with_multiprocessors(options.multiprocessors);
                TreeSpmmSchedule::Copied(copy.plan_spmm(spmm)?, bytes)
            }
        };
        let analysis = (start, self.device().record()?);
        Ok(SpmmPlan { matrix: matrix.into_owned(), schedule, analysis })
    }
}

impl<V: Value, const D: usize> SpmmPlan<V, D> {
    /// Computes C = `alpha`·A·B + `beta`·C: A is m x n, B n x k, and C m x k. The launch is asynchronous, ordered
    /// on the device's stream. B and C may have different layouts; row-major B is fastest. If `beta` is 0, C is
    /// overwritten without being read. If `alpha` is 0, the product is still computed: infinity and NaN in A or B
    /// propagate to C.
    ///
    /// # Errors
    ///
    /// If B does not have one row per column of A, C does not have the rows of A and the columns of B, a factor is not
    /// one element, any of them is on another device, or there are too many columns for one launch. Then nothing is
    /// written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        b: &DeviceDense<V>,
        beta: impl Into<Factor<'f, V>>,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let device = self.matrix.device();
        spmm::dense_with_numbers(device, (alpha, beta), c, |alpha, beta, c| self.multiply(alpha, b, beta, c))
    }

    fn multiply(&self, alpha: V, b: &DeviceDense<V>, beta: V, c: &mut DeviceDense<V>) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_dense(matrix.device(), ("B", b), (matrix.ncols(), b.ncols()))?;
        check_dense(matrix.device(), ("C", c), (matrix.nrows(), b.ncols()))?;
        if c.nrows() == 0 || c.ncols() == 0 {
            return Ok(());
        }
        match (&self.schedule, matrix.content()) {
            (TreeSpmmSchedule::Copied(plan, _), _) => plan.run(alpha, b, beta, c)?,
            (TreeSpmmSchedule::Leaves(frozen), Content::Machine(nodes)) => {
                let Some(alpha) = matrix.factor().times(alpha).number() else {
                    // Applied one after the other, the factors are in range.
                    return self.run(&matrix.device().upload(&[alpha])?, b, beta, c);
                };
                self.launch(nodes, frozen, alpha, b, beta, c)?;
            }
            _ => self.run_on_cpu(alpha, b, beta, c)?,
        }
        Ok(())
    }

    fn launch(
        &self,
        nodes: &Nodes,
        frozen: &Frozen,
        alpha: V,
        b: &DeviceDense<V>,
        beta: V,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let matrix = &self.matrix;
        let blocks = frozen.strips as usize * b.ncols().div_ceil(WARP_SIZE as usize);
        let shared = spmm_sums_bytes(D.ilog2(), V::SIZE as u32);
        let launch = matrix.device().kernel().shared_bytes(shared).blocks(blocks)?;
        let ((b_row_stride, b_column_stride), (c_row_stride, c_column_stride)) = (b.strides(), c.strides());
        let kernel = HiSparseSpmm {
            pool: nodes.view(),
            schedule: frozen.view(),
            b: StridedDense {
                values: b.as_vec().as_global(),
                row_stride: b_row_stride as u64,
                column_stride: b_column_stride as u64,
            },
            c: StridedMut {
                values: c.as_mut_slice().as_global_mut(),
                row_stride: c_row_stride as u64,
                column_stride: c_column_stride as u64,
            },
            rows: matrix.nrows() as u64,
            columns: b.ncols() as u32,
            d_log2: D.ilog2(),
            is_transposed: u32::from(matrix.is_transposed()),
            alpha,
            beta,
        };
        // SAFETY: the tree is valid and the schedule is of it, so that leaves are nodes of the pool and their entries are
        // inside the matrix, whose shape matches B and C, each with its own strides. A grid within the limit has fewer than
        // 2³² columns. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    fn run_on_cpu(
        &self,
        alpha: V,
        b: &DeviceDense<V>,
        beta: V,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let (b_strides, c_strides, columns) = (b.strides(), c.strides(), b.ncols());
        let (b_rows, c_rows) = (b.nrows(), c.nrows());
        let (host, b) = (self.matrix.host(), b.as_vec().host_slice());
        if let (Some(host), Some(b), Some(c)) = (host, b, c.as_mut_slice().host_slice_mut()) {
            let places = |rows: usize, (row_stride, column_stride): (usize, usize)| {
                (0..rows).flat_map(move |row| {
                    (0..columns).map(move |column| row * row_stride + column * column_stride)
                })
            };
            let by_rows: Vec<V> = places(b_rows, b_strides).map(|place| b[place]).collect();
            let mut result: Vec<V> = places(c_rows, c_strides).map(|place| c[place]).collect();
            cpu::hisparse::multiply(&host, columns, alpha, &by_rows, beta, &mut result)?;
            places(c_rows, c_strides).zip(result).for_each(|(place, value)| c[place] = value);
        }
        Ok(())
    }

    /// The choices and costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmmPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let leaves = SpmvMethod::Leaves;
        let info = SpmmPlanInfo { method: leaves, leaves: 0, workspace_bytes: 0, analysis_ms, copy: None };
        Ok(match &self.schedule {
            TreeSpmmSchedule::Cpu => info,
            TreeSpmmSchedule::Leaves(frozen) => {
                SpmmPlanInfo { leaves: u64::from(frozen.leaves), workspace_bytes: frozen.bytes(), ..info }
            }
            TreeSpmmSchedule::Copied(plan, bytes) => {
                let copy = plan.info()?;
                let workspace_bytes = bytes + copy.workspace_bytes;
                let method = SpmvMethod::Copied;
                SpmmPlanInfo { method, workspace_bytes, copy: Some(copy), ..info }
            }
        })
    }
}

impl<V: Value, const D: usize> fmt::Debug for SpmmPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmmPlan({:?})", self.matrix)
    }
}
