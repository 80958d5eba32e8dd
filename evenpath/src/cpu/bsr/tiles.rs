use std::ops::Range;

use super::super::merge_path::{self, Coordinate};
use super::super::vector::update;
use super::arrays::{BlockRowSums, BsrArrays};
use crate::matrix::{MAX_BLOCK_SIZE, grain};
use crate::{Offset, Value, parallel};

/// Values per tile, about. The same for every machine, because the positions of cuts determine how sums are rounded.
const TILE: usize = grain(1 << 14);

/// Parts of a matrix with equal numbers of block rows plus blocks, cut anywhere.
#[derive(Default)]
pub(crate) struct BsrTiles {
    tiles: Vec<Range<Coordinate>>,
}

/// A tile in a run.
struct TileTask<'t, V> {
    path: &'t Range<Coordinate>,
    /// Elements of y of the block rows that end in the tile.
    y: &'t mut [V],
}

/// Sums of block rows that a tile cuts.
struct CutSums<V> {
    /// Those of the block row that the tile ends but does not start.
    head: Option<BlockRowSums<V>>,
    /// Those of the block row that the tile does not end.
    carry: Option<BlockRowSums<V>>,
}

/// α and β.
#[derive(Clone, Copy)]
struct Factors<V> {
    alpha: V,
    beta: V,
}

impl<V: Value> Factors<V> {
    fn update(self, y: &mut [V], sums: &BlockRowSums<V>) {
        y.iter_mut().zip(sums).for_each(|(y, &sum)| update(y, self.alpha, sum, self.beta));
    }
}

impl BsrTiles {
    /// Splits a matrix with blocks of `size` rows and columns.
    pub(crate) fn new<O: Offset>(row_offsets: &[O], size: usize) -> Self {
        let blocks = row_offsets.last().map_or(0, |end| end.to_usize());
        let tiles = merge_path::tiles(&row_offsets[1..], blocks, (TILE / (size * size)).max(1));
        Self { tiles }
    }

    /// Computes `y = alpha A x + beta y` for the matrix that was split. If `beta` is 0, `y` is overwritten without being
    /// read. `x` has elements for all block columns, `y` one per row.
    pub(crate) fn multiply<V: Value, O: Offset>(
        &self,
        matrix: BsrArrays<'_, V, O>,
        alpha: V,
        x: &[V],
        beta: V,
        y: &mut [V],
    ) {
        let (size, factors) = (matrix.size, Factors { alpha, beta });
        // Every block row ends in exactly one tile, which owns its elements of y.
        let mut tasks = Vec::with_capacity(self.tiles.len());
        let mut rest = &mut *y;
        for path in &self.tiles {
            let rows = (path.end.row - path.start.row) * size;
            let own;
            (own, rest) = rest.split_at_mut(rows.min(rest.len()));
            tasks.push(TileTask { path, y: own });
        }
        let cut = parallel::map_each(tasks, |task| task.run(matrix, x, factors));
        // In the order of the tiles, so that rounding is the same in every run. α multiplies whole sums: it may be infinite, and part of
        // a sum zero.
        let mut open = [V::ZERO; MAX_BLOCK_SIZE];
        for (path, CutSums { head, carry }) in self.tiles.iter().zip(cut) {
            if let Some(head) = head {
                add(&mut open, &head);
                let first = path.start.row * size;
                let end = y.len().min(first + size);
                factors.update(&mut y[first..end], &open);
                open = [V::ZERO; MAX_BLOCK_SIZE];
            }
            if let Some(carry) = carry {
                add(&mut open, &carry);
            }
        }
    }
}

fn add<V: Value>(sums: &mut BlockRowSums<V>, others: &BlockRowSums<V>) {
    sums.iter_mut().zip(others).for_each(|(sum, &other)| *sum += other);
}

impl<V: Value> TileTask<'_, V> {
    fn run<O: Offset>(self, matrix: BsrArrays<'_, V, O>, x: &[V], factors: Factors<V>) -> CutSums<V> {
        let Self { path, y } = self;
        let mut cut = CutSums { head: None, carry: None };
        let mut begin = path.start.nonzero;
        for (row, y) in (path.start.row..path.end.row).zip(y.chunks_mut(matrix.size)) {
            let end = matrix.row_offsets[row + 1].to_usize();
            let sums = matrix.sums(begin..end, x);
            // The first block row may have blocks in tiles before.
            if matrix.row_offsets[row].to_usize() < begin {
                cut.head = Some(sums);
            } else {
                factors.update(y, &sums);
            }
            begin = end;
        }
        if begin < path.end.nonzero {
            cut.carry = Some(matrix.sums(begin..path.end.nonzero, x));
        }
        cut
    }
}
