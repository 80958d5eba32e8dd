use evenpath_kernels::spmv::RowTiles as Kernel;
use evenpath_simt::kernel::{self, KernelInfo};

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
    /// log2 of the lanes that sum a row.
    pub(super) lanes_log2: u32,
}

impl Group {
    /// 32 rows per warp for each that a lane sums, or fewer with several lanes per row.
    pub(super) fn all(rows_per_lane: u32) -> impl Iterator<Item = Self> {
        let most = if rows_per_lane == 1 { 5 } else { 0 };
        (0..=most).map(move |lanes_log2| Self { rows: (32 * rows_per_lane) >> lanes_log2, lanes_log2 })
    }

    /// How well chunks of `chunk` products suit it, for rows of `mean` nonzeros: the share of them that is filled, less
    /// something for a number of chunks that measured worse. `None` for too many chunks.
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

/// The instance of a kernel of row tiles, and the groups, that suit rows of `mean` nonzeros best.
pub(super) fn fit<K: kernel::Kernel>(mean: f64) -> (&'static KernelInfo, Group) {
    let instances = K::INSTANCES.iter().filter(|info| info.types == K::TYPES);
    let candidates = instances.flat_map(|&info| {
        let rows_per_lane = match info.variant {
            "FourRows" => 4,
            "TwoRows" => 2,
            _ => 1,
        };
        Group::all(rows_per_lane).map(move |group| (info, group))
    });
    let fitness = |&(info, group): &(&KernelInfo, Group)| {
        group.fitness(mean, 32 * info.items_per_thread).unwrap_or(f64::NEG_INFINITY)
    };
    match candidates.max_by(|left, right| fitness(left).total_cmp(&fitness(right))) {
        Some(best) => best,
        None => unreachable!("the kernels' tables have row tiles for every type"),
    }
}

impl Group {
    /// Whether places in the nonzeros of any group of rows are numbers of 32 bits.
    pub(super) fn counts(self, nonzeros: usize, longest: u64) -> bool {
        longest.saturating_mul(u64::from(self.rows)).min(nonzeros as u64) <= GROUP_LIMIT
    }

    /// Blocks of the kernel that groups of so many rows fill.
    pub(super) fn blocks(self, rows: usize, info: &KernelInfo) -> u64 {
        rows.div_ceil(self.rows as usize).div_ceil(info.block_size as usize / 32) as u64
    }
}

impl RowTiles {
    /// The tiles that suit rows of these lengths; `None` where a group of rows is longer than a kernel counts.
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
    ) -> Result<Option<Self>, OpError> {
        let (info, group) = fit::<Kernel<V, O>>(lengths.mean);
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        if !group.counts(nonzeros, lengths.longest) {
            return Ok(None);
        }
        let grid = grid(rows, nonzeros, group.blocks(rows, info))?;
        Ok(Some(Self { info, group, grid }))
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for RowTiles {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
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
        // SAFETY: what a `Product` promises.
        unsafe { matrix.device().launch(kernel, self.info, self.grid, 0) }
    }

    fn shape(&self) -> Shape {
        let figures = vec![("rows a warp", u64::from(self.group.rows))];
        Shape {
            tile: Some(Tile::of(self.info)),
            tiles: u64::from(self.grid),
            lanes: None,
            figures,
            workspace_bytes: 0,
        }
    }
}
