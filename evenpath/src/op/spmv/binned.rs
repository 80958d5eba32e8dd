use evenpath_kernels::spmv::{BinnedRows, ListLongRows, NumberPieces};
use evenpath_simt::kernel::KernelInfo;

use super::lengths::Lengths;
use super::row_tiles::{Group, fit};
use super::tagged_sums::TaggedSums;
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, OpError, grid, instance};
use crate::policy::Tile;
use crate::{Offset, Value};

/// Row tiles, with long rows cut into pieces.
pub(super) struct Binned {
    info: &'static KernelInfo,
    group: Group,
    grid: u32,
    lengths: Lengths,
    long_rows: DeviceVec<u32>,
    first_pieces: DeviceVec<u32>,
    piece_rows: DeviceVec<u32>,
    /// A part per piece, and a sum per long row.
    sums: TaggedSums,
}

impl Binned {
    /// Lists the long rows. `None` where a group of rows is longer than a kernel counts, or there are too many pieces.
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
    ) -> Result<Option<Self>, OpError> {
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        let long = lengths.long;
        let mean = (nonzeros as u64 - long.nonzeros) as f64 / (rows as u64 - long.rows).max(1) as f64;
        let (info, group) = fit::<BinnedRows<V, O>>(mean);
        if !group.counts(nonzeros, lengths.longest) || long.pieces > u64::from(u32::MAX / 2) {
            return Ok(None);
        }
        let piece_blocks = long.pieces.div_ceil(u64::from(info.block_size / 32));
        let grid = grid(rows, nonzeros, piece_blocks + group.blocks(rows, info))?;
        let device = matrix.device();
        let mut binned = Self {
            info,
            group,
            grid,
            lengths,
            long_rows: device.uninitialized(long.rows as usize)?,
            first_pieces: device.uninitialized(long.rows as usize)?,
            piece_rows: device.uninitialized(long.pieces as usize)?,
            sums: TaggedSums::new::<V>(device, long.pieces as usize, long.rows as usize)?,
        };
        binned.list(matrix)?;
        Ok(Some(binned))
    }

    fn list<V: Value, O: Offset>(&mut self, matrix: &DeviceCsr<V, O>) -> Result<(), OpError> {
        let device = matrix.device();
        let row_offsets = matrix.pattern().row_offsets.as_global();
        let (rows, count) = (matrix.rows() as u32, self.lengths.long.rows as u32);
        let mut listed = device.zeros::<u64>(1)?;
        let list = ListLongRows {
            row_offsets,
            long_rows: self.long_rows.as_global_mut(),
            first_pieces: self.first_pieces.as_global_mut(),
            listed: listed.as_global_mut(),
            rows,
            limit: self.lengths.limit,
        };
        let number = NumberPieces {
            row_offsets,
            long_rows: self.long_rows.as_global(),
            first_pieces: self.first_pieces.as_global(),
            piece_rows: self.piece_rows.as_global_mut(),
            count,
        };
        let list_info = instance::<ListLongRows<O>>();
        let number_info = instance::<NumberPieces<O>>();
        // SAFETY: the views are of the matrix's row offsets and of the plan's own buffers, which have an element for
        // each row over the limit, and for each of their pieces, as they were counted in the same offsets; buffers are
        // freed in the stream's order.
        unsafe {
            device.launch(list, list_info, rows.div_ceil(list_info.block_size), 0)?;
            device.launch(number, number_info, count.div_ceil(number_info.block_size / 32), 0)?;
        }
        Ok(())
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Binned {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let pattern = matrix.pattern();
        let values = matrix.values();
        let mut work = self.sums.lock();
        let kernel = BinnedRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            long_rows: self.long_rows.as_global(),
            first_pieces: self.first_pieces.as_global(),
            piece_rows: self.piece_rows.as_global(),
            sums: work.sums.as_global_mut(),
            arrived: work.arrived.as_global_mut(),
            run: work.run,
            pieces: self.lengths.long.pieces as u32,
            limit: self.lengths.limit,
            rows: pattern.rows as u32,
            nonzeros: pattern.column_indices.len() as u64,
            lanes_log2: self.group.lanes_log2,
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises, and the plan's own buffers are of its matrix. The workspace is this launch's until the
        // next one, which comes behind it in the stream.
        unsafe { matrix.device().launch(kernel, self.info, self.grid, 0) }
    }

    fn shape(&self) -> Shape {
        let long = self.lengths.long;
        let workspace_bytes =
            self.long_rows.bytes() + self.first_pieces.bytes() + self.piece_rows.bytes() + self.sums.bytes();
        let figures = vec![
            ("rows a warp", u64::from(self.group.rows)),
            ("long rows", long.rows),
            ("pieces", long.pieces),
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
