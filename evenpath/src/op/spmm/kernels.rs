use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmm::{DenseUpdate, DenseView, Group, SpmmRows};
use evenpath_simt::{Aligned16, GlobalMut, WidenTo};

use super::info::SpmmPlanInfo;
use super::long_rows::LongRows;
use super::options::SpmmOptions;
use super::product::SpmmCall;
use super::shape::{Moves, RowSummation, group, is_busy, most_lanes_log2, reads_columns, room};
use crate::device::{Device, DeviceError, DeviceVec, Launch, MAX_GRID};
use crate::format::{DeviceCsr, Layout};
use crate::operand::OpError;
use crate::operand::tagged_sums::TaggedSums;
use crate::{Compute, Offset, Storage};

/// Passes with at least this many columns start at multiples of it, so that they consist of whole packets for
/// any type.
const PASS_MULTIPLE: usize = 8;

/// Workspace and launches of the kernels.
pub(super) struct SpmmKernels<T: Storage> {
    long_rows: LongRows,
    /// Mean length of the rows.
    mean: f64,
    /// Number of multiprocessors for which the work is divided.
    multiprocessors: u32,
    /// Number of groups of one lane per row that fit.
    room: f64,
    /// Number of columns per pass.
    columns: usize,
    /// The sums of the pieces of long rows, for the columns of a pass.
    sums: TaggedSums,
    /// B by rows, for the columns of a pass; empty until needed. Locked during the launches of a run.
    b_by_rows: Mutex<DeviceVec<T>>,
}

/// Some columns of a product, as kernels take them. The shapes match, and all is on one device.
pub(super) struct SpmmPass<'a, S: Storage, T: Storage, O: Offset> {
    pub(super) matrix: &'a DeviceCsr<S, O>,
    pub(super) alpha: Compute<T>,
    /// These columns of B.
    pub(super) b: DenseView<T>,
    pub(super) beta: Compute<T>,
    pub(super) c: SpmmOutput<T>,
    /// Their numbers in B and C.
    pub(super) columns: Range<usize>,
}

/// Columns of C.
pub(super) struct SpmmOutput<T: Storage> {
    pub(super) values: GlobalMut<T, Aligned16>,
    /// Distance in elements between consecutive rows or columns, depending on the layout.
    pub(super) stride: usize,
    pub(super) by_columns: bool,
}

/// Distances in elements: in B from one row and one column to the next, and in C between rows or columns, depending on the layout.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) b_row: usize,
    pub(super) b_column: usize,
    pub(super) c: usize,
    pub(super) c_by_columns: bool,
}

/// Blocks of a pass.
pub(super) struct PassBlocks<S: Storage, T: Storage, O: Offset> {
    pub(super) launch: Launch<SpmmRows<S, T, O>>,
    group: Group,
    rows: RowSummation,
    row_blocks: usize,
}

/// Minimum number of columns in a tile, if a pass has several.
const LEAST_TILE: usize = 8;

impl<T: Storage> SpmmKernels<T> {
    /// Finds the long rows, and allocates the workspace for the options.
    pub(super) fn analyze<S: Storage, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        options: SpmmOptions,
    ) -> Result<Self, OpError> {
        let device = matrix.device();
        let columns = options.columns.clamp(1, most_columns(matrix.nrows().max(matrix.ncols())));
        let mean = matrix.nnz() as f64 / matrix.nrows().max(1) as f64;
        let multiprocessors = options.multiprocessors.unwrap_or(device.properties().multiprocessors);
        let copies = options.layout == Layout::ColumnMajor
            && !reads_columns(matrix.nnz(), (matrix.ncols(), columns), T::SIZE, multiprocessors);
        // Operands may have to be moved by elements; then the group of a run is wider.
        let moves = Moves::new::<T>(options.layout == Layout::ColumnMajor && !copies, &[columns]);
        let room = room(multiprocessors, matrix.nrows());
        let block_size =
            device.variant::<SpmmRows<T, T, O>>(moves.variant(RowSummation::AtOnce, false)).info().block_size;
        let most_lanes_log2 = most_lanes_log2(options.layout, block_size, T::SIZE);
        let group = group(columns as u32, moves.width, mean, room, most_lanes_log2);
        let long_rows =
            LongRows::find(matrix, multiprocessors, group, is_busy(columns as u32, moves.width, room))?;
        let sums = long_rows.sums::<Compute<T>>(device, columns, columns.div_ceil(LEAST_TILE))?;
        let b_by_rows = Mutex::new(workspace(device, if copies { matrix.ncols() } else { 0 }, columns)?);
        Ok(Self { long_rows, mean, multiprocessors, room, columns, sums, b_by_rows })
    }

    pub(super) fn info(&self) -> SpmmPlanInfo {
        let b_by_rows = self.b_by_rows.lock().unwrap_or_else(PoisonError::into_inner);
        SpmmPlanInfo {
            long_rows: self.long_rows.count,
            pieces: self.long_rows.pieces() as u64,
            longest: self.long_rows.longest,
            longest_piece: self.long_rows.longest_piece(),
            multiprocessors: self.multiprocessors,
            workspace_bytes: self.long_rows.bytes() + self.sums.bytes() + b_by_rows.bytes(),
            ..SpmmPlanInfo::default()
        }
    }
}

impl<T: Storage> SpmmKernels<T> {
    /// Launches the kernels that compute C, in as many passes as the workspace requires.
    pub(super) fn run<S: Storage + WidenTo<Compute<T>>, O: Offset>(
        &self,
        product: SpmmCall<'_, S, T, O>,
    ) -> Result<(), OpError> {
        let SpmmCall { matrix, alpha, b, beta, c } = product;
        let device = matrix.device();
        let limit = u32::MAX as usize;
        if b.leading_dimension() > limit {
            return Err(OpError::TooLong { what: "rows of B", len: b.leading_dimension(), limit });
        }
        let mut b_by_rows = self.b_by_rows.lock().unwrap_or_else(PoisonError::into_inner);
        let pass_columns = self.columns.min(b.ncols());
        let copies = b.layout() == Layout::ColumnMajor
            && !reads_columns(matrix.nnz(), (b.nrows(), pass_columns), T::SIZE, self.multiprocessors);
        if copies && b_by_rows.is_empty() {
            *b_by_rows = workspace(device, b.nrows(), self.columns)?;
        }
        let by_columns = c.layout() == Layout::ColumnMajor;
        let (c_row_stride, c_column_stride) = c.strides();
        let c_stride = if by_columns { c_column_stride } else { c_row_stride };
        for columns in passes(b.ncols(), self.columns) {
            let view = if copies {
                b.copy_across(&columns, &mut b_by_rows)?;
                let row_stride = columns.len() as u32;
                DenseView { values: b_by_rows.as_aligned(), row_stride, column_stride: 1 }
            } else {
                let (row_stride, column_stride) = b.strides();
                // B may have no rows, and then there are no columns to skip.
                let start = (columns.start * column_stride).min(b.as_vec().len());
                let (row_stride, column_stride) = (row_stride as u32, column_stride as u32);
                DenseView { values: b.as_vec().as_aligned().skip_aligned(start), row_stride, column_stride }
            };
            let output = SpmmOutput {
                values: c.as_aligned_mut().skip_aligned(columns.start * c_column_stride),
                stride: c_stride,
                by_columns,
            };
            self.pass(SpmmPass { matrix, alpha, b: view, beta, c: output, columns })?;
        }
        Ok(())
    }

    /// Launches the kernels that compute some columns of C.
    pub(super) fn pass<S: Storage + WidenTo<Compute<T>>, O: Offset>(
        &self,
        pass: SpmmPass<'_, S, T, O>,
    ) -> Result<(), DeviceError> {
        let SpmmPass { matrix, alpha, b, beta, c, columns } = pass;
        let (b_row, b_column) = (b.row_stride as usize, b.column_stride as usize);
        let strides = Strides { b_row, b_column, c: c.stride, c_by_columns: c.by_columns };
        // The grid is checked before C is written.
        let PassBlocks { launch, group, rows, row_blocks } = self.cut(matrix, &columns, strides)?;
        let values = matrix.values_now();
        let mut sums = self.sums.lock()?;
        let kernel = SpmmRows {
            matrix: matrix.pattern().with_values(&values),
            b,
            update: DenseUpdate { c: c.values, alpha, beta },
            columns: columns.len() as u32,
            c_stride: c.stride as u64,
            c_by_columns: u32::from(c.by_columns),
            longest: self.long_rows.longest,
            group,
            passes_log2: rows.passes_log2(),
            row_blocks: row_blocks as u32,
            pieces: self.long_rows.view(sums.view(), group.columns_log2),
        };
        // SAFETY: the views are of the matrix, of dense operands whose shapes were checked, and of the plan's own
        // buffers; all are on this device, and buffers are freed in the stream's order. The matrix is valid, so every
        // column index is below B's rows. The sums have a part per piece and column of a pass, and no tile but the last has less
        // than `LEAST_TILE` columns. The locks on B by rows and on the sums keep other runs of the plan from coming between.
        unsafe { launch.launch(kernel) }
    }

    /// Cuts the work of a pass into blocks.
    ///
    /// # Errors
    ///
    /// If they are too many for a grid.
    pub(super) fn cut<S: Storage + WidenTo<Compute<T>>, O: Offset>(
        &self,
        matrix: &DeviceCsr<S, O>,
        columns: &Range<usize>,
        strides: Strides,
    ) -> Result<PassBlocks<S, T, O>, DeviceError> {
        // A B by columns is read by elements, and a C by columns is stored by elements, for any width.
        let Strides { b_row, b_column, c, c_by_columns } = strides;
        let is_strided = b_column != 1;
        let loaded = if is_strided { [0, 0] } else { [b_row, columns.start] };
        let stored = if c_by_columns { [0, 0] } else { [c, columns.start] };
        let multiples = [columns.len(), loaded[0], loaded[1], stored[0], stored[1]];
        let moves = Moves::new::<T>(is_strided, &multiples);
        let pass_columns = columns.len() as u32;
        let device = matrix.device();
        let variant = |rows, has_pieces| device.variant::<SpmmRows<S, T, O>>(moves.variant(rows, has_pieces));
        let has_pieces = self.long_rows.pieces() > 0;
        let block_size = variant(RowSummation::AtOnce, true).info().block_size;
        let c_layout = if c_by_columns { Layout::ColumnMajor } else { Layout::RowMajor };
        let most_lanes_log2 = most_lanes_log2(c_layout, block_size, T::SIZE);
        let group = group(pass_columns, moves.width, self.mean, self.room, most_lanes_log2);
        let tiles = pass_columns.div_ceil(moves.width << group.columns_log2) as usize;
        let rows = RowSummation::new(group, self.mean, self.room, block_size, has_pieces);
        let rows = moves.rows(if c_by_columns { rows.in_one_pass() } else { rows });
        let block_rows = ((block_size >> group.lanes_log2()) as usize) << rows.passes_log2();
        let row_blocks = matrix.nrows().div_ceil(block_rows);
        let piece_blocks = self.long_rows.blocks(block_size);
        let launch = variant(rows, has_pieces).blocks((row_blocks + piece_blocks) * tiles)?;
        Ok(PassBlocks { launch, group, rows, row_blocks })
    }
}

/// Maximum number of columns in a pass over matrices of `rows` rows: a grid has at most [`MAX_GRID`] blocks,
/// each of at least 32 columns, or as many elements in another shape, and 32 bits count columns. A block has
/// one row if rows are few, and otherwise at least four.
fn most_columns(rows: usize) -> usize {
    (32 * (MAX_GRID as usize / rows.max(1))).clamp(32, 1 << 31)
}

/// Divides `columns` columns into passes of at most `limit`.
fn passes(columns: usize, limit: usize) -> impl Iterator<Item = Range<usize>> {
    let step = match limit {
        limit if columns <= limit || limit < PASS_MULTIPLE => limit,
        limit => limit - limit % PASS_MULTIPLE,
    };
    (0..columns).step_by(step).map(move |start| start..columns.min(start + step))
}

/// Allocates a buffer of `rows` x `columns` elements.
fn workspace<T: bytemuck::Pod>(
    device: &Device,
    rows: usize,
    columns: usize,
) -> Result<DeviceVec<T>, DeviceError> {
    let too_large = DeviceError::TooLarge { elements: usize::MAX, element_bytes: size_of::<T>() };
    device.uninitialized(rows.checked_mul(columns).ok_or(too_large)?)
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
