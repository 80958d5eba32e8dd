use evenpath_kernels::spmv::{BlockRows, VectorRows};
use evenpath_simt::kernel::KernelInfo;

use super::{Product, Schedule, Shape};
use crate::device::DeviceError;
use crate::op::{DeviceCsr, MAX_GRID, instance};
use crate::policy::Tile;
use crate::{Offset, Value};

/// A fixed number of lanes per row.
pub(super) struct Vector {
    kernel: &'static KernelInfo,
    lanes: u32,
    grid: u32,
}

impl Vector {
    /// `lanes` is a power of two up to 32.
    pub(super) fn new<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, lanes: u32) -> Self {
        let kernel = instance::<VectorRows<V, O>>();
        // A block has 8 rows or more, of fewer than 2³²: no more blocks than a grid may have.
        let grid = (matrix.rows() as u32).div_ceil(kernel.block_size / lanes);
        Self { kernel, lanes, grid }
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Vector {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let (pattern, values) = (matrix.pattern(), matrix.values());
        let kernel = VectorRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            rows: pattern.rows as u32,
            lanes: self.lanes,
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises.
        unsafe { matrix.device().launch(kernel, self.kernel, self.grid, 0) }
    }

    fn shape(&self) -> Shape {
        Shape {
            tile: Some(Tile::of(self.kernel)),
            tiles: u64::from(self.grid),
            lanes: Some(self.lanes),
            ..Shape::default()
        }
    }
}

/// A block per row.
pub(super) struct Block {
    kernel: &'static KernelInfo,
    rows: u64,
}

impl Block {
    pub(super) fn new<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Self {
        Self { kernel: instance::<BlockRows<V, O>>(), rows: matrix.rows() as u64 }
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Block {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let (pattern, values) = (matrix.pattern(), matrix.values());
        let kernel = BlockRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            rows: pattern.rows as u32,
            alpha,
            beta,
        };
        // A block that is through with its row takes another where the grid has not one for each.
        let grid = self.rows.min(MAX_GRID) as u32;
        // SAFETY: what a `Product` promises.
        unsafe { matrix.device().launch(kernel, self.kernel, grid, 0) }
    }

    fn shape(&self) -> Shape {
        Shape { tile: Some(Tile::of(self.kernel)), tiles: self.rows, ..Shape::default() }
    }
}
