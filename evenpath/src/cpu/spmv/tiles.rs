//! Tiles of a matrix, and products with it.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use evenpath_simt::WidenTo;

use super::super::merge_path::{self, Coordinate};
use super::cut::{CpuTile, SpmvCut, TILE};
use super::groups::SpmvGroups;
use super::instructions::SpmvInstructions;
use super::kernel::RowsKernel;
use super::rows::CpuSpmvOperands;
use super::shares;
use super::wide::WideOperands;
use crate::{CsrView, Offset, Scalar, Storage, Value, parallel};

/// The tiles of a matrix.
pub(crate) struct SpmvTiles {
    pub(super) tiles: Vec<CpuTile>,
}

/// A tile in a run.
struct TileTask<'t, V> {
    tile: &'t CpuTile,
    /// Rows that end in the tile.
    finished: &'t mut [V],
    /// Partial sum of the row that the tile starts but does not end.
    carry: Option<V>,
}

impl SpmvTiles {
    /// Splits a matrix into tiles. There is one column index per nonzero.
    pub(crate) fn new<O: Offset>(
        row_offsets: &[O],
        column_indices: &[u32],
        cut: SpmvCut,
        groups: SpmvGroups,
    ) -> Self {
        let choose = |start, ends: &[O], columns: &[u32]| RowsKernel::choose(start, ends, columns, groups);
        Self::with_kernels(row_offsets, column_indices, cut, choose)
    }

    /// Splits a matrix into tiles of which rows are summed one after another.
    pub(crate) fn by_rows<O: Offset>(row_offsets: &[O], column_indices: &[u32], cut: SpmvCut) -> Self {
        Self::with_kernels(row_offsets, column_indices, cut, |_, _, _| RowsKernel::Rows)
    }

    /// Splits a matrix into tiles with the kernels that `choose` returns, given the start of a tile's first
    /// row, the ends of its rows, and their columns.
    pub(super) fn with_kernels<O: Offset>(
        row_offsets: &[O],
        column_indices: &[u32],
        cut: SpmvCut,
        choose: impl Fn(usize, &[O], &[u32]) -> RowsKernel + Sync,
    ) -> Self {
        let mut paths = merge_path::tiles(&row_offsets[1..], column_indices.len(), TILE);
        if cut == SpmvCut::Rows {
            let round = |at: Coordinate| Coordinate { nonzero: row_offsets[at.row].to_usize(), ..at };
            for path in &mut paths {
                *path = round(path.start)..round(path.end);
            }
            paths.retain(|path| path.start.row < path.end.row);
        }
        let tile = |tile: usize| {
            let path = paths[tile].clone();
            let Range { start, end } = path;
            let row_ends = &row_offsets[1..][start.row..end.row];
            let kernel = choose(start.nonzero, row_ends, &column_indices[start.nonzero..end.nonzero]);
            let starts_with_end = row_ends.first().is_some_and(|end| end.to_usize() == start.nonzero)
                && row_offsets[start.row].to_usize() < start.nonzero;
            CpuTile { path, starts_with_end, kernel }
        };
        Self { tiles: parallel::map(paths.len(), 16, tile) }
    }

    /// The number of tiles.
    pub(crate) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// Size of the tiles in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let groups: usize = self.tiles.iter().map(|tile| tile.kernel.bytes()).sum();
        size_of_val(self.tiles.as_slice()) + groups
    }

    /// Computes `y = alpha A x + beta y` for the matrix that the tiles were made for. If `beta` is 0, `y` is
    /// overwritten without being read. `x` has one element per column and `y` one per row.
    pub(crate) fn multiply<V: Value, O: Offset>(
        &self,
        matrix: CsrView<'_, V, O>,
        alpha: V,
        x: &[V],
        beta: V,
        y: &mut [V],
    ) {
        assert_eq!((x.len(), y.len()), (matrix.ncols(), matrix.nrows()), "shapes are checked by the caller");
        let operands = CpuSpmvOperands::new(matrix, alpha, x, beta);
        self.multiply_with(&operands, SpmvInstructions::fastest(x.len()), y);
    }

    /// Computes y like [`multiply`](Self::multiply), with products and sums in a wider type than the values', row by row whatever the
    /// kernels of the tiles.
    pub(crate) fn multiply_wide<S: Storage + WidenTo<V>, V: Scalar, O: Offset>(
        &self,
        matrix: CsrView<'_, S, O>,
        alpha: V,
        x: &[V],
        beta: V,
        y: &mut [V],
    ) {
        assert_eq!((x.len(), y.len()), (matrix.ncols(), matrix.nrows()), "shapes are checked by the caller");
        let operands = WideOperands::new(matrix, alpha, x, beta);
        self.run((alpha, beta), y, |tile, finished| operands.run_tile(&tile.path, finished));
    }

    pub(super) fn multiply_with<V: Value, O: Offset>(
        &self,
        operands: &CpuSpmvOperands<'_, V, O>,
        instructions: SpmvInstructions,
        y: &mut [V],
    ) {
        let factors = (operands.alpha, operands.beta);
        self.run(factors, y, |tile, finished| operands.run_tile(tile, instructions, finished));
    }

    /// Runs the tiles, given the rows that end in each, and adds the partial sums that `run_tile` returns, times `alpha`.
    fn run<V: Scalar>(
        &self,
        (alpha, beta): (V, V),
        y: &mut [V],
        run_tile: impl Fn(&CpuTile, &mut [V]) -> Option<V> + Sync,
    ) {
        // Every row ends in exactly one tile, which owns its element of y.
        let mut tasks = Vec::with_capacity(self.tiles.len());
        let mut rest = &mut *y;
        for tile in &self.tiles {
            let finished;
            (finished, rest) = rest.split_at_mut(tile.path.end.row - tile.path.start.row);
            tasks.push(Mutex::new(TileTask { tile, finished, carry: None }));
        }
        shares::for_each(tasks.len(), &|index| {
            let mut task = tasks[index].lock().unwrap_or_else(PoisonError::into_inner);
            let TileTask { tile, finished, carry } = &mut *task;
            let first = finished.first().copied();
            *carry = run_tile(tile, finished);
            // Of a row whose nonzeros all lie in tiles before, only βy: α may be infinite, and times zero no number.
            if let (true, Some(y), Some(first)) = (tile.starts_with_end, finished.first_mut(), first) {
                *y = if beta == V::ZERO { V::ZERO } else { beta * first };
            }
        });
        let carries: Vec<Option<V>> = tasks
            .into_iter()
            .map(|task| task.into_inner().unwrap_or_else(PoisonError::into_inner).carry)
            .collect();
        // In the order of the tiles, so that rounding is the same in every run.
        for (tile, carry) in self.tiles.iter().zip(carries) {
            if let (Some(sum), Some(y)) = (carry, y.get_mut(tile.path.end.row)) {
                *y += alpha * sum;
            }
        }
    }
}
