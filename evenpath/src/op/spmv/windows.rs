use evenpath_kernels::spmv::{FindWindows, RowWindows, WINDOW_TOTALS};
use evenpath_simt::kernel::KernelInfo;

use super::lengths::Lengths;
use super::row_tiles::{Group, fit};
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, OpError, grid, instance};
use crate::policy::Tile;
use crate::{Offset, Value};

/// Rows of a block.
const BLOCK_ROWS: u32 = 512;

/// Bytes of a window, at most: three blocks with their products fit in a multiprocessor's shared memory.
const WINDOW_BYTES: usize = 48 << 10;

/// Row tiles whose part of x is brought to shared memory first.
pub(super) struct Windows {
    info: &'static KernelInfo,
    group: Group,
    grid: u32,
    firsts: DeviceVec<u32>,
    lens: DeviceVec<u32>,
    found: Found,
}

/// A window's elements are used so many times each, at least, where windows are worth it.
const USES: u64 = 3;

/// What the windows of a matrix are like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Nonzeros of the blocks that have one.
    covered: u64,
    /// Elements of all of them.
    elements: u64,
    /// Elements of the longest.
    longest: u64,
    /// Nonzeros whose column is hardly behind the last one's.
    near: u64,
}

impl Found {
    #[cfg(test)]
    pub(super) fn of(covered: u64, elements: u64, near: u64) -> Self {
        Self { covered, elements, longest: elements, near }
    }

    /// How many nonzeros use an element of a window.
    pub(super) fn uses(self) -> u64 {
        self.covered / self.elements.max(1)
    }

    /// Whether gathering from windows is faster: nearly all rows have one, their elements are used again, and the
    /// columns are scattered, so that a cache would do one line a nonzero; or `with_neighbors`, if they are not.
    pub(super) fn are_worth_it(self, nonzeros: u64, with_neighbors: bool) -> bool {
        let is_hard_to_cache = with_neighbors || !self.have_neighbors(nonzeros);
        self.cover(nonzeros) && self.uses() >= USES && is_hard_to_cache
    }

    /// Whether columns are scattered wider than windows are.
    pub(super) fn are_too_narrow(self, nonzeros: u64) -> bool {
        !self.cover(nonzeros) && !self.have_neighbors(nonzeros)
    }

    fn cover(self, nonzeros: u64) -> bool {
        self.covered >= nonzeros / 10 * 9
    }

    fn have_neighbors(self, nonzeros: u64) -> bool {
        self.near >= nonzeros / 2
    }
}

impl Windows {
    /// Finds the windows, and waits for them. `None` where a group of rows is longer than a kernel counts.
    pub(super) fn find<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
    ) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        let (info, group) = fit::<RowWindows<V, O>>(lengths.mean);
        if !group.counts(matrix.nnz(), lengths.longest) {
            return Ok(None);
        }
        let blocks = matrix.rows().div_ceil(BLOCK_ROWS as usize);
        let grid = grid(matrix.rows(), matrix.nnz(), blocks as u64)?;
        let mut firsts = device.uninitialized(blocks)?;
        let mut lens = device.uninitialized(blocks)?;
        let mut totals = device.zeros::<u64>(WINDOW_TOTALS)?;
        let kernel = FindWindows {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            column_indices: matrix.pattern().column_indices.as_global(),
            firsts: firsts.as_global_mut(),
            lens: lens.as_global_mut(),
            totals: totals.as_global_mut(),
            rows: matrix.rows() as u32,
            cols: matrix.cols() as u32,
            block_rows: BLOCK_ROWS,
            limit: (WINDOW_BYTES / V::SIZE) as u32,
        };
        // SAFETY: the views are of the matrix's pattern, of an element for each block, and of as many totals as the
        // kernel has; buffers are freed in the stream's order.
        unsafe { device.launch(kernel, instance::<FindWindows<O>>(), grid, 0) }?;
        let totals = totals.download()?;
        let found = Found { covered: totals[0], elements: totals[1], longest: totals[2], near: totals[3] };
        Ok(Some(Self { info, group, grid, firsts, lens, found }))
    }

    pub(super) fn found(&self) -> Found {
        self.found
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Windows {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let pattern = matrix.pattern();
        let values = matrix.values();
        let longest = self.found.longest as u32;
        let kernel = RowWindows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            firsts: self.firsts.as_global(),
            lens: self.lens.as_global(),
            longest,
            rows: pattern.rows as u32,
            nonzeros: pattern.column_indices.len() as u64,
            block_rows: BLOCK_ROWS,
            lanes_log2: self.group.lanes_log2,
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises. The windows are those of its pattern, none longer than the shared memory asked for.
        unsafe { matrix.device().launch(kernel, self.info, self.grid, longest * V::SIZE as u32) }
    }

    fn shape(&self) -> Shape {
        let workspace_bytes = self.firsts.bytes() + self.lens.bytes();
        let figures = vec![
            ("rows a warp", u64::from(self.group.rows)),
            ("elements of the longest window", self.found.longest),
        ];
        Shape {
            tile: Some(Tile::of(self.info)),
            tiles: u64::from(self.grid),
            figures,
            workspace_bytes,
            ..Shape::default()
        }
    }
}
