//! Equal subtrees stored once.

use std::collections::HashMap;
use std::hash::Hash;

use super::leaf_rows::{Leaf, LeafRow};
use super::tree::Level;
use crate::Value;

/// Keeps of equal nodes the first, from the leaves up, so that of equal subtrees one is left. Values are equal if their
/// bits are.
pub(super) fn share<V: Value>(levels: &mut [Level], leaves: &mut Vec<Leaf>, rows: &[LeafRow<V>]) {
    let contents = leaves.iter().map(|leaf| {
        let (coordinates, values) = leaf.entries(rows);
        (coordinates, bytemuck::cast_slice::<V, u8>(values))
    });
    let (kept, mut now) = distinct(contents);
    *leaves = kept.iter().map(|&leaf| leaves[leaf]).collect();
    for level in levels.iter_mut().rev() {
        for child in &mut level.children {
            *child = now[*child as usize];
        }
        now = share_level(level);
    }
}

/// Keeps of a level's equal nodes the first. Gives the number that each node then has.
fn share_level(level: &mut Level) -> Vec<u32> {
    let ranges = level.starts.windows(2).map(|pair| pair[0]..pair[1]);
    let contents = ranges.map(|range| (&level.coordinates[range.clone()], &level.children[range]));
    let (kept, now) = distinct(contents);
    let (mut starts, mut coordinates, mut children) = (vec![0], Vec::new(), Vec::new());
    for node in kept {
        let range = level.starts[node]..level.starts[node + 1];
        coordinates.extend_from_slice(&level.coordinates[range.clone()]);
        children.extend_from_slice(&level.children[range]);
        starts.push(coordinates.len());
    }
    *level = Level { starts, coordinates, children };
    now
}

/// The items that equal none before them, and of each item the number of its equal among these.
fn distinct<T: Eq + Hash>(items: impl Iterator<Item = T>) -> (Vec<usize>, Vec<u32>) {
    let (mut numbers, mut kept) = (HashMap::new(), Vec::new());
    let now = items
        .enumerate()
        .map(|(at, item)| {
            *numbers.entry(item).or_insert_with(|| {
                kept.push(at);
                kept.len() as u32 - 1
            })
        })
        .collect();
    (kept, now)
}
