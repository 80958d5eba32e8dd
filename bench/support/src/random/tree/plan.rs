//! Division of a matrix into strips of 128 rows, and of its leaves among them.

use super::super::stream::{Purpose, Seeds};
use super::lengths::{Lengths, Moments};
use super::shares::{Part, shares};
use super::target::{LEAF, TILE, Target};

/// Largest mean number of nonzeros of a row in its sparse leaves, so that they have room.
const FULLEST: usize = 112;

/// Consecutive rows within one row of leaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Strip {
    pub(super) first_row: usize,
    /// Nonzeros of each row outside dense leaves.
    pub(super) lengths: Vec<u32>,
    /// Columns of leaves to choose from: the first, and their number.
    pub(super) window: (usize, usize),
    /// Number of sparse leaves.
    pub(super) leaves: usize,
    pub(super) dense_leaves: usize,
}

impl Strip {
    fn nonzeros(&self) -> usize {
        self.lengths.iter().map(|&length| length as usize).sum()
    }

    /// The fewest leaves with room for the longest row.
    fn fewest(&self) -> usize {
        self.lengths.iter().max().map_or(0, |&longest| (longest as usize).div_ceil(FULLEST))
    }
}

/// The strips with nonzeros, by tiles.
pub(super) fn strips(target: &Target, seeds: Seeds) -> Vec<Strip> {
    let (tile_rows, tile_cols) = target.tile_grid();
    let tiles = target.tiles();
    // Without a tile for every row of tiles, some rows have no nonzeros.
    let used = tile_rows.min(tiles);
    let row_of = |index: usize| index * tile_rows / used;
    let mut all = empty_strips(target, (0..used).map(row_of));
    spread_dense_leaves(target, &mut all);
    draw_lengths(target, seeds, &mut all);

    let by_tile = |strip: &Strip| strip.first_row / TILE;
    let parts: Vec<Part> = all
        .chunk_by(|a, b| by_tile(a) == by_tile(b))
        .map(|strips| {
            let nonzeros: usize = strips.iter().map(Strip::nonzeros).sum();
            let fewest = strips.iter().map(|strip| strip.fewest() + strip.dense_leaves).max().unwrap_or(0);
            let least = fewest.div_ceil(LEAF).clamp(1, tile_cols);
            Part { weight: nonzeros as f64, least, most: tile_cols }
        })
        .collect();
    let counts = shares(&parts, tiles);
    for (strips, &count) in all.chunk_by_mut(|a, b| by_tile(a) == by_tile(b)).zip(&counts) {
        let row = by_tile(&strips[0]);
        // Tiles side by side, around the diagonal.
        let first = (row * tile_cols / tile_rows).saturating_sub(count / 2).min(tile_cols - count);
        let window = (first * LEAF, (count * LEAF).min(target.leaf_cols() - first * LEAF));
        for strip in strips {
            strip.window = window;
        }
    }
    divide_leaves(target, &mut all);
    all
}

fn empty_strips(target: &Target, tile_rows: impl Iterator<Item = usize>) -> Vec<Strip> {
    let of_tile = |row: usize| (row * TILE..target.rows.min((row + 1) * TILE)).step_by(LEAF);
    let strip = |first_row: usize| {
        let rows = LEAF.min(target.rows - first_row);
        Strip { first_row, lengths: vec![0; rows], ..Strip::default() }
    };
    tile_rows.flat_map(of_tile).map(strip).collect()
}

/// Gives every strip about as many dense leaves, as far as it has all rows.
fn spread_dense_leaves(target: &Target, strips: &mut [Strip]) {
    let whole = strips.iter().filter(|strip| strip.lengths.len() == LEAF).count();
    for (index, strip) in strips.iter_mut().filter(|strip| strip.lengths.len() == LEAF).enumerate() {
        strip.dense_leaves = target.dense_leaves * (index + 1) / whole - target.dense_leaves * index / whole;
    }
}

/// Draws the number of nonzeros of each row outside dense leaves, so that all nonzeros of rows have the target's moments.
fn draw_lengths(target: &Target, seeds: Seeds, strips: &mut [Strip]) {
    let rows: usize = strips.iter().map(|strip| strip.lengths.len()).sum();
    let dense = |strip: &Strip| (strip.dense_leaves * target.dense_run()) as f64;
    let of_rows = |of: &dyn Fn(&Strip) -> f64| {
        strips.iter().map(|strip| of(strip) * strip.lengths.len() as f64).sum::<f64>()
    };
    let (in_dense, squares) = (of_rows(&dense), of_rows(&|strip| dense(strip) * dense(strip)));
    let all_mean = target.nonzeros as f64 / target.rows as f64;
    let all_squares = (all_mean * all_mean + target.deviation * target.deviation) * target.rows as f64;
    let mean = ((target.nonzeros as f64 - in_dense) / rows as f64).max(0.0);
    let square = ((all_squares - squares - 2.0 * mean * in_dense) / rows as f64).max(mean * mean);
    let shortest_dense = strips.iter().map(|strip| strip.dense_leaves).min().unwrap_or(0);
    let longest = target.longest.saturating_sub(shortest_dense * target.dense_run());
    let lengths = Lengths::new(rows, Moments { mean, square, longest: longest as f64 });

    let stride = super::super::columns::spreading_stride(rows) as u128;
    let mut row = 0_u128;
    for strip in strips {
        let stream = &mut seeds.stream(Purpose::Length, strip.first_row / LEAF);
        for length in &mut strip.lengths {
            let rank = (row * stride % rows as u128) as usize;
            *length = stream.rounded(lengths.at(rank).max(0.0)) as u32;
            row += 1;
        }
    }
}

/// Divides the sparse leaves among the strips, by nonzeros.
fn divide_leaves(target: &Target, strips: &mut [Strip]) {
    let part = |strip: &Strip| {
        let nonzeros = strip.nonzeros();
        let most = nonzeros.min(strip.window.1.saturating_sub(strip.dense_leaves));
        let least = strip.fewest().min(most);
        Part { weight: nonzeros as f64, least, most }
    };
    let parts: Vec<Part> = strips.iter().map(part).collect();
    for (strip, leaves) in strips.iter_mut().zip(shares(&parts, target.leaves)) {
        strip.leaves = leaves;
    }
}
