//! Shapes that are generated row by row.

use super::super::pattern::Pattern;
use super::super::stream::{Purpose, Seeds};
use super::super::structure::Permutation;
use super::shape::{BLOCK, FULL, couplings};

/// The longest row of a band.
const LONGEST: usize = 24;
/// Columns that a row of stairs draws from, and the draws of the last row.
const REACH: usize = 3000;
const STEPS: usize = 200;
/// Blocks from the diagonal to the couplings.
const COUPLED: usize = 7;

/// Rows of random lengths within a band.
pub(super) fn band(rows: usize, seeds: Seeds) -> Pattern {
    let reach = 2 * rows / 75;
    Pattern::from_rows(rows, rows, |row, found| {
        let stream = &mut seeds.stream(Purpose::Columns, row);
        found.clear();
        let length = stream.below(LONGEST + 1);
        found.extend((0..length).map(|_| {
            let column = (row + stream.below(2 * reach + 1)).saturating_sub(reach);
            column.min(rows - 1) as u32
        }));
        ascending(found);
    })
}

/// Rows that grow.
pub(super) fn stairs(rows: usize, seeds: Seeds) -> Pattern {
    Pattern::from_rows(rows, rows, |row, found| {
        let stream = &mut seeds.stream(Purpose::Columns, row);
        found.clear();
        let draws = 1 + (row as u64 * STEPS as u64 / rows as u64) as usize;
        found.extend((0..draws).map(|_| ((row + stream.below(REACH)) % rows) as u32));
        ascending(found);
    })
}

/// Three diagonals, and full rows and columns.
pub(super) fn border(rows: usize, seeds: Seeds) -> Pattern {
    let stream = &mut seeds.stream(Purpose::RowOrder, 0);
    let mut full: Vec<u32> = Vec::new();
    while full.len() < FULL.min(rows) {
        full.push(stream.below(rows) as u32);
        ascending(&mut full);
    }
    Pattern::from_rows(rows, rows, |row, found| {
        found.clear();
        if full.binary_search(&(row as u32)).is_ok() {
            found.extend(0..rows as u32);
        } else {
            found.extend((row.saturating_sub(1)..rows.min(row + 2)).map(|column| column as u32));
            found.extend_from_slice(&full);
            ascending(found);
        }
    })
}

/// Dense blocks with couplings.
pub(super) fn blocks(count: usize, seeds: Seeds) -> Pattern {
    let rows = count * BLOCK;
    let stream = &mut seeds.stream(Purpose::Entries, 0);
    let mut is_coupled = vec![false; rows];
    for _ in 0..couplings(count) {
        is_coupled[stream.below(rows)] = true;
    }
    Pattern::from_rows(rows, rows, |row, found| {
        found.clear();
        let first = row / BLOCK * BLOCK;
        found.extend((first..first + BLOCK).map(|column| column as u32));
        if is_coupled[row] {
            found.push(((row + COUPLED * BLOCK) % rows) as u32);
            ascending(found);
        }
    })
}

/// A 7-point stencil.
pub(super) fn mesh7(side: usize) -> Pattern {
    let points = side * side * side;
    let strides = [side * side, side, 1];
    Pattern::from_rows(points, points, |point, found| {
        found.clear();
        let place = |stride: usize| point / stride % side;
        found.extend(
            strides.iter().filter(|&&stride| place(stride) > 0).map(|stride| (point - stride) as u32),
        );
        found.push(point as u32);
        let after = strides.iter().rev().filter(|&&stride| place(stride) + 1 < side);
        found.extend(after.map(|stride| (point + stride) as u32));
    })
}

/// A 7-point stencil in random order.
pub(super) fn perm7(side: usize, seeds: Seeds) -> Pattern {
    mesh7(side).permuted(Permutation::Both, seeds)
}

/// Sorts columns, and leaves one of each.
fn ascending(columns: &mut Vec<u32>) {
    columns.sort_unstable();
    columns.dedup();
}
