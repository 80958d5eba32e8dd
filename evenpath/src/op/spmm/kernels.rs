use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmm::{
    DenseRows, DenseUpdate, FINISH_COLUMNS, SpmmFinish, SpmmPieces, SpmmRows, SpmmTranspose, TRANSPOSE_TILE,
};

use super::long_rows::LongRows;
use super::shape::{group, lanes_by_columns_log2, packet_width, room};
use super::{Product, SpmmOptions, SpmmPlanInfo};
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, MAX_GRID};
use crate::op::{DeviceCsr, DeviceDense, Layout, OpError};
use crate::{Compute, Offset, Storage};

/// The most columns of a transposed tile.
const TRANSPOSE_COLUMNS: u32 = 32;

/// Passes of at least as many columns begin at multiples of this, so that they are whole packets of any type.
const PASS_MULTIPLE: usize = 8;

/// What the kernels need beside the matrix.
pub(super) struct Kernels<T: Storage> {
    long_rows: LongRows,
    /// Mean length of the rows.
    mean: f64,
    /// Multiprocessors that the work is divided for.
    multiprocessors: u32,
    /// How many groups of one lane per row they have room for.
    room: f64,
    /// Columns of a pass.
    columns: usize,
    /// Locked while the launches of a run follow each other.
    workspace: Mutex<Workspace<T>>,
}

struct Workspace<T: Storage> {
    /// The sums of the pieces of long rows, for the columns of a pass.
    sums: DeviceVec<Compute<T>>,
    /// B by rows, for the columns of a pass; nothing until it is needed.
    b_by_rows: DeviceVec<T>,
}

impl<T: Storage> Kernels<T> {
    /// Finds the long rows, and allocates the workspace for what the options say.
    pub(super) fn analyze<S: Storage, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        options: SpmmOptions,
    ) -> Result<Self, DeviceError> {
        let device = matrix.device();
        let columns = options.columns.clamp(1, most_columns(matrix.rows().max(matrix.cols())));
        let mean = matrix.nnz() as f64 / matrix.rows().max(1) as f64;
        // Operands may have to be moved by elements; the group of a run is the wider then.
        let width = packet_width(T::SIZE, &[columns]).unwrap_or(1);
        let multiprocessors = options.multiprocessors.unwrap_or(device.properties().multiprocessors);
        let room = room(multiprocessors, matrix.rows());
        let group = group(columns as u32, width, mean, room, 5);
        let long_rows = LongRows::find(matrix, multiprocessors, group)?;
        let sums = workspace(device, long_rows.pieces(), columns)?;
        let b_rows = if options.layout == Layout::ColumnMajor { matrix.cols() } else { 0 };
        let workspace = Mutex::new(Workspace { sums, b_by_rows: workspace(device, b_rows, columns)? });
        Ok(Self { long_rows, mean, multiprocessors, room, columns, workspace })
    }

    pub(super) fn info(&self) -> SpmmPlanInfo {
        let workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let of_runs = workspace.sums.bytes() + workspace.b_by_rows.bytes();
        SpmmPlanInfo {
            long_rows: self.long_rows.rows.len() as u64,
            pieces: self.long_rows.pieces() as u64,
            longest: self.long_rows.longest,
            multiprocessors: self.multiprocessors,
            workspace_bytes: self.long_rows.bytes() + of_runs,
            ..SpmmPlanInfo::default()
        }
    }
}

impl<T: Storage> Kernels<T> {
    /// Launches what makes C, in as many passes as the workspace takes.
    pub(super) fn run<S: Storage, O: Offset>(&self, product: Product<'_, S, T, O>) -> Result<(), OpError>
    where
        T: Storage<Computed = Compute<S>>,
    {
        let mut product = product;
        let (device, b) = (product.matrix.device(), product.b);
        let limit = u32::MAX as usize;
        if b.leading_dimension() > limit {
            return Err(OpError::TooLong { what: "rows of B", len: b.leading_dimension(), limit });
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        if b.layout() == Layout::ColumnMajor && workspace.b_by_rows.is_empty() {
            workspace.b_by_rows = self::workspace(device, b.rows(), self.columns)?;
        }
        for columns in passes(b.cols(), self.columns) {
            let b = match b.layout() {
                Layout::RowMajor => {
                    // B may have no rows, and then no columns to skip.
                    let start = columns.start.min(b.as_vec().len());
                    DenseRows {
                        values: b.as_vec().as_global().skip(start),
                        stride: b.leading_dimension() as u32,
                    }
                }
                Layout::ColumnMajor => {
                    transpose(b, &columns, &mut workspace.b_by_rows)?;
                    DenseRows { values: workspace.b_by_rows.as_global(), stride: columns.len() as u32 }
                }
            };
            self.pass(&mut product, &columns, b, &mut workspace.sums)?;
        }
        Ok(())
    }

    /// Launches what makes some columns of C.
    fn pass<S: Storage, O: Offset>(
        &self,
        product: &mut Product<'_, S, T, O>,
        columns: &Range<usize>,
        b: DenseRows<T>,
        sums: &mut DeviceSlice<Compute<T>>,
    ) -> Result<(), DeviceError>
    where
        T: Storage<Computed = Compute<S>>,
    {
        let &mut Product { matrix, alpha, beta, .. } = product;
        let device = matrix.device();
        let values = matrix.values();
        let view = matrix.pattern().with_values(&values);
        let by_columns = product.c.layout() == Layout::ColumnMajor;
        let (c_row_stride, c_column_stride) = product.c.strides();
        let c_stride = if by_columns { c_column_stride } else { c_row_stride };
        let c = product.c.as_mut_slice().as_global_mut().skip(columns.start * c_column_stride);
        let update = DenseUpdate { c, alpha, beta };

        // Where C is stored by columns, single elements are stored, whatever the width.
        let stored = if by_columns { [0, 0] } else { [c_stride, columns.start] };
        let aligned = [columns.len(), b.stride as usize, columns.start, stored[0], stored[1]];
        let width = packet_width(T::SIZE, &aligned);
        let variant = if width.is_some() { "Packets" } else { "Elements" };
        let width = width.unwrap_or(1);
        let pass_columns = columns.len() as u32;
        let rows_launcher = device.variant::<SpmmRows<S, T, O>>(variant);
        let block_size = rows_launcher.info().block_size;
        let most_lanes_log2 = if by_columns { lanes_by_columns_log2(block_size, T::SIZE) } else { 5 };
        let group = group(pass_columns, width, self.mean, self.room, most_lanes_log2);
        let tiles = pass_columns.div_ceil(width << group.columns_log2) as usize;
        let row_blocks = matrix.rows().div_ceil((block_size >> group.lanes_log2()) as usize);
        let pieces = self.long_rows.pieces();
        let piece_launcher = device.variant(variant);
        let piece_blocks = pieces.div_ceil(piece_launcher.info().block_size as usize / 32);
        let finish_blocks = self.long_rows.rows.len() * pass_columns.div_ceil(FINISH_COLUMNS) as usize;
        // Every grid is checked before C is written.
        let rows_launch = rows_launcher.blocks(row_blocks * tiles)?;
        let piece_launch = piece_launcher.blocks(piece_blocks * tiles)?;
        let finish_launch = device.kernel().blocks(finish_blocks)?;

        let rows = SpmmRows {
            matrix: view,
            b,
            update,
            columns: pass_columns,
            c_stride: c_stride as u64,
            c_by_columns: u32::from(by_columns),
            longest: self.long_rows.longest,
            group,
        };
        // SAFETY: the views are of the matrix, of dense matrices whose shapes were checked, and of the plan's own
        // buffers; all are on this device, and buffers are freed in the stream's order. The matrix is valid, so every
        // column index is below B's rows. The lock on the workspace keeps other runs of the plan from coming between.
        unsafe { rows_launch.launch(rows) }?;
        if pieces == 0 {
            return Ok(());
        }
        let piece_sums = SpmmPieces {
            matrix: view,
            b,
            piece_rows: self.long_rows.piece_rows.as_global(),
            piece_ranks: self.long_rows.piece_ranks.as_global(),
            sums: sums.as_global_mut(),
            pieces: pieces as u32,
            columns: pass_columns,
            longest: self.long_rows.longest,
            columns_log2: group.columns_log2,
        };
        let finish = self.finish(sums, update, pass_columns, (c_row_stride, c_column_stride));
        // SAFETY: as above; the sums have one row per piece, of as many columns as a pass has at most.
        unsafe {
            piece_launch.launch(piece_sums)?;
            finish_launch.launch(finish)
        }
    }

    /// The kernel that adds the pieces' sums to the `columns` columns of C that `update` begins with.
    fn finish(
        &self,
        sums: &DeviceSlice<Compute<T>>,
        update: DenseUpdate<T>,
        columns: u32,
        (c_row_stride, c_column_stride): (usize, usize),
    ) -> SpmmFinish<T> {
        SpmmFinish {
            sums: sums.as_global(),
            long_rows: self.long_rows.rows.as_global(),
            first_pieces: self.long_rows.first_pieces.as_global(),
            piece_ranks: self.long_rows.piece_ranks.as_global(),
            update,
            long_count: self.long_rows.rows.len() as u32,
            pieces: self.long_rows.pieces() as u32,
            columns,
            c_row_stride: c_row_stride as u64,
            c_column_stride: c_column_stride as u64,
        }
    }
}

/// The most columns of a pass over matrices of `rows` rows: a grid has [`MAX_GRID`] blocks, each of at least 4 rows and
/// 32 columns, or as many elements in another shape, and 32 bits count columns.
fn most_columns(rows: usize) -> usize {
    (32 * (MAX_GRID as usize / rows.div_ceil(4).max(1))).min(1 << 31)
}

/// Cuts `columns` columns into passes of at most `limit`.
fn passes(columns: usize, limit: usize) -> impl Iterator<Item = Range<usize>> {
    let step = match limit {
        limit if columns <= limit || limit < PASS_MULTIPLE => limit,
        limit => limit - limit % PASS_MULTIPLE,
    };
    (0..columns).step_by(step).map(move |start| start..columns.min(start + step))
}

/// A buffer of `rows` x `columns` elements.
fn workspace<T: bytemuck::Pod>(
    device: &Device,
    rows: usize,
    columns: usize,
) -> Result<DeviceVec<T>, DeviceError> {
    let too_large = DeviceError::TooLarge { elements: usize::MAX, element_bytes: size_of::<T>() };
    device.uninitialized(rows.checked_mul(columns).ok_or(too_large)?)
}

/// Copies some columns of B, which is stored by columns, to rows without gaps.
fn transpose<T: Storage>(
    b: &DeviceDense<T>,
    columns: &Range<usize>,
    target: &mut DeviceSlice<T>,
) -> Result<(), DeviceError> {
    let tile_columns = (columns.len() as u32).min(TRANSPOSE_COLUMNS).next_power_of_two();
    let tile_rows = TRANSPOSE_TILE / tile_columns;
    let start = (columns.start * b.leading_dimension()).min(b.as_vec().len());
    let kernel = SpmmTranspose {
        source: b.as_vec().as_global().skip(start),
        target: target.as_global_mut(),
        rows: b.rows() as u32,
        columns: columns.len() as u32,
        source_stride: b.leading_dimension() as u64,
        columns_log2: tile_columns.ilog2(),
    };
    let blocks = b.rows().div_ceil(tile_rows as usize) * columns.len().div_ceil(tile_columns as usize);
    let launch = b.device().kernel().blocks(blocks)?;
    // SAFETY: the views are of B and of the workspace, which has room for as many columns as a pass has; both are freed
    // in the stream's order.
    unsafe { launch.launch(kernel) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_all_columns_once() {
        for (columns, limit) in [(1, 1), (5, 3), (8, 8), (9, 8), (100, 33), (33, 33), (512, 64)] {
            let mut next = 0;
            for pass in passes(columns, limit) {
                assert_eq!(pass.start, next);
                assert!(!pass.is_empty() && pass.len() <= limit);
                assert!(limit < PASS_MULTIPLE || pass.start % PASS_MULTIPLE == 0);
                next = pass.end;
            }
            assert_eq!(next, columns);
        }
    }

    #[test]
    fn grids_have_room_for_any_matrix() {
        for rows in [0, 1, 1 << 20, u32::MAX as usize] {
            let columns = most_columns(rows);
            assert!(columns >= 32 && rows.div_ceil(4) * (columns / 32) <= MAX_GRID as usize, "{rows}");
        }
    }
}
