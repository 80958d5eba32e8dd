use evenpath_kernels::spmv::RowTiles as Kernel;
use evenpath_simt::kernel::{Kernel as _, KernelInfo};

use super::lengths::Lengths;
use super::{Product, Schedule, Shape};
use crate::device::DeviceError;
use crate::op::{DeviceCsr, OpError, grid};
use crate::policy::Tile;
use crate::{Offset, Value};

/// Nonzeros that a warp's rows may have: places in them are 32 bits.
const GROUP_LIMIT: u64 = u32::MAX as u64 - (1 << 12);

/// Every warp takes equally many consecutive rows.
pub(super) struct RowTiles {
    info: &'static KernelInfo,
    group: Group,
    grid: u32,
}

/// How a warp takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// Rows of a warp.
    pub(super) rows: u32,
    /// Binary logarithm of the lanes that sum a row.
    pub(super) lanes_log2: u32,
}

impl Group {
    /// 32 rows a warp for each that a lane sums, or fewer with several lanes a row.
    pub(super) fn all(rows_per_lane: u32) -> impl Iterator<Item = Self> {
        let most = if rows_per_lane == 1 { 5 } else { 0 };
        (0..=most).map(move |lanes_log2| Self { rows: (32 * rows_per_lane) >> lanes_log2, lanes_log2 })
    }

    /// How well chunks of `chunk` products suit it, for rows of `mean` nonzeros: the share of them that is filled, less
    /// something for a number of chunks that measured worse. `None` for more chunks than are worth a thought.
    pub(super) fn fitness(self, mean: f64, chunk: u32) -> Option<f64> {
        // Loads begin at a multiple of 4 or 8, on average half of that before the first row.
        let products = f64::from(self.rows) * mean + 3.0;
        let chunks = (products / f64::from(chunk)).ceil();
        let best = if self.lanes_log2 == 0 { 1.0 } else { 2.0 };
        let bearable = chunks <= 3.0 || self.rows == 1;
        let fill = products / (chunks * f64::from(chunk));
        bearable.then_some(fill - 0.04 * f64::min((chunks - best).abs(), 2.0))
    }
}

impl RowTiles {
    /// The tiles that suit rows of these lengths; `None` where a group of rows is longer than a kernel counts.
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
    ) -> Result<Option<Self>, OpError> {
        let instances = Kernel::<V, O>::INSTANCES.iter().filter(|info| info.types == Kernel::<V, O>::TYPES);
        let candidates = instances.flat_map(|&info| {
            let rows_per_lane = match info.variant {
                "FourRows" => 4,
                "TwoRows" => 2,
                _ => 1,
            };
            Group::all(rows_per_lane).map(move |group| (info, group))
        });
        let fitness = |&(info, group): &(&KernelInfo, Group)| {
            group.fitness(lengths.mean, 32 * info.items_per_thread).unwrap_or(f64::NEG_INFINITY)
        };
        let best = candidates.max_by(|left, right| fitness(left).total_cmp(&fitness(right)));
        let Some((info, group)) = best else {
            unreachable!("the kernels' table has row tiles for every type")
        };
        if lengths.longest.saturating_mul(u64::from(group.rows)) > GROUP_LIMIT {
            return Ok(None);
        }
        let warps = matrix.rows().div_ceil(group.rows as usize);
        let blocks = warps.div_ceil(info.block_size as usize / 32);
        let grid = grid(matrix.rows(), matrix.nnz(), blocks as u64)?;
        Ok(Some(Self { info, group, grid }))
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for RowTiles {
    fn run(&self, Product { matrix, alpha, x, beta, y }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let pattern = matrix.pattern();
        let values = matrix.values();
        let kernel = Kernel {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            rows: pattern.rows as u32,
            nonzeros: pattern.column_indices.len() as u64,
            lanes_log2: self.group.lanes_log2,
            alpha,
            beta,
        };
        // SAFETY: the views are of the matrix and of vectors whose lengths were checked, all on this device. The matrix
        // is valid, so every column index is below x's length.
        unsafe { matrix.device().launch(kernel, self.info, self.grid, 0) }
    }

    fn shape(&self) -> Shape {
        let tile = Tile { block_size: self.info.block_size, items_per_thread: self.info.items_per_thread };
        Shape { tile: Some(tile), tiles: u64::from(self.grid), workspace_bytes: 0 }
    }
}
