use evenpath_kernels::spmv::{self as kernels, AlignedProduct, FindWindows, RowWindows, WINDOW_TOTALS};

use super::lengths::Lengths;
use super::row_tiles::{Group, fit};
use super::schedule::{Schedule, Shape};
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::op::product::Product;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::policy::Tile;
use crate::{Offset, Value};

/// Rows of a block.
const BLOCK_ROWS: u32 = 512;

/// The most bytes of a window: three blocks with their products fit in a multiprocessor's shared memory.
const WINDOW_BYTES: usize = 48 << 10;

/// Row tiles whose part of x is copied to shared memory first.
pub(super) struct Windows<V: Value, O: Offset> {
    launch: Launch<RowWindows<V, O>>,
    group: Group,
    firsts: DeviceVec<u32>,
    lens: DeviceVec<u32>,
    found: Found,
}

/// The least number of uses of a window's elements for which windows pay.
const USES: u64 = 3;

/// Statistics of a matrix's windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Nonzeros of the blocks that have a window.
    covered: u64,
    /// Elements of all windows.
    elements: u64,
    /// Elements of the longest window.
    longest: u64,
    /// Nonzeros whose column is just after the one before.
    near: u64,
}

impl Found {
    #[cfg(test)]
    pub(super) fn of(covered: u64, elements: u64, near: u64) -> Self {
        Self { covered, elements, longest: elements, near }
    }

    /// Returns the number of nonzeros that use an element of a window.
    pub(super) fn uses(self) -> u64 {
        self.covered / self.elements.max(1)
    }

    /// Returns whether gathering from windows is faster: nearly all rows have one, their elements are used again, and the columns
    /// are scattered, so that a cache would need one line per nonzero; or `with_neighbors`, if they are not.
    pub(super) fn are_worth_it(self, nonzeros: u64, with_neighbors: bool) -> bool {
        let is_hard_to_cache = with_neighbors || !self.have_neighbors(nonzeros);
        self.cover(nonzeros) && self.uses() >= USES && is_hard_to_cache
    }

    /// Returns whether columns are scattered wider than windows are.
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

impl<V: Value, O: Offset> Windows<V, O> {
    /// Finds the windows, and waits for them. `None` if a group of rows is longer than a kernel counts.
    pub(super) fn find(matrix: &DeviceCsr<V, O>, lengths: Lengths) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        let (info, group) = fit::<RowWindows<V, O>>(lengths.mean);
        if !group.counts(matrix.nnz(), lengths.longest) {
            return Ok(None);
        }
        let blocks = matrix.rows().div_ceil(BLOCK_ROWS as usize);
        let find = device.kernel().blocks(blocks)?;
        let mut firsts = device.uninitialized(blocks)?;
        let mut lens = device.uninitialized(blocks)?;
        let mut totals = device.zeros::<u64>(WINDOW_TOTALS)?;
        let kernel = FindWindows {
            pattern: matrix.pattern().view(),
            firsts: firsts.as_global_mut(),
            lens: lens.as_global_mut(),
            totals: totals.as_global_mut(),
            cols: matrix.cols() as u32,
            block_rows: BLOCK_ROWS,
            limit: (WINDOW_BYTES / V::SIZE) as u32,
        };
        // SAFETY: the views are of the matrix's pattern, of an element for each block, and of as many totals as the
        // kernel has; buffers are freed in the stream's order.
        unsafe { find.launch(kernel) }?;
        let totals = totals.download()?;
        let found = Found { covered: totals[0], elements: totals[1], longest: totals[2], near: totals[3] };
        let window_bytes = found.longest as u32 * V::SIZE as u32;
        let launch = device.instance(info).shared_bytes(window_bytes).blocks(blocks)?;
        Ok(Some(Self { launch, group, firsts, lens, found }))
    }

    pub(super) fn found(&self) -> Found {
        self.found
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Windows<V, O> {
    fn run(&self, mut product: Product<'_, V, O>) -> Result<(), DeviceError> {
        let x = Aligned::new(product.x)?;
        let kernel = |kernels::Product { matrix, update, .. }| RowWindows {
            product: AlignedProduct { matrix, x: x.view(), update },
            firsts: self.firsts.as_global(),
            lens: self.lens.as_global(),
            longest: self.found.longest as u32,
            block_rows: BLOCK_ROWS,
            lanes_log2: self.group.lanes_log2,
        };
        // SAFETY: the windows are those of the matrix's pattern, none longer than the launch's shared memory.
        unsafe { product.launch(&self.launch, kernel) }
    }

    fn shape(&self) -> Shape {
        let workspace_bytes = self.firsts.bytes() + self.lens.bytes();
        let figures = vec![
            ("rows a warp", u64::from(self.group.rows)),
            ("elements of the longest window", self.found.longest),
        ];
        Shape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            figures,
            workspace_bytes,
            ..Shape::default()
        }
    }
}
