//! The figures that a matrix is generated for, and smaller ones.

/// Rows and columns of a leaf.
pub(super) const LEAF: usize = 128;
/// Rows and columns of a tile, the part of a matrix below an inner node above leaves.
pub(super) const TILE: usize = LEAF * LEAF;
/// Children of a full inner node, in a row.
const GRID: usize = 128;

/// Figures of a matrix and of its tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nonzeros: usize,
    /// Standard deviation of the row length.
    pub(super) deviation: f64,
    /// Nonzeros of the longest row.
    pub(super) longest: usize,
    /// Inner nodes.
    pub(super) inner: usize,
    /// Sparse leaves, and the mean number of their nonzeros.
    pub(super) leaves: usize,
    pub(super) mean_leaf: f64,
    pub(super) dense_leaves: usize,
    /// Consecutive columns of a row in a leaf.
    pub(super) run: usize,
}

impl Target {
    /// Returns the figures at `scale` times the size, less than 1: fewer rows, columns, nonzeros and nodes, with about as many
    /// nonzeros per row and leaf. The longest rows are shorter where fewer than two would remain.
    pub(super) fn scaled(self, scale: f64) -> Self {
        let of = |count: usize| ((count as f64 * scale) as usize).max(1);
        let (rows, cols, nonzeros) = (of(self.rows).max(LEAF), of(self.cols).max(LEAF), of(self.nonzeros));
        // Twice the second moment over that of the longest row is about the number of long rows.
        let squares = self.deviation * self.deviation * self.rows as f64 * scale;
        let least = 2.0 * nonzeros as f64 / rows as f64;
        let longest = (squares / self.longest as f64).max(least) as usize;
        let longest = longest.min(self.longest).min(cols);
        // Long rows have the same share of the nonzeros.
        let deviation = self.deviation * libm::sqrt(longest as f64 / self.longest as f64);
        Self {
            rows,
            cols,
            nonzeros,
            deviation,
            longest,
            inner: of(self.inner),
            leaves: of(self.leaves),
            dense_leaves: (self.dense_leaves as f64 * scale) as usize,
            ..self
        }
    }

    /// Returns whether the matrix has a nonzero everywhere.
    pub(super) fn is_full(&self) -> bool {
        self.longest == self.cols && self.deviation == 0.0
    }

    /// Rows and columns of tiles.
    pub(super) fn tile_grid(&self) -> (usize, usize) {
        (self.rows.div_ceil(TILE), self.leaf_cols().div_ceil(GRID))
    }

    /// Columns of leaves. Only whole ones get nonzeros.
    pub(super) fn leaf_cols(&self) -> usize {
        self.cols / LEAF
    }

    /// Tiles with nonzeros: the inner nodes of the lowest level. Above them are the root and, on the diagonal, those that one
    /// tree of four levels needs.
    pub(super) fn tiles(&self) -> usize {
        let (rows, cols) = self.tile_grid();
        let mut above = 0;
        let mut nodes = rows.max(cols);
        while nodes > 1 {
            nodes = nodes.div_ceil(GRID);
            above += nodes;
        }
        self.inner.saturating_sub(above).clamp(1, rows * cols)
    }

    /// Nonzeros of a row of a dense leaf: those that the sparse leaves leave over. At least 104, because leaves of f64 are dense
    /// from 13108 nonzeros on.
    pub(super) fn dense_run(&self) -> usize {
        if self.dense_leaves == 0 {
            return 0;
        }
        let over = self.nonzeros as f64 - self.leaves as f64 * self.mean_leaf;
        ((over / (self.dense_leaves * LEAF) as f64) as usize).clamp(104, LEAF)
    }
}
