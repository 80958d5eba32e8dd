use std::fmt;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv::{MergeFixup, MergePartition, MergeTile};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::{DeviceCsr, MAX_GRID, OpError};
use crate::device::{Device, DeviceError, DeviceKind, DeviceVec, Event};
use crate::policy::{self, Tile};
use crate::{Offset, Value, cpu};

/// How [`DeviceCsr::plan_spmv`] plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpmvOptions {
    /// The method; by default the plan chooses.
    pub method: SpmvMethod,
}

/// Methods of SpMV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SpmvMethod {
    /// Whatever the plan takes to be fastest.
    #[default]
    Auto,
    /// 2D merge path: equal shares of row ends and nonzeros, whatever the shape (Merrill, Garland, SC 2016).
    MergePath,
}

/// y = αAx + βy for one matrix, analysed once and run as often as needed.
///
/// The result is bitwise the same from run to run. The matrix's values may change
/// ([`DeviceCsr::set_values`]); its pattern cannot.
///
/// ```
/// use evenpath::{Csr, Device, SpmvOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let x = device.upload_slice(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// let plan = a.plan_spmv(SpmvOptions::default())?;
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.to_vec()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmvPlan<V: Value, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    schedule: Schedule<V>,
    analysis: (Event, Event),
}

enum Schedule<V: Value> {
    /// The CPU decomposes as it goes.
    Cpu,
    Merge(Merge<V>),
}

/// What the merge-path kernels need beside the matrix.
struct Merge<V: Value> {
    kernels: MergeKernels,
    tiles: u32,
    /// First row of each tile, and the number of rows; `tiles` + 1.
    tile_rows: DeviceVec<u32>,
    /// One element a tile. Locked from a tile's launch to its fix-up's, which belong together.
    carries: Mutex<DeviceVec<V>>,
}

#[derive(Clone, Copy)]
struct MergeKernels {
    partition: &'static KernelInfo,
    tile: &'static KernelInfo,
    fixup: &'static KernelInfo,
}

/// What a plan chose, and what it costs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpmvPlanInfo {
    /// The method.
    pub method: SpmvMethod,
    /// Why it was chosen.
    pub reason: &'static str,
    /// The tile, on devices that run kernels.
    pub tile: Option<Tile>,
    /// Tiles that the matrix is cut into.
    pub tiles: u64,
    /// Bytes of device memory that the plan holds beside the matrix.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Analyses the matrix for [`SpmvPlan::run`]. The matrix need not be canonical: duplicates are summed, in order.
    ///
    /// # Errors
    ///
    /// If there is no memory for the workspace (some 4 bytes plus a value for each tile of about a thousand nonzeros),
    /// the matrix is too large for one launch, or the device was lost.
    pub fn plan_spmv(&self, options: SpmvOptions) -> Result<SpmvPlan<V, O>, OpError> {
        let SpmvOptions { method: SpmvMethod::Auto | SpmvMethod::MergePath } = options;
        let device = self.device();
        let start = device.record()?;
        let schedule = match device.kind() {
            DeviceKind::Cpu => Schedule::Cpu,
            DeviceKind::Cuda(_) | DeviceKind::Simulated => Schedule::Merge(Merge::analyse(self)?),
        };
        let analysis = (start, device.record()?);
        Ok(SpmvPlan { matrix: self.clone(), schedule, analysis })
    }
}

impl<V: Value, O: Offset> SpmvPlan<V, O> {
    /// y = `alpha`·A·`x` + `beta`·y, ordered on the device's stream; the call does not wait for it. With `beta` zero, y
    /// is overwritten, whatever it held. With `alpha` zero the product is computed all the same: what is infinite or no
    /// number in A or `x` makes y no number. `alpha` multiplies the parts of a row that is cut, not their sum.
    ///
    /// # Errors
    ///
    /// If `x` has not one element a column, or `y` one a row, or either is on another device; then nothing is
    /// written. If the device was lost.
    pub fn run(&self, alpha: V, x: &DeviceVec<V>, beta: V, y: &mut DeviceVec<V>) -> Result<(), OpError> {
        self.check_vector("x", x, self.matrix.cols())?;
        self.check_vector("y", y, self.matrix.rows())?;
        match &self.schedule {
            Schedule::Merge(merge) => Ok(merge.run(&self.matrix, alpha, x, beta, y)?),
            Schedule::Cpu => {
                let values = self.matrix.values();
                let view = self.matrix.pattern().host_view(&values);
                if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
                    cpu::spmv(view, alpha, x, beta, y);
                }
                Ok(())
            }
        }
    }

    /// What the plan chose, and what it costs. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmvPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let method = SpmvMethod::MergePath;
        let reason = "the only method there is";
        Ok(match &self.schedule {
            Schedule::Cpu => {
                let tiles = cpu::spmv_tiles(self.matrix.rows(), self.matrix.nnz()) as u64;
                SpmvPlanInfo { method, reason, tile: None, tiles, workspace_bytes: 0, analysis_ms }
            }
            Schedule::Merge(merge) => {
                let tiles = u64::from(merge.tiles);
                let tile = Some(merge.kernels.tile());
                SpmvPlanInfo { method, reason, tile, tiles, workspace_bytes: merge.bytes(), analysis_ms }
            }
        })
    }

    fn check_vector(
        &self,
        operand: &'static str,
        vector: &DeviceVec<V>,
        needed: usize,
    ) -> Result<(), OpError> {
        self.matrix.device().check_same(vector.device())?;
        if vector.len() == needed {
            return Ok(());
        }
        let (rows, cols) = (self.matrix.rows(), self.matrix.cols());
        Err(OpError::VectorLength { operand, len: vector.len(), needed, rows, cols })
    }
}

impl MergeKernels {
    fn select<V: Value, O: Offset>(device: &Device) -> Self {
        let tile = policy::spmv_merge(V::TYPE, device.properties().compute_capability);
        let kernels = (
            MergePartition::<O>::first(),
            MergeTile::<V, O>::instance(tile.block_size, tile.items_per_thread),
            MergeFixup::<V, O>::first(),
        );
        let (Some(partition), Some(tile), Some(fixup)) = kernels else {
            unreachable!(
                "the kernels' tables have an instance for every type, and for every tile of the policy"
            )
        };
        Self { partition, tile, fixup }
    }

    fn tile(self) -> Tile {
        Tile { block_size: self.tile.block_size, items_per_thread: self.tile.items_per_thread }
    }
}

impl<V: Value> Merge<V> {
    /// Cuts the merge of row ends and nonzeros into tiles.
    fn analyse<O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let kernels = MergeKernels::select::<V, O>(device);
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        let tiles = (rows as u64 + nonzeros as u64).div_ceil(u64::from(kernels.tile().items()));
        if tiles > MAX_GRID {
            return Err(OpError::TooManyTiles { rows, nonzeros, tiles, limit: MAX_GRID });
        }
        let mut tile_rows = device.uninitialised(tiles as usize + 1)?;
        let carries = Mutex::new(device.uninitialised(tiles as usize)?);
        let tiles = tiles as u32;
        let partition = MergePartition {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            tile_rows: tile_rows.as_global_mut(),
            rows: rows as u32,
            nonzeros: nonzeros as u64,
            tiles,
            tile_items: kernels.tile().items(),
        };
        let grid = (tiles + 1).div_ceil(kernels.partition.block_size);
        // SAFETY: the views are of the matrix's row offsets, `rows` + 1 long, and of `tile_rows`, `tiles` + 1 long, and
        // buffers are freed in the stream's order.
        unsafe { device.launch(partition, kernels.partition, grid, 0) }?;
        Ok(Self { kernels, tiles, tile_rows, carries })
    }

    fn run<O: Offset>(
        &self,
        matrix: &DeviceCsr<V, O>,
        alpha: V,
        x: &DeviceVec<V>,
        beta: V,
        y: &mut DeviceVec<V>,
    ) -> Result<(), DeviceError> {
        let device = matrix.device();
        let pattern = matrix.pattern();
        let values = matrix.values();
        let mut carries = self.carries.lock().unwrap_or_else(PoisonError::into_inner);
        let tile = MergeTile {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tile_rows.as_global(),
            carries: carries.as_global_mut(),
            rows: pattern.rows as u32,
            nonzeros: pattern.column_indices.len() as u64,
            alpha,
            beta,
        };
        let fixup = MergeFixup {
            row_offsets: pattern.row_offsets.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tile_rows.as_global(),
            carries: carries.as_global(),
            tiles: self.tiles,
            tile_items: self.kernels.tile().items(),
            alpha,
        };
        // SAFETY: the views are of the matrix, of vectors whose lengths were checked, and of the plan's own buffers; all
        // are on this device, and buffers are freed in the stream's order. The matrix is valid, so every column index
        // is below x's length. The lock on the carries keeps other runs of the plan from coming between the launches.
        unsafe {
            device.launch(tile, self.kernels.tile, self.tiles, 0)?;
            if self.tiles > 1 {
                device.launch(
                    fixup,
                    self.kernels.fixup,
                    self.tiles.div_ceil(self.kernels.fixup.block_size),
                    0,
                )?;
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        u64::from(self.tiles) * size_of::<V>() as u64 + (u64::from(self.tiles) + 1) * 4
    }
}

impl fmt::Display for SpmvPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self.method {
            SpmvMethod::Auto | SpmvMethod::MergePath => "merge path",
        };
        write!(f, "{method} ({}), {} tiles", self.reason, self.tiles)?;
        if let Some(tile) = self.tile {
            write!(f, " of {} threads x {} items", tile.block_size, tile.items_per_thread)?;
        }
        write!(f, ", {} bytes of workspace, analysed in {:.4} ms", self.workspace_bytes, self.analysis_ms)
    }
}

impl<V: Value, O: Offset> fmt::Debug for SpmvPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvPlan({:?})", self.matrix)
    }
}
