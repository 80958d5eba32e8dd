//! Products with vectors, with a copy or the frozen schedule.

use std::fmt;

use evenpath_kernels::hisparse::HiSparseSpmv;
use evenpath_simt::thread::WARP_SIZE;

use super::device::{Content, Nodes};
use super::frozen::Frozen;
use super::places::{self, ProductPlaces};
use super::{DeviceHiSparse, SpmvMethod, SpmvOptions};
use crate::device::{DeviceError, DeviceSlice, Event, Launch};
use crate::format::DeviceCsr;
use crate::op::spmv;
use crate::operand::check::check_product;
use crate::operand::tagged_sums::TaggedSums;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{Value, cpu};

/// A plan for y = αAx + βy with one matrix, its transposition and scale applied. By default it runs from a CSR copy that
/// the plan makes ([`SpmvMethod::Copied`]), and on request from the leaves, which are found once and traversed by each run
/// ([`SpmvMethod::Leaves`]).
///
/// Results are bitwise identical from run to run; [`SpmvOptions`] can make them so on different GPUs. For
/// products with the transpose, plan with `matrix.transpose()`, which shares the content and takes the same time.
///
/// ```
/// use evenpath::{Csr, Device, HiSparse, hisparse};
///
/// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let x = device.upload(&[1.0, 10.0])?;
/// let mut y = device.zeros(300)?;
/// a.transpose().plan_spmv(hisparse::SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!((y.get(0)?, y.get(299)?), (1.0, 32.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmvPlan<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    schedule: TreeSpmvSchedule<V>,
    analysis: (Event, Event),
}

/// The choices and costs of a plan for products with vectors.
///
/// ```
/// use evenpath::{Csr, Device, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
/// let info = tree.plan_spmv(hisparse::SpmvOptions::default())?.info()?;
/// println!("{}: {} bytes besides the tree, {:.3} ms to plan", info.method, info.workspace_bytes, info.analysis_ms);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SpmvPlanInfo {
    /// Source of the entries: [`Copied`](SpmvMethod::Copied) if products run from a CSR copy, otherwise
    /// [`Leaves`](SpmvMethod::Leaves); never [`Auto`](SpmvMethod::Auto).
    pub method: SpmvMethod,
    /// The number of leaves, counting shared ones at every position; 0 for a copy and on the CPU.
    pub leaves: u64,
    /// The number of parts: consecutive leaves in one row of leaves, the work of one block each.
    pub parts: u64,
    /// Bytes of device memory that the plan holds, besides the matrix: the copy; or 16 per leaf, 8 for every four of its entries,
    /// up to 8·D + 20 per part and, if rows of leaves are split into parts, up to 4·D values per part.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
    /// Number of warps among which leaves are divided; 0 on the CPU and for a copy.
    pub warps: u32,
    /// The choices of the plan for the copy, if there is one.
    pub copy: Option<spmv::SpmvPlanInfo>,
}

impl SpmvPlanInfo {
    /// The options that repeat the choices of the plan. With them, a plan for the same matrix on any other GPU, real or
    /// simulated, gives bitwise identical results.
    pub fn options(&self) -> SpmvOptions {
        let warps = (self.warps > 0).then_some(self.warps);
        let spmv = self.copy.as_ref().map_or_else(spmv::SpmvOptions::default, spmv::SpmvPlanInfo::options);
        SpmvOptions { method: self.method, spmv, warps }
    }
}

impl fmt::Display for SpmvPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, leaves, parts, workspace_bytes, analysis_ms, copy, .. } = self;
        if let Some(copy) = copy {
            return write!(
                f,
                "{method}: products run from a copy in CSR, {workspace_bytes} bytes of workspace, analyzed in {analysis_ms:.4} ms, multiplied by {copy}"
            );
        }
        write!(
            f,
            "{method}: {leaves} leaves in {parts} parts, {workspace_bytes} bytes of workspace, analyzed in {analysis_ms:.4} ms"
        )
    }
}

/// The implementation on the device.
enum TreeSpmvSchedule<V: Value> {
    Cpu,
    Leaves(Box<LeafSpmv<V>>),
    Copied(spmv::SpmvPlan<V>),
}

struct LeafSpmv<V: Value> {
    launch: Launch<HiSparseSpmv<V>>,
    frozen: Frozen,
    places: ProductPlaces,
    warps: u32,
    sums: TaggedSums,
}

impl<V: Value> LeafSpmv<V> {
    fn new<const D: usize>(nodes: &Nodes, is_transposed: bool, warps: Option<u32>) -> Result<Self, OpError> {
        let device = nodes.pool.device();
        let launcher = device.variant(if is_transposed { "Transposed" } else { "Plain" });
        let info = launcher.info();
        let (block_warps, chunk_quads) = (info.block_size / WARP_SIZE, info.tile_items() as u32);
        let warps = match warps {
            Some(warps) => warps.max(1),
            None => block_warps * launcher.resident_blocks()?,
        };
        let mut part_quads = 0;
        let (frozen, firsts) = Frozen::new::<D>(nodes, is_transposed, |quads| {
            part_quads = places::part_quads(quads, chunk_quads, warps / block_warps);
            part_quads
        })?;
        let places =
            ProductPlaces::new::<V, D>(nodes, is_transposed, &frozen, &firsts, (part_quads, chunk_quads))?;
        let parts = if frozen.is_cut() { 2 * frozen.parts as usize } else { 0 };
        let sums = TaggedSums::new::<V>(device, D * parts, parts)?;
        let launch = launcher.blocks(frozen.parts as usize)?;
        Ok(Self { launch, frozen, places, warps, sums })
    }

    fn workspace_bytes(&self) -> u64 {
        self.frozen.bytes() + self.places.bytes() + self.sums.bytes()
    }

    fn run<const D: usize>(
        &self,
        nodes: &Nodes,
        alpha: V,
        x: &DeviceSlice<V>,
        beta: V,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), DeviceError> {
        let mut work = self.sums.lock()?;
        let elements = y.len() as u64;
        let kernel = HiSparseSpmv {
            pool: nodes.view(),
            schedule: self.frozen.view(),
            places: self.places.view(),
            x: x.as_global(),
            update: update(alpha, beta, y),
            sums: work.view(),
            elements,
            d_log2: D.ilog2(),
        };
        // SAFETY: the tree is valid and the schedule is of it, so that leaves are nodes of the pool and their entries are
        // inside the matrix. The vectors' lengths were checked. There are sums and counters for every part if strips have
        // several. All are on this device, and buffers are freed in the stream's order.
        unsafe { self.launch.launch(kernel) }
    }
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Prepares products y = αAx + βy: A is m x n, `x` has n elements, and `y` has m. By default copies the matrix to CSR,
    /// and [`SpmvPlan::run`] does not read the tree ([`SpmvMethod::Copied`]); on request finds the leaves
    /// ([`SpmvMethod::Leaves`]). [`SpmvPlan::info`] reports which. Waits for the device once per level of the tree, and a
    /// few more times.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let device = Device::best()?;
    /// let a = device.upload(&a)?.to_hisparse::<128>(hisparse::Options::default())?;
    /// let (x, mut y) = (device.upload(&[1.0, 10.0, 100.0])?, device.zeros(2)?);
    /// let plan = a.plan_spmv(hisparse::SpmvOptions::default())?;
    /// plan.run(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [201.0, 30.0]);
    /// println!("{}", plan.info()?); // on a GPU: copied: products run from a copy in CSR, …
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the workspace ([`SpmvPlanInfo::workspace_bytes`]; temporarily 40 bytes
    /// per leaf while leaves are sorted, and for a copy as for [`to_csr`](Self::to_csr)), the matrix is too large for one
    /// launch, a copy is requested and there are 2³² nonzeros or more, or the device was lost. With a copy, also as for
    /// [`DeviceCsr::plan_spmv`].
    pub fn plan_spmv(&self, options: SpmvOptions) -> Result<SpmvPlan<V, D>, OpError> {
        let start = self.device().record()?;
        let matrix = self.with_number_as_scale()?;
        let schedule = match matrix.content() {
            Content::Host(_) => TreeSpmvSchedule::Cpu,
            Content::Machine(nodes) => matrix.schedule(nodes, options)?,
        };
        let analysis = (start, self.device().record()?);
        Ok(SpmvPlan { matrix: matrix.into_owned(), schedule, analysis })
    }

    /// Returns whether a plan with this method uses the leaves: if they are requested, or if a copy could not count its nonzeros.
    pub(super) fn is_by_leaves(&self, method: SpmvMethod) -> bool {
        let is_countable = u32::try_from(self.nnz()).is_ok();
        method == SpmvMethod::Leaves || method == SpmvMethod::Auto && !is_countable
    }

    fn schedule(&self, nodes: &Nodes, options: SpmvOptions) -> Result<TreeSpmvSchedule<V>, OpError> {
        if self.is_by_leaves(options.method) {
            let leaves = LeafSpmv::new::<D>(nodes, self.is_transposed(), options.warps)?;
            return Ok(TreeSpmvSchedule::Leaves(Box::new(leaves)));
        }
        let copy: DeviceCsr<V> = self.to_csr()?;
        Ok(TreeSpmvSchedule::Copied(copy.into_plan(options.spmv)?))
    }
}

impl<V: Value, const D: usize> SpmvPlan<V, D> {
    /// Computes y = `alpha`·A·`x` + `beta`·y: A is m x n, `x` has n elements, and y has m. The launch is
    /// asynchronous, ordered on the device's stream. If `beta` is 0, y is overwritten without being read. If
    /// `alpha` is 0, the product is still computed: infinity and NaN in A or `x` propagate to y.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, or if a factor is not one element, or any of them
    /// is on another device; then nothing is written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.matrix.device(), (alpha, beta), y, |alpha, beta, y| {
            self.multiply(alpha, x, beta, y)
        })
    }

    fn multiply(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_product(matrix.device(), matrix.shape(), x, y)?;
        match (&self.schedule, matrix.content()) {
            (TreeSpmvSchedule::Copied(plan), _) => plan.run(alpha, x, beta, y)?,
            (TreeSpmvSchedule::Leaves(leaves), Content::Machine(nodes)) => {
                let Some(alpha) = matrix.factor().times(alpha).number() else {
                    // Applied one after the other, the factors are in range.
                    return self.run(&matrix.device().upload(&[alpha])?, x, beta, y);
                };
                leaves.run::<D>(nodes, alpha, x, beta, y)?;
            }
            _ => {
                if let (Some(host), Some(x), Some(y)) = (matrix.host(), x.host_slice(), y.host_slice_mut()) {
                    cpu::hisparse::multiply(&host, 1, alpha, x, beta, y)?;
                }
            }
        }
        Ok(())
    }

    /// The choices and costs of the plan; no costs on the CPU. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmvPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let info = SpmvPlanInfo { analysis_ms, ..SpmvPlanInfo::default() };
        Ok(match &self.schedule {
            TreeSpmvSchedule::Cpu => SpmvPlanInfo { method: SpmvMethod::Leaves, ..info },
            TreeSpmvSchedule::Copied(plan) => SpmvPlanInfo {
                method: SpmvMethod::Copied,
                workspace_bytes: plan.bytes(),
                copy: Some(plan.info()?),
                ..info
            },
            TreeSpmvSchedule::Leaves(leaves) => SpmvPlanInfo {
                method: SpmvMethod::Leaves,
                leaves: u64::from(leaves.frozen.leaves),
                parts: u64::from(leaves.frozen.parts),
                warps: leaves.warps,
                workspace_bytes: leaves.workspace_bytes(),
                ..info
            },
        })
    }
}

impl<V: Value, const D: usize> fmt::Debug for SpmvPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvPlan({:?})", self.matrix)
    }
}
