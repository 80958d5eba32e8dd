//! Products with vectors by the frozen schedule.

use std::fmt;

use evenpath_kernels::hisparse::{HiSparseSpmv, sums_bytes};
use evenpath_kernels::update::Update;
use evenpath_simt::thread::WARP_SIZE;

use super::DeviceHiSparse;
use super::device::{Content, Nodes};
use super::frozen::Frozen;
use crate::device::{DeviceError, DeviceVec, Event, Launch};
use crate::op::operands::check_product;
use crate::op::spmv::TaggedSums;
use crate::op::{DeviceCsr, OpError, SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo};
use crate::{Value, cpu};

/// Where a plan of products with a HiSparse matrix takes the entries from.
///
/// ```
/// use evenpath::{Csr, Device, HiSparseOptions, HiSparseSpmvMode, HiSparseSpmvOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload_hisparse(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let plan = tree.plan_spmv(HiSparseSpmvOptions::with_mode(HiSparseSpmvMode::Copied))?;
/// println!("{:?}", plan.info()?.mode); // on the CPU there is but one
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpmvMode {
    /// As a copy, which is faster, of up to 2³² − 1 nonzeros; else from the leaves.
    #[default]
    Auto,
    /// From the leaves, which the plan lists: 16 bytes a leaf.
    Leaves,
    /// The plan holds a copy in rows. Where these are even and their columns lie in a few places, it has columns of 16
    /// bits ([`SpmvMethod::NarrowColumns`](crate::SpmvMethod::NarrowColumns)) and takes 2 bytes a nonzero and its value;
    /// else 4 bytes and its value, multiplied by a [plan](DeviceCsr::plan_spmv) of its own. It is faster than the leaves:
    /// by a quarter to a half where these are large, several times where they have a few entries.
    Copied,
}

/// How [`DeviceHiSparse::plan_spmv`] and [`DeviceHiSparse::plan_spmm`] plan.
///
/// What is not given follows the device. With everything given that the mode asks for, GPUs, real and simulated, agree to the
/// last bit; [`HiSparseSpmvPlanInfo::options`] are the options that repeat on another GPU what a plan of products with vectors
/// chose.
///
/// ```
/// use evenpath::{HiSparseSpmvMode, HiSparseSpmvOptions};
///
/// let options = HiSparseSpmvOptions::with_mode(HiSparseSpmvMode::Leaves); // no copy of the matrix
/// assert_ne!(options.mode, HiSparseSpmvOptions::default().mode);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseSpmvOptions {
    /// Where entries are taken from. The CPU takes them from the leaves.
    pub mode: HiSparseSpmvMode,
    /// How a copy is multiplied with vectors. By default its plan chooses, of all methods.
    pub spmv: SpmvOptions,
    /// Multiprocessors that products of a copy with dense matrices are divided for, as
    /// [`SpmmOptions::multiprocessors`](crate::SpmmOptions::multiprocessors).
    pub multiprocessors: Option<u32>,
    /// Warps that leaves are divided among for products with vectors; by default as many as the device runs at once.
    pub warps: Option<u32>,
}

impl HiSparseSpmvOptions {
    /// The given mode, and defaults for the rest.
    pub const fn with_mode(mode: HiSparseSpmvMode) -> Self {
        let spmv = SpmvOptions::with_method(SpmvMethod::Auto);
        Self { mode, spmv, multiprocessors: None, warps: None }
    }

    /// The same with options for products of a copy with vectors.
    #[must_use]
    pub const fn spmv(self, spmv: SpmvOptions) -> Self {
        Self { spmv, ..self }
    }

    /// The same with products of a copy with dense matrices divided for so many multiprocessors.
    #[must_use]
    pub const fn multiprocessors(self, multiprocessors: u32) -> Self {
        Self { multiprocessors: Some(multiprocessors), ..self }
    }

    /// The same with leaves divided among so many warps.
    #[must_use]
    pub const fn warps(self, warps: u32) -> Self {
        Self { warps: Some(warps), ..self }
    }
}

/// y = αAx + βy for one matrix, transposed and scaled as it is: its leaves are found once, and each run goes through them.
///
/// The result is bitwise the same from run to run; [`HiSparseSpmvOptions`] say what that takes on different GPUs. A plan of the transpose is one of `matrix.transpose()`; it takes the
/// same time, and the same content.
///
/// ```
/// use evenpath::{Csr, Device, HiSparse, HiSparseOptions, HiSparseSpmvOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(HiSparseOptions::default())?;
/// let device = Device::cpu();
/// let a = device.upload_hisparse(&a)?;
/// let x = device.upload_slice(&[1.0, 10.0])?;
/// let mut y = device.zeros(300)?;
/// a.transpose().plan_spmv(HiSparseSpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!((y.get(0)?, y.get(299)?), (1.0, 32.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HiSparseSpmvPlan<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    schedule: Schedule<V>,
    analysis: (Event, Event),
}

/// What a plan costs, and what it keeps beside the matrix.
///
/// ```
/// use evenpath::{Csr, Device, HiSparseOptions, HiSparseSpmvOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload_hisparse(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let info = tree.plan_spmv(HiSparseSpmvOptions::default())?.info()?;
/// println!("{:?}: {} bytes beside the tree, {:.3} ms to plan", info.mode, info.workspace_bytes, info.analysis_ms);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct HiSparseSpmvPlanInfo {
    /// Where entries are taken from; never [`Auto`](HiSparseSpmvMode::Auto).
    pub mode: HiSparseSpmvMode,
    /// Leaves, at every place where they are referred to.
    pub leaves: u64,
    /// Runs of leaves of one row of leaves, each a warp's work.
    pub parts: u64,
    /// Bytes of device memory that the plan holds beside the matrix: the copy; or 16 a leaf, some 20 a part, and where rows
    /// of leaves are cut into parts, 4·D values a part.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
    /// Warps that the leaves are divided among; 0 on the CPU and for a copy.
    pub warps: u32,
    /// What the plan of the copy chose, where there is one.
    pub copy: Option<SpmvPlanInfo>,
}

impl HiSparseSpmvPlanInfo {
    /// The options that ask for what the plan chose. With them, a plan of the same matrix on any other GPU, real or
    /// simulated, gives the same bits.
    pub fn options(&self) -> HiSparseSpmvOptions {
        let warps = (self.warps > 0).then_some(self.warps);
        let spmv = self.copy.as_ref().map_or_else(SpmvOptions::default, SpmvPlanInfo::options);
        HiSparseSpmvOptions { spmv, warps, ..HiSparseSpmvOptions::with_mode(self.mode) }
    }
}

impl fmt::Display for HiSparseSpmvPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leaves, parts, workspace_bytes, analysis_ms, copy, .. } = self;
        if let Some(copy) = copy {
            return write!(
                f,
                "a copy by rows, {workspace_bytes} bytes of workspace, analysed in {analysis_ms:.4} ms, multiplied by {copy}"
            );
        }
        write!(
            f,
            "{leaves} leaves in {parts} parts, {workspace_bytes} bytes of workspace, analysed in {analysis_ms:.4} ms"
        )
    }
}

/// The largest size of a warp's sums in shared memory, in bytes.
const SUMS_BYTES: u32 = 8 << 10;

/// How a device does it.
enum Schedule<V: Value> {
    Cpu,
    Leaves(Box<Leaves<V>>),
    Copied(SpmvPlan<V>),
}

struct Leaves<V: Value> {
    launch: Launch<HiSparseSpmv<V>>,
    frozen: Frozen,
    warps: u32,
    copies_log2: u32,
    sums: TaggedSums,
}

impl<V: Value> Leaves<V> {
    fn new<const D: usize>(nodes: &Nodes, is_transposed: bool, warps: Option<u32>) -> Result<Self, OpError> {
        let device = nodes.pool.device();
        let bytes = |copies_log2| sums_bytes(D.ilog2(), copies_log2, V::SIZE as u32);
        let copies_log2 = (2..=5).rev().find(|&copies_log2| bytes(copies_log2) <= SUMS_BYTES).unwrap_or(2);
        let launcher = device.variant(if is_transposed { "Transposed" } else { "Plain" });
        let block_warps = launcher.info().block_size / WARP_SIZE;
        let launcher = launcher.shared_bytes(block_warps * bytes(copies_log2));
        let warps = match warps {
            Some(warps) => warps.max(1),
            None => block_warps * launcher.resident_blocks()?,
        };
        let frozen = Frozen::new::<D>(nodes, is_transposed, warps)?;
        let parts = if frozen.is_cut() { 2 * frozen.parts as usize } else { 0 };
        let sums = TaggedSums::new::<V>(device, D * parts, parts)?;
        let launch = launcher.warps(frozen.parts as usize)?;
        Ok(Self { launch, frozen, warps, copies_log2, sums })
    }

    fn workspace_bytes(&self) -> u64 {
        self.frozen.bytes() + self.sums.bytes()
    }

    fn run<const D: usize>(
        &self,
        matrix: &DeviceHiSparse<V, D>,
        nodes: &Nodes,
        alpha: V,
        x: &DeviceVec<V>,
        beta: V,
        y: &mut DeviceVec<V>,
    ) -> Result<(), DeviceError> {
        let mut work = self.sums.lock();
        let elements = y.len() as u64;
        let kernel = HiSparseSpmv {
            pool: nodes.view(),
            schedule: self.frozen.view(),
            x: x.as_global(),
            update: Update { y: y.as_global_mut(), alpha: alpha * matrix.scale(), beta },
            sums: work.sums.as_global_mut(),
            arrived: work.arrived.as_global_mut(),
            run: work.run,
            elements,
            d_log2: D.ilog2(),
            copies_log2: self.copies_log2,
        };
        // SAFETY: the tree is valid and the schedule is of it, so that leaves are nodes of the pool and their entries are
        // inside the matrix. The vectors' lengths were checked. There are sums and counters for every part if strips have
        // several. All are on this device, and buffers are freed in the stream's order.
        unsafe { self.launch.launch(kernel) }
    }
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Finds the matrix's leaves, or copies it, for [`HiSparseSpmvPlan::run`]. Waits for the device once a level of the
    /// tree, and a few times more.
    ///
    /// # Errors
    ///
    /// If there is no memory for the workspace ([`HiSparseSpmvPlanInfo::workspace_bytes`]; while leaves are sorted, 40
    /// bytes a leaf, and where the plan copies, what [`to_csr`](Self::to_csr) takes), the matrix is too large for one launch,
    /// a copy is asked for and there are 2³² nonzeros or more, or the device was lost. For a copy, as for
    /// [`DeviceCsr::plan_spmv`].
    pub fn plan_spmv(&self, options: HiSparseSpmvOptions) -> Result<HiSparseSpmvPlan<V, D>, OpError> {
        let start = self.device().record()?;
        let schedule = match self.content() {
            Content::Host(_) => Schedule::Cpu,
            Content::Machine(nodes) => self.schedule(nodes, options)?,
        };
        let analysis = (start, self.device().record()?);
        Ok(HiSparseSpmvPlan { matrix: self.clone(), schedule, analysis })
    }

    /// Whether a plan of this mode goes by the leaves: where they are asked for, and where a copy cannot count its nonzeros.
    pub(super) fn is_by_leaves(&self, mode: HiSparseSpmvMode) -> bool {
        let is_countable = u32::try_from(self.nnz()).is_ok();
        mode == HiSparseSpmvMode::Leaves || mode == HiSparseSpmvMode::Auto && !is_countable
    }

    fn schedule(&self, nodes: &Nodes, options: HiSparseSpmvOptions) -> Result<Schedule<V>, OpError> {
        if self.is_by_leaves(options.mode) {
            let leaves = Leaves::new::<D>(nodes, self.is_transposed(), options.warps)?;
            return Ok(Schedule::Leaves(Box::new(leaves)));
        }
        let copy: DeviceCsr<V> = self.to_csr()?;
        Ok(Schedule::Copied(copy.into_plan(options.spmv)?))
    }
}

impl<V: Value, const D: usize> HiSparseSpmvPlan<V, D> {
    /// y = `alpha`·A·`x` + `beta`·y, ordered on the device's stream; the call does not wait for it. With `beta` zero, y
    /// is overwritten, whatever it held. With `alpha` zero the product is computed all the same: what is infinite or no
    /// number in A or `x` makes y no number.
    ///
    /// # Errors
    ///
    /// If `x` has not one element a column, or `y` one a row, or either is on another device; then nothing is
    /// written. If the device was lost.
    pub fn run(&self, alpha: V, x: &DeviceVec<V>, beta: V, y: &mut DeviceVec<V>) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_product(matrix.device(), (matrix.rows(), matrix.cols()), x, y)?;
        match (&self.schedule, matrix.content()) {
            (Schedule::Copied(plan), _) => plan.run(alpha, x, beta, y)?,
            (Schedule::Leaves(leaves), Content::Machine(nodes)) => {
                leaves.run(matrix, nodes, alpha, x, beta, y)?;
            }
            _ => {
                if let (Some(host), Some(x), Some(y)) = (matrix.host(), x.host_slice(), y.host_slice_mut()) {
                    cpu::hisparse::multiply(&host, 1, alpha, x, beta, y)?;
                }
            }
        }
        Ok(())
    }

    /// What the plan costs; nothing on the CPU. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<HiSparseSpmvPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let info = HiSparseSpmvPlanInfo { analysis_ms, ..HiSparseSpmvPlanInfo::default() };
        Ok(match &self.schedule {
            Schedule::Cpu => HiSparseSpmvPlanInfo { mode: HiSparseSpmvMode::Leaves, ..info },
            Schedule::Copied(plan) => HiSparseSpmvPlanInfo {
                mode: HiSparseSpmvMode::Copied,
                workspace_bytes: plan.bytes(),
                copy: Some(plan.info()?),
                ..info
            },
            Schedule::Leaves(leaves) => HiSparseSpmvPlanInfo {
                mode: HiSparseSpmvMode::Leaves,
                leaves: u64::from(leaves.frozen.leaves),
                parts: u64::from(leaves.frozen.parts),
                warps: leaves.warps,
                workspace_bytes: leaves.workspace_bytes(),
                ..info
            },
        })
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparseSpmvPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiSparseSpmvPlan({:?})", self.matrix)
    }
}
